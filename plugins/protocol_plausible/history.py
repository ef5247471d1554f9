"""History of Plausible: its CSV export has daily totals, which hold no events and no people."""

from collections.abc import Iterator
from typing import Final

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
        """Yields an entry without an event for each row.

        Raises:
            StartupError: the file has no column ``date``, as no file of the export.
        """
        for row in file.rows():
            if row.problem is not None:
                yield ImportEntry(None, row.problem, byte_count=row.byte_count)
                continue
            if "date" not in row.cells or not row.cells.keys() & set(_COUNTED):
                raise StartupError(
                    "The file is none of Plausible's export, whose CSV files have a column date and counts. Unpack the "
                    "export and import one of its files."
                )
            yield ImportEntry(None, DAILY_TOTAL, byte_count=row.byte_count, day=str(row.cells["date"]))
