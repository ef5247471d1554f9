"""`ExchangeRateStore` in memory, which defines its promises in readable code, and a fixed source of rates."""

from collections.abc import Collection, Sequence
from datetime import date, datetime

from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.fx.ports import RateCoverage, RateSourceUnavailable
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.ports import AggregateReader
from service_core.kernel.exchange_rates import DayRate


class MemoryRates:
    """Implements the port `ExchangeRateStore`: the readable statement of what it promises."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str, date], DayRate] = {}
        self._read: dict[str, datetime] = {}

    async def save_rates(self, source: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        self._rates |= {(source, rate.currency, rate.day): rate for rate in rates}
        self._read[source] = read_at

    async def rates(self, source: str, currencies: Collection[str], first: date, last: date) -> list[DayRate]:
        return [
            rate
            for (of, currency, day), rate in self._rates.items()
            if of == source and currency in currencies and first <= day <= last
        ]

    async def rate_coverage(self, source: str) -> RateCoverage | None:
        if source not in self._read:
            return None
        own = [rate for (of, _, _), rate in self._rates.items() if of == source]
        days = sorted({rate.day for rate in own})
        first, last = (days[0], days[-1]) if days else (None, None)
        return RateCoverage(self._read[source], first, last, len({rate.currency for rate in own}))


class StaticRateSource:
    """A `RateSource` that tells what stands in it.

    Attributes:
        told: the rates.
        down: whether it is away.
        asked: what it was told to be known, question by question.
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
    """What handlers ask a store for money by, in a deployment that knows no rate."""
    return CurrencyConverter(events, RateLookup(MemoryRates(), None))
