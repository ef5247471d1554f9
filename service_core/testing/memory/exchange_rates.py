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

    async def save_rates(self, source_id: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        self._rates |= {(source_id, rate.currency, rate.day): rate for rate in rates}
        self._read[source_id] = read_at

    async def list_rates_published_between(
        self, source_id: str, currencies: Collection[str], first_day: date, last_day: date
    ) -> list[DayRate]:
        return [
            rate
            for (rate_source, currency, day), rate in self._rates.items()
            if rate_source == source_id and currency in currencies and first_day <= day <= last_day
        ]

    async def rate_coverage_or_none_if_never_read(self, source_id: str) -> RateCoverage | None:
        if source_id not in self._read:
            return None
        own = [rate for (rate_source, _, _), rate in self._rates.items() if rate_source == source_id]
        days = sorted({rate.day for rate in own})
        first, last = (days[0], days[-1]) if days else (None, None)
        return RateCoverage(self._read[source_id], first, last, len({rate.currency for rate in own}))


class StaticRateSource:
    """Implements the port `RateSource` with fixed rates.

    Attributes:
        rates: the rates that each call returns.
        down: whether calls raise `RateSourceUnavailable`.
        requested_coverages: the coverage of each call.
    """

    id = "told"

    def __init__(self, *rates: DayRate) -> None:
        self.rates = list(rates)
        self.down = False
        self.requested_coverages: list[RateCoverage | None] = []

    async def fetch_rates_not_stored_yet(self, coverage: RateCoverage | None) -> Sequence[DayRate]:
        self.requested_coverages.append(coverage)
        if self.down:
            raise RateSourceUnavailable("Nobody answers.")
        return self.rates


def converter_without_rates(events: AggregateReader) -> CurrencyConverter:
    """Returns the currency converter of an event store in a deployment without exchange rates."""
    return CurrencyConverter(events, RateLookup(MemoryRates(), None))
