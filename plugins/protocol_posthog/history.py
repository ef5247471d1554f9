"""History of PostHog: rows of its events export, by the mapping of its protocol."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from plugins.protocol_posthog.mapping import map_event
from service_core.plugin import ImportEntry, ImportFile, ImportSourceInfo

_OBJECT_COLUMNS: Final = ("properties", "$set", "$set_once")
_NEVER_SENT: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Receipt of an exported event: its ``timestamp`` is corrected already."""


class PostHogHistory:
    """Reads the events that PostHog exports as NDJSON, CSV or Parquet."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="posthog",
            label="PostHog",
            homepage="https://posthog.com/docs/cdp/batch-exports",
            files="Events of a batch export as NDJSON, CSV or Parquet",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each row."""
        return file.map_rows(_map_row)


def _map_row(row: Mapping[str, Any]) -> ImportEntry:
    event = {name: _parse_object(name, cell) for name, cell in row.items()}
    return ImportEntry(map_event(event, None, _NEVER_SENT).body)


def _parse_object(name: str, cell: Any) -> Any:
    """Returns the value of a cell; CSV and Parquet hold objects as JSON text."""
    if name not in _OBJECT_COLUMNS or not isinstance(cell, str):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return None
