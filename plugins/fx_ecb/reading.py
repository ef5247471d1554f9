"""Rates out of the bank's XML as it comes over the wire: a file of all days is never held as a whole."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final
from xml.parsers.expat import ExpatError, ParserCreate

from service_core.plugin import DayRate, RatesDown

_MOST_BYTES: Final = 64 * 1024 * 1024
"""Many times what the bank publishes."""


class _Strange(RatesDown):
    def __init__(self) -> None:
        super().__init__("The European Central Bank answers something else than its rates.")


class EcbReading:
    """Takes one file in pieces.

    Args:
        since: rates of days before are left out.

    Attributes:
        rates: what was told so far.
    """

    def __init__(self, since: date) -> None:
        self.rates: list[DayRate] = []
        self._since, self._day, self._taken = since, date.min, 0
        self._parser = ParserCreate()
        self._parser.StartElementHandler = self._begun
        self._parser.StartDoctypeDeclHandler = _refuse

    def take(self, piece: bytes, *, last: bool = False) -> None:
        """Take the next piece.

        Raises:
            RatesDown: it is not what the bank publishes.
        """
        self._taken += len(piece)
        try:
            self._parser.Parse(piece, last)
        except (ExpatError, InvalidOperation, KeyError, ValueError):
            raise _Strange from None
        if self._taken > _MOST_BYTES or (last and not self._told_a_day):
            raise _Strange

    @property
    def _told_a_day(self) -> bool:
        return self._day is not date.min

    def _begun(self, _: str, told: Mapping[str, str]) -> None:
        if "time" in told:
            self._day = date.fromisoformat(told["time"])
        elif "currency" in told and self._day >= self._since:
            self.rates.append(DayRate(self._day, told["currency"], Decimal(told["rate"])))


def _refuse(*_: object) -> None:
    """The bank declares nothing; who does wants to make much of little."""
    raise ValueError("a document type")
