"""A source for relations that no installed source serves: not connected, or connected and not readable."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from service_core.access.models import Workspace
from service_core.analytics.connections.models import Connection, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import reports_spend
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.query.sources import UNCONNECTED_REASONS, Source, SourceState
from service_core.kernel.availability import UnavailableReason


@dataclass(frozen=True, slots=True)
class UnconnectedSource:
    """Gives the reasons why relations without a source are unavailable.

    Attributes:
        connections: the connections of every workspace.
        relations: relations that no installed source serves.
    """

    connections: Connections
    relations: frozenset[Relation]

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:  # noqa: ARG002 - there is nothing to ask
        """Raises: unavailable relations are not queried.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the reasons, also if the connections cannot be read."""
        try:
            known = await self.connections.list_connections(workspace.id)
        except StoreUnavailable:
            return SourceState(now, dict.fromkeys(self.relations, UnavailableReason.SOURCE_ERROR))
        told = [one for one in known if one.is_connected or one.has_failed]
        return SourceState(now, {of: _find_unavailable_reason(of, told) for of in self.relations})


def add_unconnected_source(sources: Sequence[Source], connections: Connections) -> tuple[Source, ...]:
    """Returns the sources, and one for the relations that none of them serves."""
    measured = {relation for source in sources for relation in source.relations}
    return (*sources, UnconnectedSource(connections, frozenset(UNCONNECTED_REASONS) - measured))


def _find_unavailable_reason(relation: Relation, value: Iterable[Connection]) -> UnavailableReason:
    is_expected = any(_is_expected_from(one, relation) for one in value)
    return UnavailableReason.SOURCE_ERROR if is_expected else UNCONNECTED_REASONS[relation]


_PROVIDER_KIND_OF: Final[Mapping[Relation, ProviderKind]] = MappingProxyType(
    {
        Relation.SPEND: ProviderKind.ADS,
        Relation.POSTBACKS: ProviderKind.ADS,
        Relation.SUBSCRIPTIONS: ProviderKind.REVENUE,
    }
)


def _is_expected_from(connection: Connection, relation: Relation) -> bool:
    """Whether a connection should provide the rows of a relation."""
    if _PROVIDER_KIND_OF.get(relation) is not connection.kind:
        return False
    return relation is not Relation.SPEND or reports_spend(connection.provider, connection.kind)
