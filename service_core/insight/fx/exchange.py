"""What the query layer asks for rates."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from service_core.insight.fx.model import CARRIED, Rates
from service_core.insight.fx.ports import RateSource, RateStore


@dataclass(frozen=True, slots=True)
class Exchange:
    """Rates of the source a deployment has chosen, as they are kept.

    Attributes:
        source: None for a deployment that has chosen none: no rate is known.
    """

    store: RateStore
    source: RateSource | None

    async def rates(self, to: str, currencies: Collection[str], first: date, last: date) -> Rates:
        """Rates of some currencies into one, for each day from ``first`` to ``last``.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        others = {*currencies} - {to}
        if self.source is None or not others:
            return Rates(to)
        found = await self.store.rates(self.source.id, {*others, to}, first - CARRIED, last)
        return Rates.of(to, found)
