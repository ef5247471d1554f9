"""Rates are read each hour by whoever comes first, kept for all, and a source that is away is left alone."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from plugins import workspace_sql
from service_core.analytics.fx.ports import RateCoverage, RateSourceUnavailable
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.commerce.fx.sync_rates import ExchangeRateSync
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.exchange_rates import DayRate
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.testing.memory.exchange_rates import MemoryRates, StaticRateSource
from tests.fixtures.port_stubs import ManualClock

REGISTRY = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)
NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
DAY = date(2026, 7, 7)
USD, GBP = (
    DayRate(DAY, code, Decimal(per_euro)) for code, per_euro in (("USD", "1.0800"), ("GBP", "0.8543"))
)


def rates_of_day(at):
    start = datetime(at.year, at.month, at.day, tzinfo=UTC)
    return ResolvedRange(TimeRange(start, start + timedelta(hours=1)), ZoneInfo("UTC"), NOW)


@pytest.fixture
async def store(store_url, tmp_path):
    if store_url is None:
        yield MemoryRates()
        return
    directory = REGISTRY.open_adapter("workspace", store_url, base_folder=tmp_path)
    await directory.start()
    yield directory.exchange_rates
    await directory.aclose()


async def test_published_rates_are_stored_and_replaced_by_day(store):
    assert await store.rate_coverage_or_none_if_never_read("told") is None
    await store.save_rates("told", [USD, GBP], NOW)
    await store.save_rates("other", [DayRate(DAY, "USD", Decimal(9))], NOW)
    corrected = DayRate(DAY, "USD", Decimal("1.09"))
    await store.save_rates("told", [corrected, DayRate(DAY - timedelta(days=9), "JPY", Decimal(171))], NOW)
    found = await store.list_rates_published_between("told", {"USD", "GBP", "JPY"}, DAY, DAY)
    assert sorted(found, key=lambda rate: rate.currency) == [GBP, corrected]
    assert str(GBP.per_euro) == "0.8543"
    assert await store.list_rates_published_between("told", {"SEK"}, DAY, DAY) == []
    assert await store.rate_coverage_or_none_if_never_read("told") == RateCoverage(
        NOW, DAY - timedelta(days=9), DAY, 3
    )


async def test_empty_sync_updates_the_sync_time(store):
    await store.save_rates("told", [], NOW)
    assert await store.rate_coverage_or_none_if_never_read("told") == RateCoverage(NOW, None, None, 0)


async def test_source_is_read_once_an_hour_across_processes():
    store, source, now = MemoryRates(), StaticRateSource(USD), ManualClock(NOW)
    one, other = (ExchangeRateSync(source, store, now) for _ in range(2))
    for _ in range(3):
        await one.sync_if_due_or_back_off()
        await other.sync_if_due_or_back_off()
    assert source.requested_coverages == [None]
    now.now += timedelta(hours=1)
    await other.sync_if_due_or_back_off()
    await one.sync_if_due_or_back_off()
    assert source.requested_coverages == [None, RateCoverage(NOW, DAY, DAY, 1)]


async def test_unavailable_source_is_retried_with_backoff_and_its_rates_stay():
    store, source, now = MemoryRates(), StaticRateSource(USD), ManualClock(NOW)
    keeping = ExchangeRateSync(source, store, now)
    await keeping.sync_if_due_or_back_off()
    source.down, source.requested_coverages, now.now = True, [], NOW + timedelta(hours=1)
    for _ in range(60):
        await keeping.sync_if_due_or_back_off()
        now.now += timedelta(minutes=1)
    assert len(source.requested_coverages) == 6  # after 1, 2, 4, 8, 16 and 32 minutes
    assert (await store.rate_coverage_or_none_if_never_read("told")).read_at == NOW
    source.down = False
    now.now += timedelta(hours=1)
    await keeping.sync_if_due_or_back_off()
    assert (await store.rate_coverage_or_none_if_never_read("told")).read_at == now.now


async def test_manual_sync_reports_the_error_of_the_source():
    source = StaticRateSource()
    source.down = True
    with pytest.raises(RateSourceUnavailable, match="Nobody"):
        await ExchangeRateSync(source, MemoryRates(), ManualClock(NOW)).sync_now()


async def test_rates_of_a_range_include_the_carried_forward_days(store):
    await store.save_rates("told", [USD, GBP], NOW)
    exchange = RateLookup(store, StaticRateSource())
    later = DAY + timedelta(days=7)
    rates = await exchange.stored_rates_or_empty_without_source(
        "USD", {"GBP", "EUR", "USD"}, rates_of_day(later)
    )
    assert (
        rates.minor_unit_rate_up_to_7_days_old(later, "EUR"),
        rates.minor_unit_rate_up_to_7_days_old(later, "GBP") is None,
    ) == (Decimal("1.08"), False)
    nobody = await RateLookup(store, None).stored_rates_or_empty_without_source(
        "USD", {"EUR"}, rates_of_day(DAY)
    )
    assert nobody.minor_unit_rate_up_to_7_days_old(DAY, "EUR") is None
