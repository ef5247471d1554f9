"""The currencies a workspace was paid in are remembered, so that its reads run once."""

import asyncio
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.measures import MISSING_FX_RATE, Relation, count_rows, sum_column
from service_core.analytics.ports import AggregateQuery
from service_core.kernel.exchange_rates import DayRate
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.memory.exchange_rates import MemoryRates, StaticRateSource

MONEY = (sum_column("amount", Relation.PAYMENTS), count_rows(Relation.PAYMENTS, MISSING_FX_RATE))


class CountingReader:
    """The event store, and how often it was asked."""

    def __init__(self, store):
        self.store, self.reads = store, 0

    async def aggregate(self, query):
        self.reads += 1
        return await self.store.aggregate(query)


@pytest.fixture
async def converter():
    """A converter of 1 USD on each of two days in pounds and in francs, with rates of 2 per euro."""
    rates, source = MemoryRates(), StaticRateSource()
    per_euro = [DayRate(date(2026, 7, 1), currency, Decimal(2)) for currency in ("USD", "GBP", "CHF")]
    await rates.save_rates(source.id, per_euro, datetime(2026, 7, 1, tzinfo=UTC))
    return CurrencyConverter(CountingReader(MemoryEventStore()), RateLookup(rates, source))


async def test_currency_seen_in_one_range_stays_known_when_another_range_adds_one(converter):
    builder = EventBuilder()
    for day, currency in (("2026-07-01", "GBP"), ("2026-07-02", "CHF")):
        builder.add_event("purchase", at=day, visitor="A1", revenue=700, order_id=day, currency=currency)
    await converter.reader.store.append(builder.events)
    reads = []
    for day in ("2026-07-01", "2026-07-02", "2026-07-01", "2026-07-02", "2026-07-01"):
        converter.reader.reads = 0
        query = AggregateQuery(builder.query_scope(whole_utc_days(day, day)), MONEY)
        assert (await converter.aggregate(query)).rows == [(700, 0)]
        reads.append(converter.reader.reads)
    assert reads == [3, 3, 1, 1, 1]


async def test_concurrent_reads_of_a_range_have_the_same_rates(converter):
    builder = EventBuilder()
    builder.add_event("purchase", at="2026-07-01", visitor="A1", revenue=700, order_id="O1", currency="GBP")
    await converter.reader.store.append(builder.events)
    query = AggregateQuery(builder.query_scope(whole_utc_days("2026-07-01", "2026-07-01")), MONEY)
    await converter.aggregate(query)
    used, aggregate = [], converter.reader.aggregate

    async def note_rates(query):
        used.append(query.scope.rates)
        return await aggregate(query)

    converter.reader.aggregate = note_rates
    await asyncio.gather(*(converter.aggregate(query) for _ in range(3)))
    await converter.aggregate(query)
    assert [rates is used[0] for rates in used] == [True, True, True, False]
