"""What no installed source measures: never connected, or connected and not readable (semantics 19.3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from service_core.access.model import Workspace
from service_core.insight.connections.model import Connection, ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.connections.providers import reports_spend
from service_core.insight.measures import Relation
from service_core.insight.ports import Aggregate, Grid, StoreUnavailable
from service_core.insight.query.sources import NOT_CONNECTED, Source, SourceState
from service_core.kernel.reading import Reason


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands in for the sources that have to be connected first: it only says why nothing is known.

    Attributes:
        relations: what no installed source measures.
    """

    connections: Connections
    relations: frozenset[Relation]

    async def aggregate(self, plan: Aggregate) -> Grid:  # noqa: ARG002 - there is nothing to ask
        """Refuse: what is not measured is not asked for.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """The reasons; an unreadable list of connections is one, too."""
        try:
            known = await self.connections.connections(workspace.id)
        except StoreUnavailable:
            return SourceState(now, dict.fromkeys(self.relations, Reason.SOURCE_ERROR))
        told = [one for one in known if one.is_live or one.is_broken]
        return SourceState(now, {of: _why(of, told) for of in self.relations})


def with_absent(measuring: Sequence[Source], connections: Connections) -> tuple[Source, ...]:
    """The sources, and one that stands in for what none of them measures."""
    measured = {relation for source in measuring for relation in source.relations}
    return (*measuring, Absent(connections, frozenset(NOT_CONNECTED) - measured))


def _why(relation: Relation, told: Iterable[Connection]) -> Reason:
    is_expected = any(_may_tell(one, relation) for one in told)
    return Reason.SOURCE_ERROR if is_expected else NOT_CONNECTED[relation]


_KINDS: Final[Mapping[Relation, ProviderKind]] = MappingProxyType(
    {
        Relation.SPEND: ProviderKind.ADS,
        Relation.DELIVERIES: ProviderKind.ADS,
        Relation.SUBSCRIPTIONS: ProviderKind.REVENUE,
    }
)


def _may_tell(connection: Connection, relation: Relation) -> bool:
    """Whether the facts of a relation are expected of a connection."""
    if _KINDS.get(relation) is not connection.kind:
        return False
    return relation is not Relation.SPEND or reports_spend(connection.provider, connection.kind)
