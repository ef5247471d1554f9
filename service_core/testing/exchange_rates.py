"""Exchange rates for tests: a store in memory, and a source that says what it is told."""

from collections.abc import Collection, Sequence
from datetime import date, datetime

from service_core.insight.fx.exchange import Exchange
from service_core.insight.fx.ports import RatesDown, RatesKnown
from service_core.insight.fx.rated import Rated
from service_core.insight.ports import Aggregates
from service_core.kernel.rates import DayRate


class MemoryRates:
    """Implements the port `RateStore`: the readable statement of what it promises."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str, date], DayRate] = {}
        self._read: dict[str, datetime] = {}

    async def keep_rates(self, source: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        self._rates |= {(source, rate.currency, rate.day): rate for rate in rates}
        self._read[source] = read_at

    async def rates(self, source: str, currencies: Collection[str], first: date, last: date) -> list[DayRate]:
        return [
            rate
            for (of, currency, day), rate in self._rates.items()
            if of == source and currency in currencies and first <= day <= last
        ]

    async def rates_known(self, source: str) -> RatesKnown | None:
        if source not in self._read:
            return None
        own = [rate for (of, _, _), rate in self._rates.items() if of == source]
        days = sorted({rate.day for rate in own})
        first, last = (days[0], days[-1]) if days else (None, None)
        return RatesKnown(self._read[source], first, last, len({rate.currency for rate in own}))


class ToldRates:
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
        self.asked: list[RatesKnown | None] = []

    async def published(self, known: RatesKnown | None) -> Sequence[DayRate]:
        self.asked.append(known)
        if self.down:
            raise RatesDown("Nobody answers.")
        return self.told


def without_rates(events: Aggregates) -> Rated:
    """What handlers ask a store for money by, in a deployment that knows no rate."""
    return Rated(events, Exchange(MemoryRates(), None))
