"""Asking again with rates where money of other currencies was found; who has none of it pays nothing."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.access.model import Workspace
from service_core.insight.fx.exchange import Exchange
from service_core.insight.measures import NO_RATE, Leaf, Relation
from service_core.insight.ports import Aggregate, Aggregates, Grid, Path, PathPlan, Paths
from service_core.insight.query.sources import Source, SourceState
from service_core.kernel.ranges import Range

REFUNDED: Final = timedelta(days=400)
"""How long after its charge a refund may come: it has the rate of that, or none."""

_REMEMBERED: Final = 10_000
"""Workspaces whose currencies are remembered: with them at hand a question is asked once."""


@dataclass
class Rated:
    """`Aggregates` that tell money of other currencies in that of the scan, as far as there are rates.

    Attributes:
        asked: what evaluates measures.
        exchange: where rates come from.
        look_back: how far before a range its movements may have their rates.
    """

    asked: Aggregates
    exchange: Exchange
    look_back: timedelta = timedelta()
    _seen: "OrderedDict[UUID, frozenset[str]]" = field(default_factory=OrderedDict)

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures; of money a plan has to count the rows without a rate, too (`NO_RATE`)."""
        lacking = tuple(
            dict.fromkeys(
                leaf for measure in plan.measures for leaf in measure.leaves() if NO_RATE in leaf.where
            )
        )
        seen = self._seen.get(plan.scan.workspace_id, frozenset())
        grid = await self.asked.aggregate(await self._with_rates(plan, seen) if lacking else plan)
        if not _lacks(grid, lacking):
            return grid
        found = seen | await self._currencies(plan, lacking)
        if found == seen:
            return grid
        self._remember(plan.scan.workspace_id, found)
        return await self.asked.aggregate(await self._with_rates(plan, found))

    async def _with_rates(self, plan: Aggregate, currencies: frozenset[str]) -> Aggregate:
        scan = plan.scan
        if not currencies - {scan.currency}:
            return plan
        days = Range(scan.span, ZoneInfo(scan.zone), scan.span.start)
        rates = await self.exchange.rates(scan.currency, currencies, days, look_back=self.look_back)
        return replace(plan, scan=replace(scan, rates=rates))

    async def _currencies(self, plan: Aggregate, lacking: tuple[Leaf, ...]) -> frozenset[str]:
        """Those of the rows without a rate."""
        by_currency: dict[str, str] = {str(leaf.of): "currency" for leaf in lacking}
        grid = await self.asked.aggregate(
            replace(
                plan,
                measures=lacking,
                dimensions=(by_currency,),
                buckets=None,
                order=(),
                limit=None,
                offset=0,
            )
        )
        return frozenset(row[0] for row in grid.rows if row[0] is not None and any(row[1:]))

    def _remember(self, workspace_id: UUID, currencies: frozenset[str]) -> None:
        self._seen[workspace_id] = currencies
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)


class Ledger(Aggregates, Paths, Protocol):
    """What is asked of the event store."""


class RatedLedger:
    """`Aggregates` and `Paths` of the event store, with its money told in the currency of the scan.

    Args:
        events: the event store.
        exchange: where rates come from.
    """

    def __init__(self, events: Ledger, exchange: Exchange) -> None:
        self._events, self._rated = events, Rated(events, exchange, REFUNDED)

    async def aggregate(self, plan: Aggregate) -> Grid:
        """As `Rated`."""
        return await self._rated.aggregate(plan)

    async def paths(self, plan: PathPlan) -> Sequence[Path]:
        """Those of the store: money takes no part in them."""
        return await self._events.paths(plan)


@dataclass
class RatedSource:
    """A `Source` whose money is told in the currency of the workspace."""

    source: Source
    exchange: Exchange
    _rated: Rated = field(init=False)

    def __post_init__(self) -> None:
        self._rated = Rated(self.source, self.exchange)

    @property
    def relations(self) -> frozenset[Relation]:
        """Those of the source."""
        return self.source.relations

    async def aggregate(self, plan: Aggregate) -> Grid:
        """As `Rated`."""
        return await self._rated.aggregate(plan)

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """That of the source: what rates lack makes single values unavailable (semantics 19.1)."""
        return await self.source.state(workspace, now)


def _lacks(grid: Grid, lacking: tuple[Leaf, ...]) -> bool:
    return any(grid.sums[place] for place, leaf in enumerate(grid.leaves) if leaf in lacking)
