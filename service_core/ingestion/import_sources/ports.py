"""The port of import sources."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from service_core.ingestion.import_sources.files import ImportFile
from service_core.ingestion.import_sources.models import ImportEntry, ImportSourceInfo


@runtime_checkable
class ImportSource(Protocol):
    """Reads files of another product. Built once per process; it keeps no state between files."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and the files it reads."""

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Yields one entry for each row of the file, in order, and holds one row at a time.

        A row that becomes no event is an entry with a `skip_reason`: no row is left out silently.

        Raises:
            StartupError: the file as a whole is not of the product; the text says what to do.
        """


@dataclass(frozen=True, slots=True)
class ImportSources:
    """The installed import sources by id."""

    by_id: Mapping[str, ImportSource] = field(default_factory=dict)
