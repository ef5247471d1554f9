"""History of Mixpanel: lines of its raw export, by the mapping of its protocol."""

from collections.abc import Iterator

from plugins.protocol_mixpanel.mapping import map_event
from service_core.plugin import ImportEntry, ImportFile, ImportSourceInfo


class MixpanelHistory:
    """Reads the events of Mixpanel's raw export API: one JSON object in each line."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="mixpanel",
            label="Mixpanel",
            homepage="https://developer.mixpanel.com/reference/raw-event-export",
            files="Raw event export as NDJSON, plain or gzip",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each line. Times are as exported: of a project from before 2023, in its time zone."""
        return file.map_rows(lambda row: ImportEntry(map_event(row, None).body))
