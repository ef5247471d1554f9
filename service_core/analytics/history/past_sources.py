"""Sources of metrics at an earlier instant."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NoReturn

from service_core.access.models import Workspace
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.query.sources import UNCONNECTED_REASONS, Source, SourceState
from service_core.ingestion.event_history import EventHistoryState
from service_core.ingestion.ports import QueueState
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.errors import BadRequest

_MONEY_RELATIONS: Final = (Relation.PAYMENTS, Relation.CREDITS)


class NoHistory:
    """Takes the place of a store that does not know what it held earlier.

    Args:
        content: what the store holds, for the message.
    """

    def __init__(self, content: str) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raises: today's value would be wrong.

        Raises:
            BadRequest: ``as_of_unavailable``.
        """
        raise BadRequest(
            f"No history is kept of {self._content}, which this answer needs",
            "as_of_unavailable",
            field="as_of",
            hint="Leave out as_of, or what depends on it.",
        )


@dataclass(frozen=True, slots=True)
class PastQueue:
    """The ingest queue as it was at an instant, as far as its events were stored since or still wait.

    Attributes:
        present: the state of the queue now.
        history: of the event store.
        as_of: the instant.
    """

    present: QueueState
    history: EventHistoryState
    as_of: datetime

    async def state(self) -> QueueState:
        """Returns since when events waited at the instant."""
        since = (self.present.oldest_received_at, self.history.waiting_since)
        waiting = [at for at in since if at is not None and at <= self.as_of]
        return QueueState(len(waiting), min(waiting, default=None))


@dataclass(frozen=True, slots=True)
class PastEventSource:
    """The event source at an instant. It is not kept up to when payments of polled providers were complete.

    Attributes:
        events: the event source over the restored events.
        connections: the connections, which have not changed since the instant.
        providers: what is installed.
    """

    events: Source
    connections: Connections
    providers: InstalledProviders

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations that follow from events."""
        return self.events.relations

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluates measures over the restored events."""
        return await self.events.aggregate(query)

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state at the instant; payments are unavailable where a connected provider is polled."""
        state = await self.events.read_state(workspace, now)
        if not await self._has_revenue_connection(workspace):
            return state
        return replace(
            state, unavailable_reasons=dict.fromkeys(_MONEY_RELATIONS, UnavailableReason.NO_HISTORY)
        )

    async def _has_revenue_connection(self, workspace: Workspace) -> bool:
        connections = await self.connections.list_connections_oldest_first(workspace.id)
        return any(
            connection.kind is ProviderKind.REVENUE and (connection.is_connected or connection.has_failed)
            for connection in connections
        )


class SourceWithoutHistory:
    """The relations whose stores do not know what they held earlier."""

    relations: Final = frozenset(UNCONNECTED_REASONS)

    async def aggregate(self, query: AggregateQuery) -> NoReturn:  # noqa: ARG002 - there is nothing to ask
        """Raises: unavailable relations are not queried.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:  # noqa: ARG002 - the same for all
        """Returns that every relation is unavailable."""
        return SourceState(now, dict.fromkeys(self.relations, UnavailableReason.NO_HISTORY))
