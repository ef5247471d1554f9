"""`ExchangeRateStore` in memory, which defines its promises in readable code, and a fixed source of rates."""

from collections.abc import Collection, Sequence
from datetime import date, datetime

from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.fx.ports import RateCoverage, RateSourceUnavailable
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.ports import AggregateReader
from service_core.kernel.exchange_rates import DayRate


class MemoryRates:
    """Implements the port `ExchangeRateStore`."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str, date], DayRate] = {}
        self._read: dict[str, datetime] = {}

    async def save_rates(self, source: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        self._rates |= {(source, rate.currency, rate.day): rate for rate in rates}
        self._read[source] = read_at

    async def rates(self, source: str, currencies: Collection[str], first: date, last: date) -> list[DayRate]:
        return [
            rate
            for (rate_source, currency, day), rate in self._rates.items()
            if rate_source == source and currency in currencies and first <= day <= last
        ]

    async def rate_coverage(self, source: str) -> RateCoverage | None:
        if source not in self._read:
            return None
        own = [rate for (rate_source, _, _), rate in self._rates.items() if rate_source == source]
        days = sorted({rate.day for rate in own})
        first, last = (days[0], days[-1]) if days else (None, None)
        return RateCoverage(self._read[source], first, last, len({rate.currency for rate in own}))


class StaticRateSource:
    """Implements the port `RateSource` with fixed rates.

    Attributes:
        rates: the rates that each call returns.
        down: whether calls raise `RateSourceUnavailable`.
        requested_coverages: the coverage of each call.
    """

    id = "told"

    def __init__(self, *told: DayRate) -> None:
        self.told = list(told)
        self.down = False
        self.asked: list[RateCoverage | None] = []

    async def fetch_rates(self, coverage: RateCoverage | None) -> Sequence[DayRate]:
        self.asked.append(coverage)
        if self.down:
            raise RateSourceUnavailable("Nobody answers.")
        return self.told


def aggregates_without_rates(events: AggregateReader) -> CurrencyConverter:
    """Returns the currency converter of an event store in a deployment without exchange rates."""
    return CurrencyConverter(events, RateLookup(MemoryRates(), None))
