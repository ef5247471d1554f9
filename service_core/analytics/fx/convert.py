"""Repeats reads with exchange rates if they find money in other currencies. Workspaces without it pay no cost."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Protocol, TypeAlias, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.measures import (
    MISSING_FX_RATE,
    Aggregation,
    Column,
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
from service_core.kernel.exchange_rates import ExchangeRates
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

T = TypeVar("T")
_LookupKey: TypeAlias = tuple[str, frozenset[str], TimeRange, str]
"""Target currency, other currencies, span and time zone of a lookup of rates."""

REFUND_LOOK_BACK: Final = timedelta(days=400)
"""Maximum time from a charge to its refund. The refund uses the rate of its charge."""

_MAX_REMEMBERED_WORKSPACES: Final = 10_000
"""Number of workspaces whose currencies are remembered, so that a read needs no repetition."""


@dataclass
class CurrencyConverter:
    """Runs aggregate queries and repeats them with exchange rates if an amount is in another currency.

    Attributes:
        reader: evaluates the queries.
        rate_lookup: exchange rates.
        look_back: time before a range from which its payments may take their rate.
    """

    reader: AggregateReader
    rate_lookup: RateLookup
    look_back: timedelta = timedelta()
    _seen_currencies: "OrderedDict[UUID, frozenset[str]]" = field(default_factory=OrderedDict)
    _scheduled_lookups: "dict[_LookupKey, asyncio.Task[ExchangeRates]]" = field(default_factory=dict)

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns measures with converted money. Measures of money must count rows without a rate (`MISSING_FX_RATE`)."""
        aggregations = (aggregation for measure in query.measures for aggregation in measure.aggregations())
        unconverted_counts = tuple(
            dict.fromkeys(aggregation for aggregation in aggregations if MISSING_FX_RATE in aggregation.where)
        )
        if not unconverted_counts:
            return await self.reader.aggregate(query)
        return await self._run_with_known_then_missing_rates(
            query.scope,
            lambda scope: self.reader.aggregate(replace(query, scope=scope)),
            lambda result: _counted_unconverted_rows(result, unconverted_counts),
            replace(query, measures=unconverted_counts, buckets=None, order=(), limit=None, offset=0),
        )

    async def run_and_repeat_with_missing_rates(
        self,
        scope: QueryScope,
        run_in_scope: Callable[[QueryScope], Awaitable[T]],
        lacks_rates: Callable[[T], bool],
    ) -> T:
        """Runs a read of money, again with rates if its result lacks some.

        Args:
            scope: what is read; its span includes all money in the result.
            run_in_scope: runs the read with a scope.
            lacks_rates: whether a result lacks money for want of a rate.
        """
        return await self._run_with_known_then_missing_rates(
            scope, run_in_scope, lacks_rates, _build_unfiltered_unconverted_payments_query(scope)
        )

    async def add_rates_of_foreign_payments(self, scope: QueryScope) -> QueryScope:
        """Returns the scope with the rates that its money needs, for reads too long to repeat."""
        if self.rate_lookup.source is None:
            return scope
        return await self._with_rates_unless_all_in_target_currency(
            scope,
            await self._query_unconverted_currencies(_build_unfiltered_unconverted_payments_query(scope)),
        )

    async def _run_with_known_then_missing_rates(
        self,
        scope: QueryScope,
        run_in_scope: Callable[[QueryScope], Awaitable[T]],
        lacks_rates: Callable[[T], bool],
        unconverted_query: AggregateQuery,
    ) -> T:
        """Runs a read with rates of the known currencies, and once more if there are others.

        Args:
            scope: without rates.
            run_in_scope: runs the read with a scope.
            lacks_rates: whether a result lacks money for want of a rate.
            unconverted_query: counts the rows without a rate.
        """
        known_currencies = self._seen_currencies.get(scope.workspace_id, frozenset())
        look_ahead = _attribution_window_if_booked_at_touch(unconverted_query.credit)
        result = await run_in_scope(
            await self._with_rates_unless_all_in_target_currency(scope, known_currencies, look_ahead)
        )
        if self.rate_lookup.source is None or not lacks_rates(result):
            return result
        currencies = known_currencies | await self._query_unconverted_currencies(unconverted_query)
        if currencies == known_currencies:
            return result
        self._remember_currencies_evicting_oldest(scope.workspace_id, currencies)
        return await run_in_scope(
            await self._with_rates_unless_all_in_target_currency(scope, currencies, look_ahead)
        )

    async def _with_rates_unless_all_in_target_currency(
        self, scope: QueryScope, currencies: frozenset[str], look_ahead: timedelta = timedelta()
    ) -> QueryScope:
        if not currencies - {scope.currency}:
            return scope
        span = TimeRange(scope.span.start, scope.span.end + look_ahead)
        key = (scope.currency, currencies, span, scope.zone)
        lookup = self._scheduled_lookups.get(key)
        if lookup is None or lookup.done():
            lookup = self._scheduled_lookups[key] = asyncio.create_task(self._look_up_rates(key))
        return replace(scope, rates=await asyncio.shield(lookup))

    async def _look_up_rates(self, key: _LookupKey) -> ExchangeRates:
        """Returns rates for all reads of this moment: stores evaluate reads with the same rates together."""
        del self._scheduled_lookups[key]  # it begins, so it may miss rates that are stored from now on
        target_currency, currencies, span, zone = key
        days = ResolvedRange(span, ZoneInfo(zone), span.start)
        return await self.rate_lookup.stored_rates_or_empty_without_source(
            target_currency, currencies, days, look_back=self.look_back
        )

    async def _query_unconverted_currencies(self, unconverted_query: AggregateQuery) -> frozenset[str]:
        """Returns the currencies of the rows that a query counts."""
        by_currency = {
            str(aggregation.relation): Column("currency")
            for measure in unconverted_query.measures
            for aggregation in measure.aggregations()
        }
        result = await self.reader.aggregate(replace(unconverted_query, dimensions=(by_currency,)))
        return frozenset(row[0] for row in result.rows if row[0] is not None and any(row[1:]))

    def _remember_currencies_evicting_oldest(self, workspace_id: UUID, currencies: frozenset[str]) -> None:
        self._seen_currencies[workspace_id] = currencies
        if len(self._seen_currencies) > _MAX_REMEMBERED_WORKSPACES:
            self._seen_currencies.popitem(last=False)


