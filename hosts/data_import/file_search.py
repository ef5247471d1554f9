"""Searches uploaded import files: all columns of rows, and lines that no import would use."""

import asyncio
import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hosts.composition.ports import Ports
from service_core.delivery.imports.models import ImportFormat, ImportJob
from service_core.delivery.imports.ports import ImportRefused
from service_core.kernel.errors import StartupError
from service_core.kernel.file_response import ByteStreamOpener
from service_core.privacy.import_files import PersonalImportFiles
from service_core.privacy.received_events import parse_body_or_text

_MAX_LINE_BYTES: Final = 1_000_000
_GZIP_MAGIC: Final = b"\x1f\x8b"
_PARQUET_MAGIC: Final = b"PAR1"
_UNREADABLE: Final = (EOFError, OSError, zlib.error)


class UploadedFileSearch:
    """Implements the port `ImportFileSearch`; a file is copied to a private folder, since readers take paths."""

    async def find_first_wanted_entries(
        self, job: ImportJob, open_file: ByteStreamOpener, is_wanted: Callable[[Any], bool], limit: int
    ) -> list[Any]:
        """Returns the first entries that a function picks."""
        with TemporaryDirectory(prefix="touchpoint-search-") as folder:
            path = Path(folder) / "upload"
            with path.open("wb") as copy:
                async for chunk in open_file():
                    await asyncio.to_thread(copy.write, chunk)
            return await asyncio.to_thread(_pick_entries, job, path, is_wanted, limit)


def build_personal_import_files(ports: Ports) -> PersonalImportFiles:
    """Returns what searches uploaded files for a person."""
    return PersonalImportFiles(
        imports=ports.workspace.imports,
        storage=ports.export_storage,
        search=UploadedFileSearch(),
        clock=ports.clock,
    )


def _pick_entries(job: ImportJob, path: Path, is_wanted: Callable[[Any], bool], limit: int) -> list[Any]:
    try:
        return list(islice(filter(is_wanted, _read_rows_or_lines(job, path)), limit))
    except StartupError as fault:
        raise ImportRefused(str(fault)) from None
    except _UNREADABLE as fault:
        raise ImportRefused(f"The file cannot be read: {type(fault).__name__}.") from None


def _read_rows_or_lines(job: ImportJob, path: Path) -> Iterator[Any]:
    """Yields all rows with all columns, or all lines, JSON values where they are; a long line comes in pieces."""
    with path.open("rb") as file:
        start = file.read(len(_PARQUET_MAGIC))
    if start == _PARQUET_MAGIC or job.format is ImportFormat.CSV:
        from hosts.data_import.event_files import (  # noqa: PLC0415 - with it comes the data frame library
            read_event_file_by_suffix,
        )

        path = path.rename(path.with_suffix(".parquet" if start == _PARQUET_MAGIC else ".csv"))
        yield from (entry.body for entry in read_event_file_by_suffix(path, ""))
        return
    with gzip.open(path) if start.startswith(_GZIP_MAGIC) else path.open("rb") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            yield parse_body_or_text(line)
