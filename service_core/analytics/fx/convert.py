"""Asking again with rates where money of other currencies was found; who has none of it pays nothing."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Protocol, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.measures import (
    MISSING_FX_RATE,
    Aggregation,
    FilterOperator,
    Predicate,
    Relation,
    count_rows,
)
from service_core.analytics.ports import (
    AggregateQuery,
    AggregateReader,
    AggregateResult,
    CreditRule,
    QueryScope,
    TouchPath,
    TouchPathQuery,
    TouchPathReader,
)
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

T = TypeVar("T")

REFUND_LOOK_BACK: Final = timedelta(days=400)
"""How long after its charge a refund may come: it has the rate of that, or none."""

_MAX_REMEMBERED_WORKSPACES: Final = 10_000
"""Workspaces whose currencies are remembered: with them at hand a question is asked once."""


@dataclass
class CurrencyConverter:
    """`Aggregates` that tell money of other currencies in that of the scan, as far as there are rates.

    Attributes:
        asked: what evaluates measures.
        exchange: where rates come from.
        look_back: how far before a range its movements may have their rates.
    """

    reader: AggregateReader
    rate_lookup: RateLookup
    look_back: timedelta = timedelta()
    _seen_currencies: "OrderedDict[UUID, frozenset[str]]" = field(default_factory=OrderedDict)

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluate measures; of money a plan has to count the rows without a rate, too (`MISSING_FX_RATE`)."""
        leaves = (leaf for measure in query.measures for leaf in measure.aggregations())
        lacking = tuple(dict.fromkeys(leaf for leaf in leaves if MISSING_FX_RATE in leaf.where))
        if not lacking:
            return await self.reader.aggregate(query)
        return await self._run_with_rates(
            query.scope,
            lambda scan: self.reader.aggregate(replace(query, scope=scan)),
            lambda grid: _has_unconverted_rows(grid, lacking),
            replace(query, measures=lacking, buckets=None, order=(), limit=None, offset=0),
        )

    async def run_converted(
        self,
        scope: QueryScope,
        run: Callable[[QueryScope], Awaitable[T]],
        is_missing_rates: Callable[[T], bool],
    ) -> T:
        """Ask something else that tells money, again with rates where some of it was told to be lacking.

        Args:
            scan: what is looked at; its span holds all money that is told.
            asked: asks with a scan.
            lacks: whether an answer lacks money for want of a rate.
        """
        return await self._run_with_rates(
            scope, run, is_missing_rates, _build_unconverted_payments_query(scope)
        )

    async def with_rates(self, scope: QueryScope) -> QueryScope:
        """A scan with the rates that its money needs, for an answer too long to be asked for twice."""
        if self.rate_lookup.source is None:
            return scope
        return await self._add_rates(
            scope, await self._unconverted_currencies(_build_unconverted_payments_query(scope))
        )

    async def _run_with_rates(
        self,
        scope: QueryScope,
        run: Callable[[QueryScope], Awaitable[T]],
        is_missing_rates: Callable[[T], bool],
        unconverted_query: AggregateQuery,
    ) -> T:
        """Ask, with rates of the currencies seen before; and once more when there are others.

        Args:
            scan: without rates.
            asked: asks with a scan.
            lacks: whether an answer lacks money.
            money: counts the rows without a rate.
        """
        seen = self._seen_currencies.get(scope.workspace_id, frozenset())
        ahead = _compute_look_ahead(unconverted_query.credit)
        answer = await run(await self._add_rates(scope, seen, ahead))
        if self.rate_lookup.source is None or not is_missing_rates(answer):
            return answer
        found = seen | await self._unconverted_currencies(unconverted_query)
        if found == seen:
            return answer
        self._remember(scope.workspace_id, found)
        return await run(await self._add_rates(scope, found, ahead))

    async def _add_rates(
        self, scope: QueryScope, currencies: frozenset[str], look_ahead: timedelta = timedelta()
    ) -> QueryScope:
        if not currencies - {scope.currency}:
            return scope
        span = TimeRange(scope.span.start, scope.span.end + look_ahead)
        days = ResolvedRange(span, ZoneInfo(scope.zone), span.start)
        rates = await self.rate_lookup.rates_for(scope.currency, currencies, days, look_back=self.look_back)
        return replace(scope, rates=rates)

    async def _unconverted_currencies(self, money: AggregateQuery) -> frozenset[str]:
        """Those of the rows that a plan counts."""
        by_currency = {
            str(leaf.relation): "currency" for measure in money.measures for leaf in measure.aggregations()
        }
        grid = await self.reader.aggregate(replace(money, dimensions=(by_currency,)))
        return frozenset(row[0] for row in grid.rows if row[0] is not None and any(row[1:]))

    def _remember(self, workspace_id: UUID, currencies: frozenset[str]) -> None:
        self._seen_currencies[workspace_id] = currencies
        if len(self._seen_currencies) > _MAX_REMEMBERED_WORKSPACES:
            self._seen_currencies.popitem(last=False)


class EventMoneyReader(AggregateReader, TouchPathReader, Protocol):
    """What is asked of the event store."""


class ConvertingEventReader:
    """`Aggregates` and `Paths` of the event store, with its money told in the currency of the scan.

    Args:
        events: the event store.
        rated: its money.
    """

    def __init__(self, events: EventMoneyReader, converter: CurrencyConverter) -> None:
        self._events, self._rated = events, converter

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """As `Rated`."""
        return await self._rated.aggregate(query)

    async def list_touch_paths(self, query: TouchPathQuery) -> Sequence[TouchPath]:
        """Those of the store: money takes no part in them."""
        return await self._events.list_touch_paths(query)


def _compute_look_ahead(credit: CreditRule | None) -> timedelta:
    """How long after a range money may move that is told in it: credits stand on the day of their touch."""
    return credit.window if credit is not None and credit.book_at_touch else timedelta()


def _build_unconverted_payments_query(scope: QueryScope) -> AggregateQuery:
    """All of it that needs a rate, whatever else is asked."""
    some = Predicate("amount", FilterOperator.NEQ, 0)
    return AggregateQuery(replace(scope, filters=()), (count_rows(Relation.PAYMENTS, MISSING_FX_RATE, some),))


def _has_unconverted_rows(result: AggregateResult, unconverted_counts: tuple[Aggregation, ...]) -> bool:
    return any(
        result.totals[place] for place, leaf in enumerate(result.aggregations) if leaf in unconverted_counts
    )
