"""The port `RateSource` on a CSV file: the shape in which the European Central Bank offers all of its days."""

import asyncio
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from service_core.plugin import DayRate, RatesDown, RatesKnown, StartupError

_UNKNOWN: Final = frozenset({"", "N/A"})


@dataclass(frozen=True, slots=True)
class RateFile:
    """Implements `RateSource`; the file is read each time, so replacing it is enough."""

    path: Path

    @property
    def id(self) -> str:
        """``file``."""
        return "file"

    async def check(self) -> None:
        """Read the file, and change nothing.

        Raises:
            StartupError: it cannot be read.
        """
        try:
            await self.published(None)
        except RatesDown as fault:
            raise StartupError(f"{fault} Correct the file, or fx.rates.") from None

    async def published(self, known: RatesKnown | None) -> Sequence[DayRate]:  # noqa: ARG002 - a file has it all at once
        """Every rate of the file.

        Raises:
            RatesDown: it is not there, or not such a table.
        """
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[DayRate]:
        line = 1
        try:
            with self.path.open(newline="", encoding="utf-8-sig") as file:
                table = csv.DictReader(file)
                found: list[DayRate] = []
                for line, row in enumerate(table, start=2):  # noqa: B007 - told of a line that is wrong
                    found += _rates_of(row)
        except OSError as fault:
            raise RatesDown(f"{self.path} cannot be read ({type(fault).__name__}).") from None
        except (InvalidOperation, KeyError, ValueError, csv.Error):
            raise RatesDown(
                f"Line {line} of {self.path} is no day of rates: a column Date, and one for each currency with "
                "how many of it a euro is."
            ) from None
        return found


def _rates_of(row: dict[str, str | None]) -> Iterator[DayRate]:
    day = date.fromisoformat((row.pop("Date") or "").strip())
    for currency, told in row.items():
        # The bank ends each line with a comma: a column without a name.
        value = (told or "").strip() if currency else ""
        if value not in _UNKNOWN:
            yield DayRate(day, currency.strip(), Decimal(value))
