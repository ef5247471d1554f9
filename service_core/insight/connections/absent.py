"""What no installed source measures: never connected, or connected and not readable (semantics 19.3)."""

from collections.abc import Mapping
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
from service_core.insight.query.sources import NOT_CONNECTED, SourceState
from service_core.kernel.reading import Reason


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands in for the source of one relation until a plugin brings it: it only says why nothing is known."""

    relation: Relation
    connections: Connections

    @property
    def relations(self) -> frozenset[Relation]:
        """The one relation."""
        return frozenset({self.relation})

    async def aggregate(self, plan: Aggregate) -> Grid:  # noqa: ARG002 - there is nothing to ask
        """Refuse: what is not measured is not asked for.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """The reason; an unreadable list of connections is one, too."""
        try:
            known = await self.connections.connections(workspace.id)
        except StoreUnavailable:
            return SourceState(now, Reason.SOURCE_ERROR)
        expected = any(one.is_live or one.is_broken for one in known if _may_tell(one, self.relation))
        return SourceState(now, Reason.SOURCE_ERROR if expected else NOT_CONNECTED[self.relation])


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


def absent(connections: Connections) -> tuple[Absent, ...]:
    """Stand-ins for every relation that has to be connected first."""
    return tuple(Absent(relation, connections) for relation in NOT_CONNECTED)
