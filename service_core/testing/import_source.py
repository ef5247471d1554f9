"""The conformance kit of import sources: recorded files, damaged ones, long lines, other encodings, and memory.

Write a small file as the product exports it, and override the fixture ``harness``; pytest needs
``asyncio_mode = "auto"``::

    class TestMySource(ImportSourceConformance):
        @pytest.fixture
        def harness(self):
            return ImportSourceHarness(MySource(), FILE, {"2026-07-01": {"queued": 2}})
"""

import gzip
import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from service_core.ingestion.import_sources.files import ImportFile
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.ingestion.import_sources.read_source import read_source_with_row_ids
from service_core.ingestion.import_sources.reconciliation import add_row_outcomes_by_day
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.validation import validate_name_and_identity
from service_core.kernel.errors import StartupError

_ACCEPTED: Final = "queued"
_GARBAGE: Final = (
    b"",
    b"\n",
    b"\x00\xff\xfe\x00",
    b"{",
    b"[]",
    b'{"a":',
    b"PAR1",
    b"\x1f\x8b\x08broken",
    b"a,b\n1\n",
)
_FEW_ROWS: Final = 50
_MANY_ROWS: Final = 400
_MEMORY_BYTES: Final = 300_000
_GROWTH_BYTES: Final = 100_000
_LONG_LINE_BYTES: Final = 3_000_000


@dataclass(frozen=True)
class ImportSourceHarness:
    """An import source, a file as the product exports it, and what becomes of its rows.

    Attributes:
        content: bytes of the file, with at least one row that becomes no event if the product has such rows.
        days: day, empty without one -> outcome (``queued`` for events, else the difference) -> number of rows.
        row: one line of the file that is repeated in a large one; None for a file that has no lines.
        last_line: a line that must end the file, such as the end of a dump.
    """

    source: ImportSource
    content: bytes
    days: Mapping[str, Mapping[str, int]]
    row: bytes | None = None
    last_line: bytes = b""


class ImportSourceConformance:
    """What every import source keeps. Override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> ImportSourceHarness:
        """The import source under test and its file."""
        raise pytest.UsageError("override the fixture `harness` with the import source under test")

    def test_declaration_is_complete(self, harness: ImportSourceHarness) -> None:
        """The id is in lower case with underscores; label, files and homepage are given."""
        info = harness.source.info
        assert info.id == info.id.lower()
        assert info.id.replace("_", "").isalnum()
        assert info.label
        assert info.files
        assert info.homepage.startswith("https://")

    def test_every_row_is_an_event_or_a_named_difference_of_its_day(
        self, harness: ImportSourceHarness, tmp_path: Path
    ) -> None:
        """Every row of the file is an event or a named difference, on the day the harness says."""
        entries = _read(harness, harness.content, tmp_path)
        assert add_row_outcomes_by_day({}, entries, map(_outcome, entries)) == harness.days

    def test_packed_file_and_byte_order_mark_change_nothing(
        self, harness: ImportSourceHarness, tmp_path: Path
    ) -> None:
        """A gzip file, and one with a byte order mark, give the same entries."""
        entries = [_essence(entry) for entry in _read(harness, harness.content, tmp_path)]
        for content in (gzip.compress(harness.content), b"\xef\xbb\xbf" + harness.content):
            assert [_essence(entry) for entry in _read(harness, content, tmp_path)] == entries

    def test_row_ids_are_the_same_each_time_and_different_for_each_row(
        self, harness: ImportSourceHarness, tmp_path: Path
    ) -> None:
        """A row has the same event id each time the file is read, and no two rows have the same."""
        first, second = (_read(harness, harness.content, tmp_path) for _ in range(2))
        ids = [_event_id(entry) for entry in first if entry.body is not None]
        assert ids == [_event_id(entry) for entry in second if entry.body is not None]
        assert len(set(ids)) == len(ids)

    def test_garbage_is_a_difference_or_refused_with_a_sentence(
        self, harness: ImportSourceHarness, tmp_path: Path
    ) -> None:
        """A damaged file gives entries with a reason, or raises `StartupError`; nothing else is raised."""
        for content in (*_GARBAGE, *_damage(harness.content)):
            try:
                entries = _read(harness, content, tmp_path)
            except StartupError:
                continue
            assert all(entry.body is not None or entry.skip_reason for entry in entries), content

    def test_utf16_is_refused_with_what_to_do(self, harness: ImportSourceHarness, tmp_path: Path) -> None:
        """A file in UTF-16 is refused with a sentence that names the encoding."""
        content = harness.content.decode("latin-1").encode("utf-16")
        with pytest.raises(StartupError, match="UTF-16"):
            _read(harness, content, tmp_path)

    def test_line_that_is_too_long_is_one_difference_and_the_others_stay(
        self, harness: ImportSourceHarness, tmp_path: Path
    ) -> None:
        """A line of megabytes is one difference, and every other row stays as it was."""
        if harness.row is None:
            return
        long = harness.row.rstrip(b"\n") + b"x" * _LONG_LINE_BYTES + b"\n"
        before = _read(harness, _with_rows(harness, b""), tmp_path)
        after = _read(harness, _with_rows(harness, long), tmp_path)
        assert len(after) == len(before) + 1
        assert sum(entry.body is not None for entry in after) == sum(e.body is not None for e in before)

    def test_large_file_is_read_row_by_row(self, harness: ImportSourceHarness, tmp_path: Path) -> None:
        """Memory does not grow with the file."""
        if harness.row is None:
            return
        _read(harness, harness.content, tmp_path)  # loads what is loaded once
        few, many = (_peak_bytes(harness, count, tmp_path) for count in (_FEW_ROWS, _MANY_ROWS))
        assert many < _MEMORY_BYTES
        assert many - few < _GROWTH_BYTES


def _peak_bytes(harness: ImportSourceHarness, row_count: int, folder: Path) -> int:
    """Returns the memory that reading a file with this many more rows takes at most."""
    assert harness.row is not None
    file = folder / "large"
    file.write_bytes(_with_rows(harness, harness.row * row_count))
    tracemalloc.start()
    try:
        entry_count = sum(1 for _ in read_source_with_row_ids(harness.source, ImportFile(file), "d"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert entry_count >= row_count
    return peak


def _with_rows(harness: ImportSourceHarness, rows: bytes) -> bytes:
    return harness.content.removesuffix(harness.last_line) + rows + harness.last_line


def _read(harness: ImportSourceHarness, content: bytes, folder: Path) -> list[ImportEntry]:
    file = folder / "file"
    file.write_bytes(content)
    return list(read_source_with_row_ids(harness.source, ImportFile(file), "0" * 64))


def _essence(entry: ImportEntry) -> tuple[object, ...]:
    return entry.body, entry.skip_reason, entry.event_id, entry.day, entry.further_bodies


def _event_id(entry: ImportEntry) -> object:
    return (entry.body or {}).get("event_id") or entry.event_id


def _outcome(entry: ImportEntry) -> str:
    if entry.body is None:
        return entry.skip_reason or ""
    verdict = validate_name_and_identity(entry.body)
    return verdict.value if isinstance(verdict, RejectionReason) else _ACCEPTED


def _damage(content: bytes) -> Iterator[bytes]:
    """Yields a file cut at several places, with its bytes flipped there, and with its quotes removed."""
    for part in range(1, 8):
        place = len(content) * part // 8
        yield content[:place]
        yield content[:place] + b"\xff\x00" + content[place + 2 :]
    yield content.replace(b'"', b"")
