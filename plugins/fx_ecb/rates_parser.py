"""Rates out of the bank's XML as it comes over the wire: a file of all days is never held as a whole."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final
from xml.parsers.expat import ExpatError, ParserCreate

from service_core.plugin import DayRate, RateSourceUnavailable

_MAX_BYTES: Final = 64 * 1024 * 1024
"""Many times what the bank publishes."""


class _UnexpectedContent(RateSourceUnavailable):
    def __init__(self) -> None:
        super().__init__("The European Central Bank answers something else than its rates.")


class StreamingRatesParser:
    """Parses one file in chunks; refuses more than 64 MiB.

    Args:
        since: rates of days before are left out.

    Attributes:
        rates: the rates parsed so far.
    """

    def __init__(self, since: date) -> None:
        self.rates: list[DayRate] = []
        self._since, self._day, self._taken = since, date.min, 0
        self._parser = ParserCreate()
        self._parser.StartElementHandler = self._handle_element
        self._parser.StartDoctypeDeclHandler = _reject_doctype

    def parse_chunk(self, chunk: bytes, *, is_last: bool = False) -> None:
        """Parses the next chunk and adds its rates.

        Raises:
            RateSourceUnavailable: it is not what the bank publishes.
        """
        self._taken += len(chunk)
        try:
            self._parser.Parse(chunk, is_last)
        except (ExpatError, InvalidOperation, KeyError, ValueError):
            raise _UnexpectedContent from None
        if self._taken > _MAX_BYTES or (is_last and not self._has_day):
            raise _UnexpectedContent

    @property
    def _has_day(self) -> bool:
        return self._day is not date.min

    def _handle_element(self, _: str, attributes: Mapping[str, str]) -> None:
        if "time" in attributes:
            self._day = date.fromisoformat(attributes["time"])
        elif "currency" in attributes and self._day >= self._since:
            self.rates.append(DayRate(self._day, attributes["currency"], Decimal(attributes["rate"])))


def _reject_doctype(*_: object) -> None:
    """Refuses a document type declaration, so that entities cannot be expanded; the bank sends none."""
    raise ValueError("a document type")
