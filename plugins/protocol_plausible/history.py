"""History of Plausible: its CSV export has daily totals, which hold no events and no people."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from service_core.plugin import ImportEntry, ImportFile, ImportSourceInfo, StartupError

_COUNTED: Final = ("visitors", "pageviews", "visits", "events")
DAILY_TOTAL: Final = "daily_total"
"""Difference of a row that says how many there were on a day, and nothing of any one of them."""


class PlausibleHistory:
    """Reads the CSV files of Plausible's export. No row becomes an event: to count it, visitors would have to be invented."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="plausible",
            label="Plausible",
            homepage="https://plausible.io/docs/export-stats",
            files="A CSV file of the export; its daily totals become no events and are listed as differences",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry without an event for each row.

        Raises:
            StartupError: the file has no column ``date``, as no file of the export.
        """
        return file.map_rows(_map_row)


def _map_row(row: Mapping[str, Any]) -> ImportEntry:
    if "date" not in row or not row.keys() & set(_COUNTED):
        raise StartupError(
            "The file is none of Plausible's export, whose CSV files have a column date and counts. Unpack the "
            "export and import one of its files."
        )
    return ImportEntry(None, DAILY_TOTAL, day=str(row["date"]))
