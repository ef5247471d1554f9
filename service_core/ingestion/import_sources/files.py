"""Files of import sources: text lines, NDJSON, CSV and Parquet, plain or gzip, recognized by their first bytes."""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from service_core.ingestion.import_sources.lines import MAX_LINE_BYTES, iterate_lines_and_cut_long_ones
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.kernel.errors import StartupError

EMPTY_LINE: Final = "empty line"
INVALID_JSON: Final = "invalid_json"
MALFORMED: Final = "malformed"
NOT_UTF8: Final = "not_utf8"
TOO_LONG: Final = "too_long"
WRONG_COLUMN_COUNT: Final = "wrong_column_count"

_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_SEPARATORS: Final = (",", ";", "\t")
_SNIFFED_BYTES: Final = 4096

ReadParquet = Callable[[Path], Iterator[tuple[Mapping[str, Any], int]]]
"""Yields the rows of a Parquet file with their share of its bytes; raises StartupError for a file that is none."""


class FileLine(NamedTuple):
    """One line of a text file: its text without the line end, or the problem that makes it unreadable.

    `byte_count` is how much of the file was read for it, of a gzip file in packed bytes.
    """

    text: str
    problem: str | None
    byte_count: int


class FileRow(NamedTuple):
    """One row: its cells by column, or the problem that makes it unreadable; the cells are empty then."""

    cells: Mapping[str, Any]
    problem: str | None
    byte_count: int


def _no_parquet(_: Path) -> Iterator[tuple[Mapping[str, Any], int]]:
    raise StartupError("The file is a Parquet file, which cannot be read here.")


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file that an import source reads from its start, as often as it wants.

    Attributes:
        path: the file; its name means nothing, since uploaded files have one of their own.
        read_parquet: reads a Parquet file.
    """

    path: Path
    read_parquet: ReadParquet = _no_parquet

    def lines(self) -> Iterator[FileLine]:
        """Yields the lines of a text file, plain or gzip.

        Raises:
            StartupError: the file is encoded in UTF-16, or its gzip data are damaged.
        """
        read_bytes = 0
        with self._open_unpacked() as (file, raw):
            for line in iterate_lines_and_cut_long_ones(file):
                position = raw.tell()  # of a packed file it moves by whole buffers
                yield _decode_line(line, position - read_bytes)
                read_bytes = position

    def rows(self) -> Iterator[FileRow]:
        """Yields the rows of an NDJSON, CSV or Parquet file.

        Raises:
            StartupError: the file is encoded in UTF-16, damaged, or a Parquet file that cannot be read.
        """
        with self._open_unpacked() as (file, _):
            start = cast("Any", file).peek(_SNIFFED_BYTES)[:_SNIFFED_BYTES]
        if start.startswith(_PARQUET):
            yield from (FileRow(row, None, byte_count) for row, byte_count in self.read_parquet(self.path))
        elif start.removeprefix(_UTF8_MARK).lstrip()[:1] in {b"{", b"["}:
            yield from map(_parse_json_line, self.lines())
        else:
            yield from _parse_csv(self.lines())

    def map_rows(self, map_row: Callable[[Mapping[str, Any]], ImportEntry]) -> Iterator[ImportEntry]:
        """Yields the entry that ``map_row`` makes of the cells of each row; a row that cannot be read is a difference.

        Raises:
            StartupError: see `rows`.
        """
        for row in self.rows():
            entry = map_row(row.cells) if row.problem is None else ImportEntry(None, row.problem)
            yield replace(entry, byte_count=row.byte_count)

    @contextmanager
    def _open_unpacked(self) -> Iterator[tuple[BufferedIOBase, BufferedIOBase]]:
        """Gives the unpacked content, and the file itself, whose position is how much of it is read."""
        try:
            with self.path.open("rb") as raw:
                packed = raw.peek(2).startswith(_GZIP)
                file: BufferedIOBase = cast("BufferedIOBase", gzip.GzipFile(fileobj=raw)) if packed else raw
                if cast("Any", file).peek(2)[:2] in _UTF16:
                    raise StartupError(
                        "The file is encoded in UTF-16. Convert it first, as in iconv -f UTF-16 -t UTF-8."
                    )
                yield file, raw
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise StartupError(
                "The gzip data of the file are damaged or cut off. Copy or export it again."
            ) from None


def _decode_line(line: bytes, byte_count: int) -> FileLine:
    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        return FileLine("", TOO_LONG, byte_count)
    try:
        return FileLine(line.removeprefix(_UTF8_MARK).decode().rstrip("\r\n"), None, byte_count)
    except UnicodeDecodeError:
        return FileLine(line.decode("latin-1").rstrip("\r\n"), NOT_UTF8, byte_count)


def _parse_json_line(line: FileLine) -> FileRow:
    if line.problem is None and not line.text.strip():
        return FileRow({}, EMPTY_LINE, line.byte_count)
    try:
        value = json.loads(line.text) if line.problem is None else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return FileRow(value, None, line.byte_count)
    return FileRow({}, line.problem or INVALID_JSON, line.byte_count)


class _CsvLines:
    """Gives lines to a CSV reader; remembers their bytes and the first problem until they are read as a row."""

    def __init__(self, lines: Iterable[FileLine]) -> None:
        self._lines = iter(lines)
        self._byte_count = 0
        self._problem: str | None = None

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._byte_count += line.byte_count
            self._problem = self._problem or line.problem
            yield line.text + "\n"

    def take_bytes_and_problem(self) -> tuple[int, str | None]:
        taken = self._byte_count, self._problem
        self._byte_count, self._problem = 0, None
        return taken


def _parse_csv(lines: Iterator[FileLine]) -> Iterator[FileRow]:
    first = next(lines, None)
    if first is None:
        return
    separator = max(_SEPARATORS, key=first.text.count)
    header = next(csv.reader([first.text], delimiter=separator), [])
    source = _CsvLines(lines)
    reader = csv.reader(source, delimiter=separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            byte_count, _ = source.take_bytes_and_problem()
            yield FileRow({}, MALFORMED, byte_count)
            continue
        byte_count, problem = source.take_bytes_and_problem()
        if problem is None and not cells:
            problem = EMPTY_LINE
        elif problem is None and len(cells) != len(header):
            problem = WRONG_COLUMN_COUNT
        named = (
            {} if problem else {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
        )
        yield FileRow(named, problem, byte_count)
