"""Postback counts as a source of metric queries; each postback counts when it becomes final."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from service_core.access.models import Workspace
from service_core.analytics.connections.ports import Connections
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.query.row_grid import RowGrid, bucket_edges_within_span
from service_core.analytics.query.sources import SourceState
from service_core.kernel.availability import UnavailableReason


@dataclass(frozen=True, slots=True)
class PostbackSource:
    """Evaluates measures over `Relation.DELIVERIES`.

    Attributes:
        outbox: counts postbacks by platform and result.
        connections: the connections of every workspace.
        platforms: ids of platforms that conversions can be sent to.
    """

    outbox: PostbackReader
    connections: Connections
    platforms: Collection[str]

    @property
    def relations(self) -> frozenset[Relation]:
        """Returns the relation of postbacks."""
        return frozenset({Relation.POSTBACKS})

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluates measures.

        Raises:
            StoreUnavailable: the outbox cannot be read.
        """
        grid = RowGrid(query, Relation.POSTBACKS)
        for postback_count in await self.outbox.count_final_postbacks_by_bucket(
            query.scope.workspace_id, bucket_edges_within_span(query)
        ):
            row = {
                "platform": postback_count.platform,
                "status": postback_count.status,
                "rows": postback_count.count,
            }
            grid.add_row_if_counted(
                row, query.buckets.starts[postback_count.bucket] if query.buckets else None
            )
        return grid.to_result_with_zero_row_if_ungrouped()

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state: available while a platform that conversions can be sent to is connected or has failed."""
        try:
            known = await self.connections.list_connections_oldest_first(workspace.id)
        except StoreUnavailable:
            return SourceState(now, {Relation.POSTBACKS: UnavailableReason.SOURCE_ERROR})
        if any(
            connection.provider in self.platforms and (connection.is_connected or connection.has_failed)
            for connection in known
        ):
            return SourceState(now)
        return SourceState(now, {Relation.POSTBACKS: UnavailableReason.NO_AD_PLATFORM})
