"""Files of events become the bodies `/track` would have received."""

import gzip

import polars as pl
import pytest

from hosts.data_import.access_logs import read_access_log_with_skipped_lines
from hosts.data_import.checkpoint import ImportCheckpoint
from hosts.data_import.event_files import read_event_file_by_suffix
from hosts.file_digest import sha256_of_file
from service_core.kernel.errors import StartupError


def read_bodies(path):
    return [entry.body for entry in read_event_file_by_suffix(path, sha256_of_file(path))]


def test_ndjson_line_becomes_a_body(tmp_path):
    file = tmp_path / "events.ndjson"
    file.write_text('{"event": "a", "user_id": 1}\n\n[1]\nno json\n{"event": "b"}\n')
    entries = list(read_event_file_by_suffix(file, "d" * 64))
    assert [entry.body for entry in entries] == [
        {"event": "a", "user_id": 1},
        None,
        None,
        None,
        {"event": "b"},
    ]
    assert [entry.skip_reason for entry in entries] == [
        None,
        "empty line",
        "invalid_json",
        "invalid_json",
        None,
    ]
    assert sum(entry.byte_count for entry in entries) == file.stat().st_size


def test_dotted_columns_become_nested_fields(tmp_path):
    file = tmp_path / "events.csv"
    file.write_text(
        'event,user_id,properties.plan,properties.value,external_ids\nbuy,u1,pro,49.90,"{""crm"": ""7""}"\nsee,u2,,,\n'
    )
    assert read_bodies(file) == [
        {
            "event": "buy",
            "user_id": "u1",
            "properties": {"plan": "pro", "value": "49.90"},
            "external_ids": {"crm": "7"},
        },
        {"event": "see", "user_id": "u2"},
    ]


def test_parquet_equals_csv(tmp_path):
    file = tmp_path / "events.parquet"
    pl.DataFrame({"event": ["a", "b"], "user_id": ["1", None], "properties.n": [3, None]}).write_parquet(file)
    assert read_bodies(file) == [{"event": "a", "user_id": "1", "properties": {"n": 3}}, {"event": "b"}]


def test_same_row_has_the_same_id_every_time(tmp_path):
    file = tmp_path / "events.ndjson"
    file.write_text('{"event": "a"}\n{"event": "a"}\n')
    first, again = (
        [entry.event_id for entry in read_event_file_by_suffix(file, sha256_of_file(file))] for _ in range(2)
    )
    assert first == again
    assert len(set(first)) == 2


def test_unknown_format_error_lists_known_formats(tmp_path):
    file = tmp_path / "events.xlsx"
    file.write_text("")
    with pytest.raises(StartupError, match=r"\.ndjson, \.jsonl, \.csv, \.parquet"):
        read_event_file_by_suffix(file, "d" * 64)


def test_file_with_the_wrong_suffix_is_reported(tmp_path):
    file = tmp_path / "events.parquet"
    file.write_text("not parquet")
    with pytest.raises(StartupError, match=r"events\.parquet cannot be read"):
        read_bodies(file)


def test_import_bookmark_identifies_files_by_content(tmp_path):
    ImportCheckpoint(tmp_path, "one").advance_and_save(700)
    ImportCheckpoint(tmp_path, "two").advance_and_save(5)
    again = ImportCheckpoint(tmp_path, "one")
    again.advance_and_save(300)
    assert [ImportCheckpoint(tmp_path, name).done_entries for name in ("one", "two", "three")] == [1000, 5, 0]


def test_access_log_whose_gzip_is_cut_off_is_refused_with_a_sentence(tmp_path):
    file = tmp_path / "access.log.gz"
    lines = b"".join(
        b'198.51.100.7 - - [01/Jul/2026:10:00:00 +0000] "GET /%d HTTP/1.1" 200 1 "-" "Mozilla/5.0"\n' % n
        for n in range(2_000)
    )
    file.write_bytes(gzip.compress(lines)[:-900])
    with pytest.raises(StartupError, match=r"access\.log\.gz are damaged or cut off"):
        list(read_access_log_with_skipped_lines(file, "https://a.example"))
