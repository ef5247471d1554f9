"""The reconciliation sheet of an import: the rows of the file by day, each accepted or under a named difference."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from service_core.ingestion.event_time import parse_iso_or_epoch_time
from service_core.ingestion.import_sources.models import ImportEntry

NO_DAY: Final = ""
"""Stands for the rows without a day that can be read, and for those of days beyond `MAX_DAYS`."""

MAX_DAYS: Final = 4_000
"""Days of one sheet; rows of further ones count under `NO_DAY`, so that a sheet stays small."""

SheetDays = Mapping[str, Mapping[str, int]]
"""Day as ``YYYY-MM-DD``, or `NO_DAY` -> outcome -> number of rows."""


def day_of_entry(entry: ImportEntry) -> str:
    """Returns the UTC day of a row; `NO_DAY` if it names none that can be read."""
    happened = entry.day if entry.body is None else entry.body.get("timestamp") or entry.day
    moment = parse_iso_or_epoch_time(happened)
    return NO_DAY if moment is None else moment.date().isoformat()


def add_row_outcomes_by_day(
    sheet: SheetDays, entries: Iterable[ImportEntry], outcomes: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Returns the sheet with further rows and their outcomes."""
    days = {day: dict(counts) for day, counts in sheet.items()}
    counted = Counter(zip(map(day_of_entry, entries), outcomes, strict=True))
    for (day, outcome), count in counted.items():
        kept = day if day in days or len(days) < MAX_DAYS else NO_DAY
        counts = days.setdefault(kept, {})
        counts[outcome] = counts.get(outcome, 0) + count
    return days


def reconciliation_lines_by_day(sheet: SheetDays, accepted_outcome: str) -> list[dict[str, Any]]:
    """Returns the lines of a sheet by day, oldest first: ``day``, ``rows``, ``accepted`` and ``differences``."""
    return [
        {
            "day": day or None,
            "rows": sum(counts.values()),
            "accepted": counts.get(accepted_outcome, 0),
            "differences": {
                outcome: count for outcome, count in sorted(counts.items()) if outcome != accepted_outcome
            },
        }
        for day, counts in sorted(sheet.items())
    ]
