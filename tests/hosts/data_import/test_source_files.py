"""Parquet files of import sources: nested columns, and files that are none."""

import polars as pl
import pytest

from hosts.data_import.source_files import open_source_file
from service_core.kernel.errors import StartupError
from tests.plugins.test_import_sources import GA4, SOURCES


def test_parquet_gives_the_same_events_as_ndjson(tmp_path):
    lines, columns = tmp_path / "rows.json", tmp_path / "rows"
    lines.write_bytes(GA4)
    pl.read_ndjson(lines).write_parquet(columns)
    by_format = [
        [
            (entry.body, entry.skip_reason, entry.day)
            for entry in SOURCES["ga4"].read_entries(open_source_file(file))
        ]
        for file in (lines, columns)
    ]
    assert by_format[0] == by_format[1]
    assert by_format[0][0][0]["event"] == "page_view"


def test_broken_parquet_is_refused_with_a_sentence(tmp_path):
    file = tmp_path / "rows"
    file.write_bytes(b"PAR1" + b"x" * 100)
    with pytest.raises(StartupError, match="rows cannot be read"):
        list(open_source_file(file).rows())
