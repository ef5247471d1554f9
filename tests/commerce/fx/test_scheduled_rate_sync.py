"""The running service reads rates by itself, and its next start needs nobody to tell them."""

import asyncio
from datetime import date

from hosts.roles import tasks
from service_core.analytics.fx.ports import RateCoverage
from tests.analytics.deployment import NOW
from tests.commerce.fx.exchange_rate_data import deployment_with_rates
from tests.fixtures.waiting import GUARD_SECONDS

KNOWN = RateCoverage(NOW, date(2026, 7, 7), date(2026, 7, 7), 1)


async def test_service_syncs_and_stores_rates_of_the_configured_source(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "RATES_SECONDS", 0.01)
    rates, stop = tmp_path / "rates.csv", asyncio.Event()
    rates.write_text("Date,USD\n2026-07-07,1.08\n")
    async with deployment_with_rates(tmp_path) as served:
        ports = served.service.ports
        work = asyncio.create_task(next(tasks.scheduled_tasks(ports, None, (), stop)))
        async with asyncio.timeout(GUARD_SECONDS):
            while await ports.workspace.exchange_rates.rate_coverage_or_none_if_never_read("file") != KNOWN:
                await asyncio.sleep(0.01)
            stop.set()
            await work
    rates.unlink()
    async with deployment_with_rates(tmp_path) as served:
        assert (
            await served.service.ports.workspace.exchange_rates.rate_coverage_or_none_if_never_read("file")
            == KNOWN
        )


async def test_service_without_a_rate_source_syncs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "ExchangeRateSync", None)
    async with deployment_with_rates(tmp_path, rates="") as served:
        works = tasks.scheduled_tasks(served.service.ports, None, (), asyncio.Event())
        next(works).close()
        assert served.service.ports.fx is None
