"""Reads a file by an import source, with an id for each event that is the same each time the file is read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

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


def read_source_with_row_ids(source: ImportSource, file: ImportFile, digest: str) -> Iterator[ImportEntry]:
    """Yields the entries of a file; an event without an id gets one of the file's digest and its row number.

    Raises:
        StartupError: the file as a whole is not of the product.
    """
    for number, entry in enumerate(source.read_entries(file)):
        row_id = entry.event_id or f"import:{digest[:32]}:{number}"
        further = tuple(
            _with_event_id(body, f"{row_id}:{place}") for place, body in enumerate(entry.further_bodies, 1)
        )
        yield replace(entry, event_id=row_id, further_bodies=further)


def _with_event_id(body: Mapping[str, Any], event_id: str) -> Mapping[str, Any]:
    return body if body.get("event_id") else {**body, "event_id": event_id}
