"""A deployment that knows rates: of a source that is never asked, kept as if it had been."""

from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal

from service_core.kernel.exchange_rates import DayRate
from tests.analytics.deployment import NOW, run_deployment


@asynccontextmanager
async def deployment_with_rates(folder, store="memory", rates="rates:///rates.csv"):
    """A deployment with a source of rates, none of which is known yet."""
    async with run_deployment(store, folder, rates=rates) as served:
        yield served


async def save_rates(shop, rates):
    """Rates are known: day -> how much of each currency a euro is."""
    known = [
        DayRate(date.fromisoformat(day), currency, Decimal(per_euro))
        for day, result in rates.items()
        for currency, per_euro in result.items()
    ]
    await shop.service.ports.workspace.exchange_rates.save_rates("file", known, NOW)
