"""What the query layer asks for rates."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from service_core.insight.fx.ports import RateSource, RateStore
from service_core.kernel.ranges import Range
from service_core.kernel.rates import CARRIED, Rates


@dataclass(frozen=True, slots=True)
class Exchange:
    """Rates of the source a deployment has chosen, as they are kept.

    Attributes:
        source: None for a deployment that has chosen none: no rate is known.
    """

    store: RateStore
    source: RateSource | None

    async def rates(
        self, to: str, currencies: Collection[str], days: Range, *, look_back: timedelta = timedelta()
    ) -> Rates:
        """Rates of some currencies into one, for each day of a range and for some time before it.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        others = {*currencies} - {to}
        if self.source is None or not others:
            return Rates(to)
        first = days.first_day - look_back - CARRIED
        found = await self.store.rates(self.source.id, {*others, to}, first, days.last_day)
        return Rates.of(to, found)
