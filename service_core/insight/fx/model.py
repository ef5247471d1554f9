"""Exchange rates as they are published, and what follows for the money of a day (semantics 10.7)."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Final

from service_core.kernel.money import exponent

EURO: Final = "EUR"
"""What every rate is published against."""

CARRIED: Final = timedelta(days=7)
"""How long a rate stands while no other is published: over weekends and holidays."""

_CODE: Final = re.compile("[A-Z]{3}")
_DIGITS: Final = 12
"""More than anybody publishes, before and behind the point; what is computed with them fits 128 bits."""


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
        if not _CODE.fullmatch(self.currency) or self.currency == EURO:
            raise ValueError(f"{self.currency!r} is no currency that has a rate")
        if not self.per_euro.is_finite() or self.per_euro <= 0:
            raise ValueError(f"{self.per_euro} is no rate")
        _, digits, places = self.per_euro.as_tuple()
        if len(digits) + max(int(places), 0) > _DIGITS or -int(places) > _DIGITS:
            raise ValueError(f"{self.per_euro} has more digits than a rate")


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """What other currencies are worth in one, on any day rates were published for.

    Attributes:
        to: the currency money is told in.
    """

    to: str
    _published: dict[str, tuple[list[date], list[Decimal]]] = field(default_factory=dict)

    @classmethod
    def of(cls, to: str, published: Iterable[DayRate]) -> "Rates":
        """Rates into a currency, from what was published in any order."""
        by_currency: dict[str, dict[date, Decimal]] = defaultdict(dict)
        for each in published:
            by_currency[each.currency][each.day] = each.per_euro
        ordered = {code: sorted(days.items()) for code, days in by_currency.items()}
        return cls(to, {code: ([d for d, _ in days], [r for _, r in days]) for code, days in ordered.items()})

    def on(self, day: date, currency: str) -> Fraction | None:
        """Minor units of `to` for a minor unit of a currency, exactly; None without a rate for the day."""
        if currency == self.to:
            return Fraction(1)
        ours, theirs = self._per_euro(day, self.to), self._per_euro(day, currency)
        if ours is None or theirs is None:
            return None
        return Fraction(ours) / Fraction(theirs) * Fraction(10) ** (exponent(self.to) - exponent(currency))

    def _per_euro(self, day: date, currency: str) -> Decimal | None:
        if currency == EURO:
            return Decimal(1)
        days, rates = self._published.get(currency, ([], []))
        place = bisect_right(days, day) - 1
        return rates[place] if place >= 0 and day - days[place] <= CARRIED else None
