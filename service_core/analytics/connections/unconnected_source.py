"""What no installed source measures: never connected, or connected and not readable (semantics 19.3)."""

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
    """Stands in for the sources that have to be connected first: it only says why nothing is known.

    Attributes:
        relations: what no installed source measures.
    """

    connections: Connections
    relations: frozenset[Relation]

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:  # noqa: ARG002 - there is nothing to ask
        """Refuse: what is not measured is not asked for.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """The reasons; an unreadable list of connections is one, too."""
        try:
            known = await self.connections.list_connections(workspace.id)
        except StoreUnavailable:
            return SourceState(now, dict.fromkeys(self.relations, UnavailableReason.SOURCE_ERROR))
        told = [one for one in known if one.is_connected or one.has_failed]
        return SourceState(now, {of: _find_unavailable_reason(of, told) for of in self.relations})


def add_unconnected_source(sources: Sequence[Source], connections: Connections) -> tuple[Source, ...]:
    """The sources, and one that stands in for what none of them measures."""
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
    """Whether the facts of a relation are expected of a connection."""
    if _PROVIDER_KIND_OF.get(relation) is not connection.kind:
        return False
    return relation is not Relation.SPEND or reports_spend(connection.provider, connection.kind)
