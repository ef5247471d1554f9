"""Values in words for people: with their unit, and short where space is."""

from dataclasses import dataclass
from typing import Final

from service_core.kernel.money import currency_decimals

UNKNOWN_VALUE: Final = "—"
"""What stands for a value nobody measured; a zero would be a claim."""

_CURRENCY_SIGNS: Final = {
    "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩", "BRL": "R$", "CAD": "CA$",
    "AUD": "A$", "NZD": "NZ$", "MXN": "MX$", "ILS": "₪", "VND": "₫", "TRY": "₺", "UAH": "₴", "PLN": "zł ",
}  # fmt: skip
_SUFFIXES: Final = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
_DURATION_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_SMALL: Final = 10
_TENTH: Final = 0.1


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """What a value counts.

    Attributes:
        name: a unit of the catalog: ``count``, ``ratio``, ``number``, ``seconds``, ``currency`` or
            ``currency_per_unit``; or ``multiple``, a ratio such as return on ad spend.
        currency: ISO 4217 code of amounts.
    """

    name: str = "count"
    currency: str = "USD"

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.name == "count"

    def format_in_full_or_dash(self, value: float | None) -> str:
        """A value as exactly as people read it: ``12,480``, ``3.4 %``, ``2.50x``, ``$1,234.50``, ``2m 14s``."""
        if value is None:
            return UNKNOWN_VALUE
        if self.name == "ratio":
            return f"{value * 100:,.1f} %"
        if self.name == "multiple":
            return f"{value:,.2f}x"
        if self.name == "seconds":
            return _format_two_largest_duration_units(value)
        if self.name.startswith("currency"):
            return self._add_currency_sign(f"{abs(value):,.{currency_decimals(self.currency)}f}", value)
        return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"

    def format_for_tile(self, value: float | None) -> str:
        """A value for a narrow place: from 1,000 on amounts go without their decimals."""
        if value is None or not self.name.startswith("currency") or abs(value) < 1000:  # noqa: PLR2004
            return self.format_in_full_or_dash(value)
        return self._add_currency_sign(f"{abs(value):,.0f}", value)

    def format_for_axis(self, value: float) -> str:
        """A value for an axis: ``12k``, ``3 %``, ``$1.2k``."""
        if self.name == "ratio":
            return f"{_format_three_figures(value * 100)} %"
        if self.name == "multiple":
            return f"{_format_compact(value)}x"
        if self.name == "seconds":
            return _format_two_largest_duration_units(value)
        if self.name.startswith("currency"):
            return self._add_currency_sign(_format_compact(abs(value)), value)
        return _format_compact(value)

    def _add_currency_sign(self, digits: str, value: float) -> str:
        sign = _CURRENCY_SIGNS.get(self.currency, f"{self.currency} ")
        return f"{'-' if value < 0 else ''}{sign}{digits}"


def _format_compact(value: float) -> str:
    for size, letter in _SUFFIXES:
        if abs(value) >= size:
            return _format_three_figures(value / size) + letter
    return _format_three_figures(value)


def _format_three_figures(value: float) -> str:
    """At most three figures, without zeros that say nothing."""
    decimals = (
        0 if abs(value) >= _SMALL * _SMALL else 1 if abs(value) >= 1 else 2 if abs(value) >= _TENTH else 3
    )
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format_two_largest_duration_units(seconds: float) -> str:
    if 0 < abs(seconds) < _SMALL:
        return f"{_format_three_figures(seconds)}s"
    rest, parts = round(abs(seconds)), []
    for size, letter in _DURATION_UNITS:
        if rest >= size:
            parts.append(f"{rest // size}{letter}")
            rest %= size
    return ("-" if seconds < 0 else "") + (" ".join(parts[:2]) or "0s")
