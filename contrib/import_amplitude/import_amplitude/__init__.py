"""Exports of Amplitude as events: ``touchpoint import amplitude FILE``."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from service_core.plugin import (
    ImportEntry,
    ImportFile,
    ImportSource,
    ImportSourceInfo,
    PluginData,
    PluginInfo,
    hook,
)

_EVENT_NAMES: Final = {
    "[Amplitude] Page Viewed": "page_view",
    "[Amplitude] Form Submitted": "form_submit",
    "$identify": "identify",
}
_COPIED: Final = {"country": "country", "language": "locale", "ip_address": "ip"}


class Amplitude:
    """Implements the port `ImportSource`."""

    @property
    def info(self) -> ImportSourceInfo:
        """The files of the Export API."""
        return ImportSourceInfo(
            id="amplitude",
            label="Amplitude",
            homepage="https://amplitude.com/docs/apis/analytics/export",
            files="A file of the Export API: JSON lines, plain or gzip",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each event."""
        return file.map_rows(to_entry)


def to_entry(row: Mapping[str, Any]) -> ImportEntry:
    """Returns the event of a line. The host names what is missing."""
    name = row.get("event_type")
    properties = row.get("event_properties")
    body = {
        "event": _EVENT_NAMES.get(str(name), name),
        "timestamp": to_utc(row.get("event_time")),
        "user_id": row.get("user_id"),
        "anonymous_id": row.get("device_id"),
        "event_id": row.get("$insert_id") or row.get("uuid"),
        "properties": properties if isinstance(properties, dict) else {},
        **{ours: row[theirs] for theirs, ours in _COPIED.items() if row.get(theirs)},
    }
    return ImportEntry({field: value for field, value in body.items() if value not in (None, "")})


def to_utc(text: object) -> object:
    """Returns the time of an export, which is in UTC and does not say so, with its zone."""
    return f"{text.replace(' ', 'T')}Z" if isinstance(text, str) and text else text


@hook
def plugin_info() -> PluginInfo:
    """The declaration: it reads files, and calls no host."""
    return PluginInfo(label="Amplitude", icon="A", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def import_sources() -> Iterable[ImportSource]:
    """Amplitude."""
    return (Amplitude(),)
