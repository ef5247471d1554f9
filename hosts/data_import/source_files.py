"""Opens files for import sources; reads Parquet with the data frame library."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hosts.data_import.event_files import ROWS_PER_BATCH, json_value_of_parquet_cell
from service_core.ingestion.import_sources.files import ImportFile
from service_core.kernel.errors import StartupError


def open_source_file(path: Path) -> ImportFile:
    """Returns a file as import sources read it."""
    return ImportFile(path, _read_parquet_rows)


def _read_parquet_rows(path: Path) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yields the rows of a Parquet file, a batch in memory at a time, with the types that JSON has."""
    import polars as pl  # noqa: PLC0415 - only this format needs it

    try:
        frame = pl.scan_parquet(path)
        height = frame.select(pl.len()).collect().item()
        share = path.stat().st_size // max(1, height)
        for start in range(0, height, ROWS_PER_BATCH):
            for row in frame.slice(start, ROWS_PER_BATCH).collect().iter_rows(named=True):
                cells = {
                    name: json_value_of_parquet_cell(cell) for name, cell in row.items() if cell is not None
                }
                yield cells, share
    except pl.exceptions.PolarsError as fault:
        raise StartupError(f"{path.name} cannot be read: {fault}") from None
