"""A source for relations that no installed source serves: not connected, or connected and not readable."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, NoReturn

from service_core.access.models import Workspace
from service_core.analytics.connections.models import Connection, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, StoreUnavailable
from service_core.analytics.query.sources import UNCONNECTED_REASONS, Source, SourceState
from service_core.kernel.availability import UnavailableReason


@dataclass(frozen=True, slots=True)
class UnavailableRelationsSource:
    """Gives the reasons why relations without a source are unavailable.

    Attributes:
        connections: the connections of every workspace.
        providers: what is installed.
        relations: relations that no installed source serves.
    """

    connections: Connections
    providers: InstalledProviders
    relations: frozenset[Relation]

    async def aggregate(self, query: AggregateQuery) -> NoReturn:  # noqa: ARG002 - there is nothing to ask
        """Raises: unavailable relations are not queried.

        Raises:
            StoreUnavailable: always.
        """
        raise StoreUnavailable

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns why each relation is unavailable; `SOURCE_ERROR` for all if the connections cannot be read."""
        try:
            connections = await self.connections.list_connections_oldest_first(workspace.id)
        except StoreUnavailable:
            return SourceState(now, dict.fromkeys(self.relations, UnavailableReason.SOURCE_ERROR))
        expected = [
            connection for connection in connections if connection.is_connected or connection.has_failed
        ]
        return SourceState(
            now,
            {
                relation: self._source_error_if_expected_else_unconnected(relation, expected)
                for relation in self.relations
            },
        )

    def _source_error_if_expected_else_unconnected(
        self, relation: Relation, working_or_failed_connections: Iterable[Connection]
    ) -> UnavailableReason:
        is_expected = any(
            self._is_expected_from(connection, relation) for connection in working_or_failed_connections
        )
        return UnavailableReason.SOURCE_ERROR if is_expected else UNCONNECTED_REASONS[relation]

    def _is_expected_from(self, connection: Connection, relation: Relation) -> bool:
        """Returns whether a connection should provide the rows of a relation."""
        if _PROVIDER_KIND_OF.get(relation) is not connection.kind:
            return False
        return relation is not Relation.SPEND or self.providers.reports_spend_or_is_uninstalled_ad_platform(
            connection
        )


def add_source_for_unserved_relations(
    sources: Sequence[Source], connections: Connections, providers: InstalledProviders
) -> tuple[Source, ...]:
    """Returns the sources, and one for the relations that none of them serves."""
    measured = {relation for source in sources for relation in source.relations}
    return (
        *sources,
        UnavailableRelationsSource(connections, providers, frozenset(UNCONNECTED_REASONS) - measured),
    )


_PROVIDER_KIND_OF: Final[Mapping[Relation, ProviderKind]] = MappingProxyType(
    {
        Relation.SPEND: ProviderKind.ADS,
        Relation.POSTBACKS: ProviderKind.ADS,
        Relation.SUBSCRIPTIONS: ProviderKind.REVENUE,
    }
)
