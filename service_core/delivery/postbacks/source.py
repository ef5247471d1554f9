"""What became of conversions, as a source of the query layer: each counts when it became final."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service_core.access.model import Workspace
from service_core.commerce.ads.source import Cell, added, is_met
from service_core.insight.connections.ports import Connections
from service_core.insight.deliveries.ports import Deliveries
from service_core.insight.measures import Leaf, Relation
from service_core.insight.ports import Aggregate, Grid, StoreUnavailable
from service_core.insight.query.sources import SourceState
from service_core.kernel.reading import Reason


@dataclass(frozen=True, slots=True)
class DeliverySource:
    """Evaluates leaves over `Relation.DELIVERIES`.

    Attributes:
        outbox: what is counted.
        connected: what is connected.
        platforms: those conversions can be sent to.
    """

    outbox: Deliveries
    connected: Connections
    platforms: Collection[str]

    @property
    def relations(self) -> frozenset[Relation]:
        """Deliveries alone."""
        return frozenset({Relation.DELIVERIES})

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures.

        Raises:
            StoreUnavailable: the outbox cannot be read.
        """
        leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
        grouped = tuple(columns[Relation.DELIVERIES] for columns in plan.dimensions)
        cells: dict[Cell, dict[Leaf, Any]] = defaultdict(dict)
        for each in await self.outbox.delivery_counts(plan.scan.workspace_id, _edges(plan)):
            row = {"platform": each.platform, "status": each.status, "rows": each.count}
            lead = (plan.buckets.starts[each.bucket],) if plan.buckets else ()
            for leaf in leaves:
                if is_met(row, (*plan.scan.filters, *leaf.where)):
                    values = cells[*lead, *(row[column] for column in grouped)]
                    values[leaf] = added(values.get(leaf), leaf, row)
        rows = [(*cell, *(_number(values.get(leaf, 0)) for leaf in leaves)) for cell, values in cells.items()]
        if not rows and not grouped and not plan.buckets:
            rows = [(0,) * len(leaves)]
        sums = tuple(sum(row[position - len(leaves)] for row in rows) for position in range(len(leaves)))
        return Grid(rows, leaves, len(rows), sums)

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Measured as long as a platform is connected that conversions can be sent to, whatever its health."""
        try:
            known = await self.connected.connections(workspace.id)
        except StoreUnavailable:
            return SourceState(now, {Relation.DELIVERIES: Reason.SOURCE_ERROR})
        if any(one.provider in self.platforms and (one.is_live or one.is_broken) for one in known):
            return SourceState(now)
        return SourceState(now, {Relation.DELIVERIES: Reason.NO_AD_PLATFORM})


def _number(counted: Any) -> int:
    return len(counted) if isinstance(counted, frozenset) else counted


def _edges(plan: Aggregate) -> tuple[datetime, ...]:
    """Where the buckets of a plan begin, and where the last one ends, none beyond the span."""
    span, buckets = plan.scan.span, plan.buckets
    bounds = (*buckets.starts, buckets.end) if buckets else (span.start, span.end)
    return tuple(min(max(bound, span.start), span.end) for bound in bounds)
