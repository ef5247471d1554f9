"""Reads a file by an import source, with an id for each event that is the same each time the file is read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from service_core.ingestion.event_time import EARLIEST_EVENT_TIME, parse_iso_or_epoch_time
from service_core.ingestion.import_sources.files import ImportFile
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.kernel.errors import StartupError
from service_core.kernel.unique_index import index_unique_or_startup_error

OWN_COMMANDS: Final = frozenset({"access-log", "events", "list", "remove", "source"})
"""Names of the commands of ``touchpoint import`` that are no import source."""


def index_sources_by_id(sources: Iterable[ImportSource]) -> Mapping[str, ImportSource]:
    """Returns the import sources by id.

    Raises:
        StartupError: two have the same id, or one has the name of a command of ``touchpoint import``.
    """
    by_id = index_unique_or_startup_error(
        sources, lambda s: s.info.id, lambda s: f"the import source {s.info.id!r}"
    )
    if taken := OWN_COMMANDS & by_id.keys():
        raise StartupError(f"The import source {min(taken)!r} has the name of a command. Rename it.")
    return MappingProxyType(dict(by_id))


NO_TIME: Final = "no_time"
"""Difference of an event whose time is missing or cannot be read."""

BEFORE_2020: Final = "before_2020"
"""Difference of an event from before `EARLIEST_EVENT_TIME`, which `/track` would date to its receipt."""


def read_source_with_row_ids(source: ImportSource, file: ImportFile, digest: str) -> Iterator[ImportEntry]:
    """Yields the entries of a file; an event without an id gets one of the file's digest and its row number.

    An event without a time that can be kept becomes a difference: history is never dated to the day of its import.

    Raises:
        StartupError: the file as a whole is not of the product.
    """
    for number, read in enumerate(source.read_entries(file)):
        entry = _without_unusable_time(read)
        row_id = entry.event_id or f"import:{digest[:32]}:{number}"
        further = tuple(
            _with_event_id(body, f"{row_id}:{place}") for place, body in enumerate(entry.further_bodies, 1)
        )
        yield replace(entry, event_id=row_id, further_bodies=further)


def _without_unusable_time(entry: ImportEntry) -> ImportEntry:
    """Returns the entry, without its events if the time of the first is missing, unreadable or too early."""
    if entry.body is None:
        return entry
    happened = parse_iso_or_epoch_time(entry.body.get("timestamp"))
    if happened is not None and happened >= EARLIEST_EVENT_TIME:
        return entry
    reason = NO_TIME if happened is None else BEFORE_2020
    day = entry.day if happened is None else happened.isoformat()
    return ImportEntry(None, reason, byte_count=entry.byte_count, day=day)


def _with_event_id(body: Mapping[str, Any], event_id: str) -> Mapping[str, Any]:
    return body if body.get("event_id") else {**body, "event_id": event_id}