class EventMoneyReader(AggregateReader, TouchPathReader, Protocol):
    """The ports of the event store whose money is converted."""


class ConvertingEventReader:
    """Aggregates and paths of the event store, with converted money.

    Args:
        events: the event store.
        converter: converts its money.
    """

    def __init__(self, events: EventMoneyReader, converter: CurrencyConverter) -> None:
        self._events, self._converter = events, converter

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns measures with converted money."""
        return await self._converter.aggregate(query)

    async def list_distinct_touch_paths_with_counts(self, query: TouchPathQuery) -> Sequence[TouchPath]:
        """Returns the paths of the store with converted money."""
        scope = await self._converter.add_rates_of_foreign_payments(query.scope)
        return await self._events.list_distinct_touch_paths_with_counts(replace(query, scope=scope))


def _attribution_window_if_booked_at_touch(credit: CreditRule | None) -> timedelta:
    """Returns how long after a range its money may move: credits booked at the touch belong to later payments."""
    return credit.window if credit is not None and credit.book_at_touch else timedelta()


def _build_unfiltered_unconverted_payments_query(scope: QueryScope) -> AggregateQuery:
    """Returns a query that counts all payments without a rate, ignoring filters."""
    is_not_zero = Predicate("amount", FilterOperator.NEQ, 0)
    return AggregateQuery(
        replace(scope, filters=()), (count_rows(Relation.PAYMENTS, MISSING_FX_RATE, is_not_zero),)
    )


def _counted_unconverted_rows(result: AggregateResult, unconverted_counts: tuple[Aggregation, ...]) -> bool:
    return any(
        result.totals[index]
        for index, aggregation in enumerate(result.aggregations)
        if aggregation in unconverted_counts
    )
