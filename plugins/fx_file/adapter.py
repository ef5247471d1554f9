"""The port `RateSource` on a CSV file: the shape in which the European Central Bank offers all of its days."""

import asyncio
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from service_core.plugin import DayRate, RateCoverage, RateSourceUnavailable, StartupError

_NO_RATE: Final = frozenset({"", "N/A"})


@dataclass(frozen=True, slots=True)
class RateCsvFile:
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
            await self.fetch_rates_not_stored_yet(None)
        except RateSourceUnavailable as fault:
            raise StartupError(f"{fault} Correct the file, or fx.rates.") from None

    async def fetch_rates_not_stored_yet(self, stored_coverage: RateCoverage | None) -> Sequence[DayRate]:  # noqa: ARG002 - a file has it all at once
        """Every rate of the file.

        Raises:
            RateSourceUnavailable: it is not there, or not such a table.
        """
        return await asyncio.to_thread(self._read_all_rates)

    def _read_all_rates(self) -> list[DayRate]:
        line = 1
        try:
            with self.path.open(newline="", encoding="utf-8-sig") as file:
                table = csv.DictReader(file)
                rates: list[DayRate] = []
                for line, row in enumerate(table, start=2):  # noqa: B007 - named by the error of a wrong line
                    rates += _quoted_rates_of_day(row)
        except OSError as fault:
            raise RateSourceUnavailable(f"{self.path} cannot be read ({type(fault).__name__}).") from None
        except (InvalidOperation, KeyError, ValueError, csv.Error):
            raise RateSourceUnavailable(
                f"Line {line} of {self.path} is no day of rates: a column Date, and one for each currency with "
                "how many of it a euro is."
            ) from None
        return rates


def _quoted_rates_of_day(csv_row: dict[str, str | None]) -> Iterator[DayRate]:
    day = date.fromisoformat((csv_row.pop("Date") or "").strip())
    for currency, cell in csv_row.items():
        # The bank ends each line with a comma: a column without a name.
        value = (cell or "").strip() if currency else ""
        if value not in _NO_RATE:
            yield DayRate(day, currency.strip(), Decimal(value))
