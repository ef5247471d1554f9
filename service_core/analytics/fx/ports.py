"""Where exchange rates come from, and where they are kept."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol, runtime_checkable

from service_core.kernel.exchange_rates import DayRate


class RateSourceUnavailable(Exception):
    """The source cannot be read now; the same question may be answered later. Its text is for people."""


@dataclass(frozen=True, slots=True)
class RateCoverage:
    """What is kept of a source.

    Attributes:
        read_at: when it was read last with success.
        first, last: days of the oldest and the latest rate; None as long as there is no rate.
        currencies: how many have a rate.
    """

    read_at: datetime
    first_day: date | None
    last_day: date | None
    currencies: int


@runtime_checkable
class RateSource(Protocol):
    """Whoever publishes rates, chosen by ``fx.rates`` and asked each hour."""

    @property
    def id(self) -> str:
        """Under what its rates are kept, such as ``ecb``: those of several sources are never mixed."""

    async def fetch_rates(self, coverage: RateCoverage | None) -> Sequence[DayRate]:
        """Rates that are not known, those that are may be among them; one of a day that is known replaces it.

        Args:
            known: what is kept of the source; None as long as it was never read.

        Raises:
            RateSourceUnavailable: it cannot be read now.
        """


class ExchangeRateStore(Protocol):
    """The rates of every source, for all workspaces: whatever process asks, and whether or not a source answers."""

    async def save_rates(self, source: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        """Keep rates, and that the source was read at an instant."""

    async def rates(
        self, source: str, currencies: Collection[str], first: date, last: date
    ) -> Sequence[DayRate]:
        """The rates of some currencies that were published from ``first`` to ``last``, both inclusive.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def rate_coverage(self, source: str) -> RateCoverage | None:
        """What is kept of a source; None as long as it was never read.

        Raises:
            StoreUnavailable: it cannot be read.
        """
