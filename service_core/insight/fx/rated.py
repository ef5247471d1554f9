"""Asking again with rates where money of other currencies was found; who has none of it pays nothing."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Protocol, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.insight.fx.exchange import Exchange
from service_core.insight.measures import NO_RATE, Leaf, Op, Predicate, Relation, count
from service_core.insight.ports import Aggregate, Aggregates, Credit, Grid, Path, PathPlan, Paths, Scan
from service_core.kernel.ranges import Range, Span

T = TypeVar("T")

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
        leaves = (leaf for measure in plan.measures for leaf in measure.leaves())
        lacking = tuple(dict.fromkeys(leaf for leaf in leaves if NO_RATE in leaf.where))
        if not lacking:
            return await self.asked.aggregate(plan)
        return await self._again(
            plan.scan,
            lambda scan: self.asked.aggregate(replace(plan, scan=scan)),
            lambda grid: _lacks(grid, lacking),
            replace(plan, measures=lacking, buckets=None, order=(), limit=None, offset=0),
        )

    async def ask(self, scan: Scan, asked: Callable[[Scan], Awaitable[T]], lacks: Callable[[T], bool]) -> T:
        """Ask something else that tells money, again with rates where some of it was told to be lacking.

        Args:
            scan: what is looked at; its span holds all money that is told.
            asked: asks with a scan.
            lacks: whether an answer lacks money for want of a rate.
        """
        return await self._again(scan, asked, lacks, _all_money(scan))

    async def scan(self, scan: Scan) -> Scan:
        """A scan with the rates that its money needs, for an answer too long to be asked for twice."""
        if self.exchange.source is None:
            return scan
        return await self._with_rates(scan, await self._currencies(_all_money(scan)))

    async def _again(
        self, scan: Scan, asked: Callable[[Scan], Awaitable[T]], lacks: Callable[[T], bool], money: Aggregate
    ) -> T:
        """Ask, with rates of the currencies seen before; and once more when there are others.

        Args:
            scan: without rates.
            asked: asks with a scan.
            lacks: whether an answer lacks money.
            money: counts the rows without a rate.
        """
        seen = self._seen.get(scan.workspace_id, frozenset())
        ahead = _ahead(money.credit)
        answer = await asked(await self._with_rates(scan, seen, ahead))
        if self.exchange.source is None or not lacks(answer):
            return answer
        found = seen | await self._currencies(money)
        if found == seen:
            return answer
        self._remember(scan.workspace_id, found)
        return await asked(await self._with_rates(scan, found, ahead))

    async def _with_rates(
        self, scan: Scan, currencies: frozenset[str], ahead: timedelta = timedelta()
    ) -> Scan:
        if not currencies - {scan.currency}:
            return scan
        span = Span(scan.span.start, scan.span.end + ahead)
        days = Range(span, ZoneInfo(scan.zone), span.start)
        rates = await self.exchange.rates(scan.currency, currencies, days, look_back=self.look_back)
        return replace(scan, rates=rates)

    async def _currencies(self, money: Aggregate) -> frozenset[str]:
        """Those of the rows that a plan counts."""
        by_currency = {str(leaf.of): "currency" for measure in money.measures for leaf in measure.leaves()}
        grid = await self.asked.aggregate(replace(money, dimensions=(by_currency,)))
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
        rated: its money.
    """

    def __init__(self, events: Ledger, rated: Rated) -> None:
        self._events, self._rated = events, rated

    async def aggregate(self, plan: Aggregate) -> Grid:
        """As `Rated`."""
        return await self._rated.aggregate(plan)

    async def paths(self, plan: PathPlan) -> Sequence[Path]:
        """Those of the store: money takes no part in them."""
        return await self._events.paths(plan)


def _ahead(credit: Credit | None) -> timedelta:
    """How long after a range money may move that is told in it: credits stand on the day of their touch."""
    return credit.window if credit is not None and credit.by_touch else timedelta()


def _all_money(scan: Scan) -> Aggregate:
    """All of it that needs a rate, whatever else is asked."""
    some = Predicate("amount", Op.NEQ, 0)
    return Aggregate(replace(scan, filters=()), (count(Relation.MONEY, NO_RATE, some),))


def _lacks(grid: Grid, lacking: tuple[Leaf, ...]) -> bool:
    return any(grid.sums[place] for place, leaf in enumerate(grid.leaves) if leaf in lacking)
