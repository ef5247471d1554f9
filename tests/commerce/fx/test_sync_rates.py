"""Rates are read each hour by whoever comes first, kept for all, and a source that is away is left alone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from plugins import workspace_sql
from service_core.analytics.fx.ports import RateCoverage, RateSourceUnavailable
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.commerce.fx.sync_rates import ExchangeRateSync
from service_core.extensions.registry import load_plugins
from service_core.kernel.exchange_rates import DayRate
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.testing.memory.exchange_rates import MemoryRates, StaticRateSource

REGISTRY = load_plugins([("workspace_sql", workspace_sql)], discover=False)
NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
DAY = date(2026, 7, 7)
USD, GBP = (
    DayRate(DAY, code, Decimal(per_euro)) for code, per_euro in (("USD", "1.0800"), ("GBP", "0.8543"))
)


def day(at):
    start = datetime(at.year, at.month, at.day, tzinfo=UTC)
    return ResolvedRange(TimeRange(start, start + timedelta(hours=1)), ZoneInfo("UTC"), NOW)


@dataclass
class Now:
    at: datetime = NOW

    def __call__(self):
        return self.at


@pytest.fixture
async def store(store_url, tmp_path):
    if store_url is None:
        yield MemoryRates()
        return
    directory = REGISTRY.open_adapter("workspace", store_url, folder=tmp_path)
    await directory.start()
    yield directory.exchange_rates
    await directory.aclose()


async def test_rates_are_kept_as_they_were_published_and_another_of_the_day_replaces_one(store):
    assert await store.rate_coverage("told") is None
    await store.save_rates("told", [USD, GBP], NOW)
    await store.save_rates("other", [DayRate(DAY, "USD", Decimal(9))], NOW)
    corrected = DayRate(DAY, "USD", Decimal("1.09"))
    await store.save_rates("told", [corrected, DayRate(DAY - timedelta(days=9), "JPY", Decimal(171))], NOW)
    found = await store.rates("told", {"USD", "GBP", "JPY"}, DAY, DAY)
    assert sorted(found, key=lambda rate: rate.currency) == [GBP, corrected]
    assert str(GBP.per_euro) == "0.8543"
    assert await store.rates("told", {"SEK"}, DAY, DAY) == []
    assert await store.rate_coverage("told") == RateCoverage(NOW, DAY - timedelta(days=9), DAY, 3)


async def test_a_source_that_had_nothing_to_tell_was_read_all_the_same(store):
    await store.save_rates("told", [], NOW)
    assert await store.rate_coverage("told") == RateCoverage(NOW, None, None, 0)


async def test_the_source_is_asked_once_an_hour_whichever_process_asks():
    store, source, now = MemoryRates(), StaticRateSource(USD), Now()
    one, other = (ExchangeRateSync(source, store, now) for _ in range(2))
    for _ in range(3):
        await one.sync_if_due()
        await other.sync_if_due()
    assert source.asked == [None]
    now.at += timedelta(hours=1)
    await other.sync_if_due()
    await one.sync_if_due()
    assert source.asked == [None, RateCoverage(NOW, DAY, DAY, 1)]


async def test_a_source_that_is_away_is_left_alone_for_longer_each_time_and_its_rates_stay():
    store, source, now = MemoryRates(), StaticRateSource(USD), Now()
    keeping = ExchangeRateSync(source, store, now)
    await keeping.sync_if_due()
    source.down, source.asked, now.at = True, [], NOW + timedelta(hours=1)
    for _ in range(60):
        await keeping.sync_if_due()
        now.at += timedelta(minutes=1)
    assert len(source.asked) == 6  # after 1, 2, 4, 8, 16 and 32 minutes
    assert (await store.rate_coverage("told")).read_at == NOW
    source.down = False
    now.at += timedelta(hours=1)
    await keeping.sync_if_due()
    assert (await store.rate_coverage("told")).read_at == now.at


async def test_who_asks_for_a_reading_is_told_why_there_is_none():
    source = StaticRateSource()
    source.down = True
    with pytest.raises(RateSourceUnavailable, match="Nobody"):
        await ExchangeRateSync(source, MemoryRates(), Now()).sync_now()


async def test_rates_of_a_range_reach_back_over_what_is_carried_into_it(store):
    await store.save_rates("told", [USD, GBP], NOW)
    exchange = RateLookup(store, StaticRateSource())
    later = DAY + timedelta(days=7)
    rates = await exchange.rates_for("USD", {"GBP", "EUR", "USD"}, day(later))
    assert (rates.rate_on(later, "EUR"), rates.rate_on(later, "GBP") is None) == (Decimal("1.08"), False)
    nobody = await RateLookup(store, None).rates_for("USD", {"EUR"}, day(DAY))
    assert nobody.rate_on(DAY, "EUR") is None
