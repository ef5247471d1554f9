"""What the query layer asks for rates."""

from collections.abc import Collection
from dataclasses import dataclass

from service_core.insight.fx.model import CARRIED, Rates
from service_core.insight.fx.ports import RateSource, RateStore
from service_core.kernel.ranges import Range


@dataclass(frozen=True, slots=True)
class Exchange:
    """Rates of the source a deployment has chosen, as they are kept.

    Attributes:
        source: None for a deployment that has chosen none: no rate is known.
    """

    store: RateStore
    source: RateSource | None

    async def rates(self, to: str, currencies: Collection[str], days: Range) -> Rates:
        """Rates of some currencies into one, for each day of a range.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        others = {*currencies} - {to}
        if self.source is None or not others:
            return Rates(to)
        found = await self.store.rates(self.source.id, {*others, to}, days.first_day - CARRIED, days.last_day)
        return Rates.of(to, found)
