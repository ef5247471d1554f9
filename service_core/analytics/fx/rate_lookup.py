"""What the query layer asks for rates."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from service_core.analytics.fx.ports import ExchangeRateStore, RateSource
from service_core.kernel.exchange_rates import MAX_RATE_AGE, ExchangeRates
from service_core.kernel.time_ranges import ResolvedRange


@dataclass(frozen=True, slots=True)
class RateLookup:
    """Rates of the source a deployment has chosen, as they are kept.

    Attributes:
        source: None for a deployment that has chosen none: no rate is known.
    """

    store: ExchangeRateStore
    source: RateSource | None

    async def rates_for(
        self,
        target_currency: str,
        currencies: Collection[str],
        days: ResolvedRange,
        *,
        look_back: timedelta = timedelta(),
    ) -> ExchangeRates:
        """Rates of some currencies into one, for each day of a range and for some time before it.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        others = {*currencies} - {target_currency}
        if self.source is None or not others:
            return ExchangeRates(target_currency)
        first = days.first_day - look_back - MAX_RATE_AGE
        found = await self.store.rates(self.source.id, {*others, target_currency}, first, days.last_day)
        return ExchangeRates.from_published(target_currency, found)
