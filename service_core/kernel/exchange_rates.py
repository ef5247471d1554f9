"""Exchange rates as they are published, and what follows for the money of a day (semantics 10.7)."""

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
from service_core.kernel.money import currency_decimals
from service_core.kernel.time_ranges import Buckets, BucketUnit, TimeRange
from service_core.kernel.wall_clock import day_start, local_date

EURO: Final = "EUR"
"""What every rate is published against."""

MAX_RATE_AGE: Final = timedelta(days=7)
"""How long a rate stands while no other is published: over weekends and holidays."""

_CURRENCY_CODE: Final = re.compile("[A-Z]{3}")
_MAX_DIGITS: Final = 8
_MAX_DECIMALS: Final = 6
"""More digits, and more of them behind the point, than anybody publishes: any two rates are a fraction of 64 bits."""

MAX_CONVERTED_MINOR: Final = 2**53
"""Minor units; a movement that is worth more is worth nothing anybody knows (`intake.amounts.MAX_MINOR_UNITS`)."""


@dataclass(frozen=True, slots=True)
class DayRate:
    """How many units of a currency a euro was on a day.

    Raises:
        ValueError: it is no currency, or nothing that could be a rate.
    """

    day: date
    currency: str
    per_euro: Decimal

    def __post_init__(self) -> None:
        if not _CURRENCY_CODE.fullmatch(self.currency) or self.currency == EURO:
            raise ValueError(f"{self.currency!r} is no currency that has a rate")
        if not self.per_euro.is_finite() or self.per_euro <= 0:
            raise ValueError(f"{self.per_euro} is no rate")
        _, digits, places = self.per_euro.as_tuple()
        if len(digits) + max(int(places), 0) > _MAX_DIGITS or -int(places) > _MAX_DECIMALS:
            raise ValueError(f"{self.per_euro} has more digits than a rate")


@dataclass(frozen=True, slots=True)
class RateTable:
    """Rates day by day.

    Attributes:
        days: the local days; None when there is no rate at all.
        worth: what each currency is worth on each of them, as in `Rates.on`.
    """

    days: Buckets | None
    factors: Mapping[str, Sequence[Fraction | None]]


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeRates:
    """What other currencies are worth in one, on any day rates were published for.

    Attributes:
        to: the currency money is told in.
    """

    target_currency: str
    _published: dict[str, tuple[list[date], list[Decimal]]] = field(default_factory=dict)

    @classmethod
    def from_published(cls, to: str, published: Iterable[DayRate]) -> "ExchangeRates":
        """Rates into a currency, from what was published in any order."""
        by_currency: dict[str, dict[date, Decimal]] = defaultdict(dict)
        for each in published:
            by_currency[each.currency][each.day] = each.per_euro
        ordered = {code: sorted(days.items()) for code, days in by_currency.items()}
        return cls(to, {code: ([d for d, _ in days], [r for _, r in days]) for code, days in ordered.items()})

    def rate_on(self, day: date, currency: str) -> Fraction | None:
        """Minor units of `to` for a minor unit of a currency, exactly; None without a rate for the day."""
        if currency == self.target_currency:
            return Fraction(1)
        ours, theirs = self._euro_rate_on(day, self.target_currency), self._euro_rate_on(day, currency)
        if ours is None or theirs is None:
            return None
        return (
            Fraction(ours)
            / Fraction(theirs)
            * Fraction(10) ** (currency_decimals(self.target_currency) - currency_decimals(currency))
        )

    def convert_amount(self, day: date, currency: str | None, amount: int) -> int | None:
        """An amount of a movement in minor units of `to`, rounded half-even; None without a rate for the day.

        What nobody named a currency of is taken as it is.
        """
        rate = Fraction(1) if currency is None else self.rate_on(day, currency)
        told = None if rate is None else round(amount * rate)
        return told if told is not None and told <= MAX_CONVERTED_MINOR else None

    def daily_table(self, zone: ZoneInfo) -> "RateTable":
        """All there is for the days of a zone, for engines that look rates up by themselves."""
        days = sorted({day for known, _ in self._published.values() for day in known})
        if not days:
            return RateTable(None, {})
        last = days[-1] + MAX_RATE_AGE + timedelta(days=1)
        buckets = buckets_covering(
            TimeRange(day_start(days[0], zone), day_start(last, zone)), BucketUnit.DAY, zone
        )
        dates = [local_date(start, zone) for start in buckets.starts]
        others = sorted({*self._published, EURO} - {self.target_currency})
        return RateTable(buckets, {code: [self.rate_on(day, code) for day in dates] for code in others})

    def _euro_rate_on(self, day: date, currency: str) -> Decimal | None:
        if currency == EURO:
            return Decimal(1)
        days, rates = self._published.get(currency, ([], []))
        place = bisect_right(days, day) - 1
        return rates[place] if place >= 0 and day - days[place] <= MAX_RATE_AGE else None
