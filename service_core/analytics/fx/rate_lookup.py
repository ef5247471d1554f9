"""Looks up stored exchange rates."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from service_core.analytics.fx.ports import ExchangeRateStore, RateSource
from service_core.kernel.exchange_rates import MAX_RATE_AGE, ExchangeRates
from service_core.kernel.time_ranges import ResolvedRange


@dataclass(frozen=True, slots=True)
class RateLookup:
    """Exchange rates of the configured source, read from the store.

    Attributes:
        store: stored rates of all sources.
        source: the configured source; None if there is none, then no rate is known.
    """

    store: ExchangeRateStore
    source: RateSource | None

    async def stored_rates_or_empty_without_source(
        self,
        target_currency: str,
        currencies: Collection[str],
        date_range: ResolvedRange,
        *,
        look_back: timedelta = timedelta(),
    ) -> ExchangeRates:
        """Returns the rates of currencies into one currency, for each day of a range and some time before it.

        Raises:
            StoreUnavailable: rates cannot be read.
        """
        others = {*currencies} - {target_currency}
        if self.source is None or not others:
            return ExchangeRates(target_currency)
        first = date_range.first_day - look_back - MAX_RATE_AGE
        rates = await self.store.list_rates_published_between(
            self.source.id, {*others, target_currency}, first, date_range.last_day
        )
        return ExchangeRates.from_published(target_currency, rates)
