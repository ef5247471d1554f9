"""Sources of metrics at an earlier instant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from service_core.access.models import Workspace
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, StoreUnavailable
from service_core.analytics.query.sources import Source, SourceState
from service_core.ingestion.event_history import EventHistoryState
from service_core.ingestion.ports import QueueState
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.errors import BadRequest


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
        return self._raise_no_history

    def _raise_no_history(self, *_: Any, **__: Any) -> NoReturn:
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
class SourceWithoutHistory:
    """A source whose store does not know what it held earlier: what it would measure is unavailable.

    Attributes:
        source: the source over the connections of the instant.
    """

    source: Source

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations of the source."""
        return self.source.relations

    async def aggregate(self, query: AggregateQuery) -> NoReturn:  # noqa: ARG002 - there is nothing to ask
        """Raises: unavailable relations are not queried.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns that each relation is unavailable, with the reason of the source if it has one."""
        state = await self.source.read_state(workspace, now)
        reasons = dict.fromkeys(self.relations, UnavailableReason.NO_HISTORY) | dict(
            state.unavailable_reasons
        )
        return SourceState(now, reasons)
