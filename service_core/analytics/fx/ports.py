"""Ports for exchange rates: their source and their store."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol, runtime_checkable

from service_core.kernel.exchange_rates import DayRate


class RateSourceUnavailable(Exception):
    """The source cannot be read at present; a later request may succeed. The message is for people."""


@dataclass(frozen=True, slots=True)
class RateCoverage:
    """The stored rates of a source.

    Attributes:
        read_at: last successful read of the source.
        first_day, last_day: days of the oldest and the latest rate; None without a rate.
        currencies: number of currencies with a rate.
    """

    read_at: datetime
    first_day: date | None
    last_day: date | None
    currencies: int


@runtime_checkable
class RateSource(Protocol):
    """Publishes exchange rates; chosen by the setting ``fx.rates`` and read hourly."""

    @property
    def id(self) -> str:
        """Id under which rates are stored, such as ``ecb``. Rates of different sources are never mixed."""

    async def fetch_rates_not_stored_yet(self, stored_coverage: RateCoverage | None) -> Sequence[DayRate]:
        """Returns at least the rates that are not stored yet. A returned rate replaces the stored one of that day.

        Args:
            stored_coverage: the stored rates of the source; None if it was never read.

        Raises:
            RateSourceUnavailable: the source cannot be read at present.
        """


class ExchangeRateStore(Protocol):
    """Stores the rates of every source for all workspaces and processes."""

    async def save_rates(self, source_id: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        """Saves rates and the time the source was read."""

    async def list_rates_published_between(
        self, source_id: str, currencies: Collection[str], first_day: date, last_day: date
    ) -> Sequence[DayRate]:
        """Returns the rates of currencies published from ``first`` to ``last``, both inclusive.

        Raises:
            StoreUnavailable: rates cannot be read.
        """

    async def rate_coverage_or_none_if_never_read(self, source_id: str) -> RateCoverage | None:
        """Returns what is stored of a source; None if it was never read.

        Raises:
            StoreUnavailable: rates cannot be read.
        """
