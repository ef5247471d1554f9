"""Published exchange rates and the conversion of amounts by the rate of a day."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.money import MAX_MINOR_UNITS, currency_decimals
from service_core.kernel.time_ranges import Buckets, BucketUnit, TimeRange
from service_core.kernel.wall_clock import day_start, local_date

EURO: Final = "EUR"
"""The currency against which all rates are published."""

MAX_RATE_AGE: Final = timedelta(days=7)
"""How long a rate is used when no newer one is published, as on weekends and holidays."""

_CURRENCY_CODE: Final = re.compile("[A-Z]{3}")
_MAX_DIGITS: Final = 8
_MAX_DECIMALS: Final = 6
"""Limits above any published rate. They keep the fraction of two rates within 64 bits."""

MAX_CONVERTED_MINOR: Final = MAX_MINOR_UNITS
"""Largest converted amount in minor units; `convert_minor_amount_or_none` returns None above it."""


@dataclass(frozen=True, slots=True)
class DayRate:
    """Units of a currency for one euro on a day.

    Raises:
        ValueError: the currency or the rate is invalid.
    """

    day: date
    currency: str
    per_euro: Decimal

    def __post_init__(self) -> None:
        if not _CURRENCY_CODE.fullmatch(self.currency) or self.currency == EURO:
            raise ValueError(f"{self.currency!r} is not a currency with a rate")
        if not self.per_euro.is_finite() or self.per_euro <= 0:
            raise ValueError(f"{self.per_euro} is not a rate")
        _, digits, places = self.per_euro.as_tuple()
        if len(digits) + max(int(places), 0) > _MAX_DIGITS or -int(places) > _MAX_DECIMALS:
            raise ValueError(f"{self.per_euro} has too many digits for a rate")


@dataclass(frozen=True, slots=True)
class RateTable:
    """Daily conversion factors of all currencies.

    Attributes:
        days: the local days; None if there are no rates.
        factors: currency to its factor for each day, as `ExchangeRates.minor_unit_rate_up_to_7_days_old` returns it.
    """

    days: Buckets | None
    factors: Mapping[str, Sequence[Fraction | None]]


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeRates:
    """Conversion of amounts into one currency by the published rates.

    Attributes:
        target_currency: the currency amounts are converted into.
    """

    target_currency: str
    _published: dict[str, tuple[list[date], list[Decimal]]] = field(default_factory=dict)

    @classmethod
    def from_published(cls, target_currency: str, rates: Iterable[DayRate]) -> "ExchangeRates":
        """Returns the exchange rates into a currency from published rates in any order."""
        by_currency: dict[str, dict[date, Decimal]] = defaultdict(dict)
        for rate in rates:
            by_currency[rate.currency][rate.day] = rate.per_euro
        ordered = {code: sorted(days.items()) for code, days in by_currency.items()}
        return cls(
            target_currency,
            {code: ([d for d, _ in days], [r for _, r in days]) for code, days in ordered.items()},
        )

    def minor_unit_rate_up_to_7_days_old(self, day: date, currency: str) -> Fraction | None:
        """Returns the exact number of target minor units for one minor unit of a currency, or None without a rate for the day."""
        if currency == self.target_currency:
            return Fraction(1)
        target_rate, source_rate = (
            self._euro_rate_up_to_7_days_old(day, self.target_currency),
            self._euro_rate_up_to_7_days_old(day, currency),
        )
        if target_rate is None or source_rate is None:
            return None
        return (
            Fraction(target_rate)
            / Fraction(source_rate)
            * Fraction(10) ** (currency_decimals(self.target_currency) - currency_decimals(currency))
        )

    def convert_minor_amount_or_none(
        self, day: date, currency_or_target: str | None, amount: int
    ) -> int | None:
        """Returns an amount in target minor units, rounded half-even.

        Returns None without a rate for the day, and above `MAX_CONVERTED_MINOR`.

        Args:
            day: whose rate counts, or that of up to 7 days before.
            currency_or_target: the currency of the amount; None for the target currency.
            amount: in minor units of its currency.
        """
        rate = (
            Fraction(1)
            if currency_or_target is None
            else self.minor_unit_rate_up_to_7_days_old(day, currency_or_target)
        )
        converted = None if rate is None else round(amount * rate)
        return converted if converted is not None and converted <= MAX_CONVERTED_MINOR else None

    def daily_factor_table_by_currency(self, zone: ZoneInfo) -> "RateTable":
        """Returns the factors for every day of a zone that has a rate, for event stores that convert amounts themselves."""
        days = sorted({day for days_and_rates, _ in self._published.values() for day in days_and_rates})
        if not days:
            return RateTable(None, {})
        last = days[-1] + MAX_RATE_AGE + timedelta(days=1)
        buckets = buckets_covering(
            TimeRange(day_start(days[0], zone), day_start(last, zone)), BucketUnit.DAY, zone
        )
        dates = [local_date(start, zone) for start in buckets.starts]
        others = sorted({*self._published, EURO} - {self.target_currency})
        return RateTable(
            buckets,
            {code: [self.minor_unit_rate_up_to_7_days_old(day, code) for day in dates] for code in others},
        )

    def _euro_rate_up_to_7_days_old(self, day: date, currency: str) -> Decimal | None:
        if currency == EURO:
            return Decimal(1)
        days, rates = self._published.get(currency, ([], []))
        index = bisect_right(days, day) - 1
        return rates[index] if index >= 0 and day - days[index] <= MAX_RATE_AGE else None
