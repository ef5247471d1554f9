"""Reads files of events: NDJSON, CSV and Parquet, one `/track` body per line or row.

In CSV and Parquet a column ``properties.plan`` is the field ``plan`` of ``properties``. Empty cells
are absent fields. A row without an event id gets one of the file's digest and its number.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import orjson

from service_core.ingestion.import_sources.lines import iterate_lines_and_cut_long_ones
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.imported_rows import is_touchpoint_export
from service_core.kernel.errors import StartupError
from service_core.kernel.file_response import FORMULA_STARTS

ROWS_PER_BATCH: Final = 10_000
FORMATS: Final = (".ndjson", ".jsonl", ".csv", ".parquet")


def read_event_file_by_suffix(path: Path, sha256: str) -> Iterator[ImportEntry]:
    """Yields the entries of a file of events, in order.

    Raises:
        StartupError: a format that is not known, or a file that cannot be read as it.
    """
    suffix = path.suffix.lower()
    if suffix in {".ndjson", ".jsonl"}:
        return _assign_ids_from_digest_and_position(_read_ndjson_with_skipped_lines(path), sha256)
    if suffix in {".csv", ".parquet"}:
        return _assign_ids_from_digest_and_position(_read_csv_or_parquet(path), sha256)
    raise StartupError(f"{path.name}: known formats are {', '.join(FORMATS)}. Rename or convert the file.")


def read_header(path: Path) -> tuple[str, ...]:
    """Returns the columns of a CSV or Parquet file; none for another format or a file that cannot be read."""
    import polars as pl  # noqa: PLC0415 - only these two formats need it

    if path.suffix.lower() not in {".csv", ".parquet"}:
        return ()
    try:
        is_csv = path.suffix.lower() == ".csv"
        frame = pl.scan_csv(path, infer_schema=False) if is_csv else pl.scan_parquet(path)
        return tuple(frame.collect_schema())
    except pl.exceptions.PolarsError:
        return ()


def _assign_ids_from_digest_and_position(
    entries: Iterator[ImportEntry], sha256: str
) -> Iterator[ImportEntry]:
    for number, entry in enumerate(entries):
        yield ImportEntry(
            entry.body, entry.skip_reason, f"import:{sha256[:32]}:{number}", byte_count=entry.byte_count
        )


def _read_ndjson_with_skipped_lines(path: Path) -> Iterator[ImportEntry]:
    with path.open("rb") as file:
        for line in iterate_lines_and_cut_long_ones(file):
            if line.isspace():
                yield ImportEntry(None, "empty line", byte_count=len(line))
                continue
            try:
                body = orjson.loads(line)
            except orjson.JSONDecodeError:
                body = None
            skipped = None if isinstance(body, dict) else "invalid_json"
            yield ImportEntry(body if skipped is None else None, skipped, byte_count=len(line))


def _read_csv_or_parquet(path: Path) -> Iterator[ImportEntry]:
    import polars as pl  # noqa: PLC0415 - only these two formats need it

    try:
        is_csv = path.suffix.lower() == ".csv"
        frame = pl.scan_csv(path, infer_schema=False) if is_csv else pl.scan_parquet(path)
        is_escaped = is_csv or _is_export_converted_from_csv(frame.collect_schema())
        height = frame.select(pl.len()).collect().item()
        share = path.stat().st_size / max(1, height)
        for start in range(0, height, ROWS_PER_BATCH):
            for row in frame.slice(start, ROWS_PER_BATCH).collect().iter_rows(named=True):
                cells = map(_unescape_formula, row.items()) if is_escaped else row.items()
                yield ImportEntry(_row_to_nested_body_with_parsed_cells(dict(cells)), byte_count=int(share))
    except pl.exceptions.PolarsError as fault:
        raise StartupError(f"{path.name} cannot be read: {fault}") from None


def _is_export_converted_from_csv(schema: Mapping[str, Any]) -> bool:
    """Returns whether a Parquet file has the columns of an export, and its objects as text, as they are in CSV."""
    return is_touchpoint_export(frozenset(schema)) and str(schema["event_data"]) == "String"


def _unescape_formula(named_cell: tuple[str, Any]) -> tuple[str, Any]:
    """Returns a cell without the apostrophe that exports put before a text that a spreadsheet would run."""
    name, cell = named_cell
    escaped = isinstance(cell, str) and cell.startswith("'") and cell[1:2] in FORMULA_STARTS
    return name, cell[1:] if escaped else cell


def _row_to_nested_body_with_parsed_cells(row: dict[str, Any]) -> dict[str, Any]:
    """Converts a row to a body; text cells that are JSON objects or lists are parsed."""
    body: dict[str, Any] = {}
    for column, cell in row.items():
        if cell is None or cell == "":
            continue
        *outer, name = column.split(".")
        target = body
        for step in outer:
            target = target.setdefault(step, {})
            if not isinstance(target, dict):
                break
        else:
            target[name] = _parse_json_or_date_cell(cell)
    return body


def _without_absent_fields(value: Any) -> Any:
    """Returns an object of a Parquet file without the fields that only objects of other rows have, which are null there."""
    if isinstance(value, list):
        return [_without_absent_fields(item) for item in value]
    if not isinstance(value, dict):
        return value.isoformat() if hasattr(value, "isoformat") else value
    fields = {name: _without_absent_fields(field) for name, field in value.items() if field is not None}
    return {name: field for name, field in fields.items() if field != {}}


def _parse_json_or_date_cell(cell: Any) -> Any:
    if isinstance(cell, str) and cell[:1] in {"{", "["}:
        try:
            return json.loads(cell)
        except ValueError:
            return cell
    return json_value_of_parquet_cell(cell)


def json_value_of_parquet_cell(cell: Any) -> Any:
    """Returns a cell with the types that JSON has: decimals and times as text, objects without absent fields."""
    if isinstance(cell, Decimal):
        return str(cell)
    if isinstance(cell, dict | list):
        return _without_absent_fields(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else cell
