"""What became of conversions, as a source of the query layer: each counts when it became final."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service_core.access.models import Workspace
from service_core.analytics.connections.ports import Connections
from service_core.analytics.measures import Aggregation, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.query.sources import SourceState
from service_core.commerce.ads.source import Cell, added, is_met
from service_core.kernel.availability import UnavailableReason


@dataclass(frozen=True, slots=True)
class PostbackSource:
    """Evaluates leaves over `Relation.DELIVERIES`.

    Attributes:
        outbox: what is counted.
        connected: what is connected.
        platforms: those conversions can be sent to.
    """

    outbox: PostbackReader
    connections: Connections
    platforms: Collection[str]

    @property
    def relations(self) -> frozenset[Relation]:
        """Deliveries alone."""
        return frozenset({Relation.POSTBACKS})

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluate measures.

        Raises:
            StoreUnavailable: the outbox cannot be read.
        """
        leaves = tuple(dict.fromkeys(leaf for measure in query.measures for leaf in measure.aggregations()))
        grouped = tuple(columns[Relation.POSTBACKS] for columns in query.dimensions)
        cells: dict[Cell, dict[Aggregation, Any]] = defaultdict(dict)
        for each in await self.outbox.count_postbacks(query.scope.workspace_id, _bucket_edges(query)):
            row = {"platform": each.platform, "status": each.status, "rows": each.count}
            lead = (query.buckets.starts[each.bucket],) if query.buckets else ()
            for leaf in leaves:
                if is_met(row, (*query.scope.filters, *leaf.where)):
                    values = cells[*lead, *(row[column.name] for column in grouped)]
                    values[leaf] = added(values.get(leaf), leaf, row)
        rows = [
            (*cell, *(_as_number(values.get(leaf, 0)) for leaf in leaves)) for cell, values in cells.items()
        ]
        if not rows and not grouped and not query.buckets:
            rows = [(0,) * len(leaves)]
        sums = tuple(sum(row[position - len(leaves)] for row in rows) for position in range(len(leaves)))
        return AggregateResult(rows, leaves, len(rows), sums)

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Measured as long as a platform is connected that conversions can be sent to, whatever its health."""
        try:
            known = await self.connections.list_connections(workspace.id)
        except StoreUnavailable:
            return SourceState(now, {Relation.POSTBACKS: UnavailableReason.SOURCE_ERROR})
        if any(one.provider in self.platforms and (one.is_connected or one.has_failed) for one in known):
            return SourceState(now)
        return SourceState(now, {Relation.POSTBACKS: UnavailableReason.NO_AD_PLATFORM})


def _as_number(counted: Any) -> int:
    return len(counted) if isinstance(counted, frozenset) else counted


def _bucket_edges(plan: AggregateQuery) -> tuple[datetime, ...]:
    """Where the buckets of a plan begin, and where the last one ends, none beyond the span."""
    span, buckets = plan.scope.span, plan.buckets
    bounds = (*buckets.starts, buckets.end) if buckets else (span.start, span.end)
    return tuple(min(max(bound, span.start), span.end) for bound in bounds)
