"""An export of Touchpoint comes back with every column; files of other tools by a mapping that is printed first."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from typer.testing import CliRunner

from hosts.cli import app
from hosts.data_import.column_mapping import map_columns, parse_overrides
from hosts.data_import.enqueue import EventImporter
from hosts.data_import.event_files import read_event_file_by_suffix, read_header
from hosts.file_digest import sha256_of_file
from hosts.worker.consumer import build_ingest_pipeline
from hosts.worker.run_import import find_active_write_key
from service_core.ingestion.imported_rows import IMPORTED_COLUMNS_HEADER
from service_core.ingestion.models import WIRE_COLUMNS
from service_core.kernel.errors import StartupError
from tests.delivery.conftest import open_export_client
from tests.delivery.test_rows import RANGE, export_and_endpoint_rows, read_all_pages

NOON = datetime(2026, 7, 3, 12, tzinfo=UTC)


@pytest.fixture
async def export_client(tmp_path):
    async for client in open_export_client(tmp_path, "memory://"):
        yield client


async def import_into(client, name, file):
    """Imports a file into a workspace and stores what it brings."""
    ports = client.service.ports
    key = await find_active_write_key(ports.workspace.credentials, client.workspaces[name].public_id)
    digest = sha256_of_file(file)
    mapping = map_columns(read_event_file_by_suffix(file, digest), {}, read_header(file))
    importer = EventImporter(ports.queue, key, lambda: client.now)
    await importer.enqueue_in_batches(
        map(mapping.to_entry, read_event_file_by_suffix(file, digest)), lambda _: None
    )
    pipeline = build_ingest_pipeline(ports, client.service.settings)
    while await pipeline.process_batch():
        pass
    return importer.outcomes


def convert_to_parquet(file, form):
    """Writes an export as Parquet: CSV with text columns, NDJSON with numbers and flags; objects are JSON text."""
    if form == "csv":
        frame = pl.read_csv(file, infer_schema=False)
    else:
        rows = [json.loads(line) for line in file.read_text().split("\n") if line]
        as_text = [
            {name: json.dumps(cell) if isinstance(cell, dict | list) else cell for name, cell in row.items()}
            for row in rows
        ]
        frame = pl.DataFrame(as_text, infer_schema_length=None)
    for name in ("timestamp", "received_at"):
        frame = frame.with_columns(pl.col(name).str.to_datetime(time_unit="ms", time_zone="UTC"))
    converted = file.with_suffix(".parquet")
    frame.write_parquet(converted)
    return converted


@pytest.mark.parametrize("form", ["ndjson", "csv", "ndjson as parquet", "csv as parquet"])
async def test_own_export_is_restored_with_every_column(export_client, tmp_path, form):
    form, _, converted = form.partition(" as ")
    await export_and_endpoint_rows(export_client, size=60)
    bots = "include_bots=true"
    expected = await read_all_pages(export_client, f"events?{RANGE}&{bots}", "events")
    expected = [row for row in expected if row["visitor_id"].strip() == row["visitor_id"]]
    job = await export_client.export(format=form, filters={"include_bots": True})
    file = tmp_path / f"export.{form}"
    file.write_bytes((await export_client.ask("GET", job["download"]["url"], key=None)).body)
    if converted:
        file = convert_to_parquet(file, form)
    outcomes = await import_into(export_client, "other", file)
    assert outcomes["queued"] >= len(expected)
    # Both workspaces start their days at another hour: all of the days around are asked for.
    wide = "start_date=2026-06-30&end_date=2026-07-08"
    found = await read_all_pages(export_client, f"events?{wide}&{bots}", "events", key="other")
    restored = {row["event_id"]: row for row in found}
    assert restored.keys() >= {row["event_id"] for row in expected}
    for row in expected:
        again = restored[row["event_id"]]
        empty_texts = {name for name, value in row.items() if value == ""}
        for name in sorted(row.keys() - {"received_at"} - empty_texts):
            assert again[name] == row[name], (row["event_id"], name)


def test_objects_and_lists_of_a_parquet_file_are_restored_without_fields_of_other_rows(tmp_path):
    file = tmp_path / "export.parquet"
    columns = dict.fromkeys(WIRE_COLUMNS) | {"event_name": "signup", "visitor_id": "v1"}
    rows = [
        columns | {"event_id": "1", "event_data": {"plan": "pro", "n": None, "in": {"a": None}}, "bot_reasons": ["rate"]},
        columns | {"event_id": "2", "event_data": {"plan": None, "n": 2, "in": {"a": 1}}, "received_at": NOON},
    ]  # fmt: skip
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(file)
    mapping = map_columns(read_event_file_by_suffix(file, "d"), {}, read_header(file))
    assert mapping.is_export
    first, second = map(mapping.to_entry, read_event_file_by_suffix(file, "d"))
    assert first.body["properties"] == {"plan": "pro"}
    assert json.loads(first.headers[IMPORTED_COLUMNS_HEADER])["bot_reasons"] == ["rate"]
    assert second.body["properties"] == {"n": 2, "in": {"a": 1}}


FOREIGN = (
    "Event Name,Time,customer,Device ID,page_url,utm_source,revenue,currency,Plan,internal_note\n"
    "Signed up,2026-07-03T10:00:00Z,u1,d1,https://a.example/x?q=1,google,,,pro,secret\n"
    "Paid,2026-07-03T11:00:00Z,u1,d1,,,49.90,eur,pro,\n"
)


def test_columns_of_another_tool_become_fields(tmp_path):
    file = tmp_path / "other.csv"
    file.write_text(FOREIGN)
    mapping = map_columns(
        read_event_file_by_suffix(file, ""), parse_overrides(["user_id=customer", "properties.plan=Plan"])
    )
    assert mapping.unused == ("internal_note",)
    first, paid = (mapping.to_entry(entry).body for entry in read_event_file_by_suffix(file, ""))
    assert first == {
        "event": "Signed up", "timestamp": "2026-07-03T10:00:00Z", "user_id": "u1", "anonymous_id": "d1",
        "properties": {"url": "https://a.example/x?q=1", "utm_source": "google", "plan": "pro"},
    }  # fmt: skip
    assert paid["properties"] == {"value": "49.90", "currency": "eur", "plan": "pro"}


def test_names_inside_properties_of_another_tool_become_fields(tmp_path):
    file = tmp_path / "other.ndjson"
    properties = {
        "distinct_id": "d1",
        "time": 1783504800,
        "$insert_id": "i1",
        "$current_url": "https://a.example/",
    }
    file.write_text(json.dumps({"event": "Viewed", "properties": properties}) + "\n")
    mapping = map_columns(read_event_file_by_suffix(file, ""), {})
    (body,) = (mapping.to_entry(entry).body for entry in read_event_file_by_suffix(file, ""))
    assert body == {
        "event": "Viewed", "distinct_id": "d1", "timestamp": 1783504800, "event_id": "i1",
        "properties": properties | {"url": "https://a.example/"},
    }  # fmt: skip
    assert mapping.unused == ()


@pytest.mark.parametrize("reverse", [False, True])
def test_columns_fill_what_the_objects_of_a_row_do_not_have(tmp_path, reverse):
    file = tmp_path / "other.ndjson"
    columns = [
        ("event", "Viewed"), ("user_id", "u1"), ("url", "https://a.example/column"), ("utm_source", "bing"),
        ("event_properties", {"url": "https://a.example/object", "plan": "pro"}),
    ]  # fmt: skip
    file.write_text(json.dumps(dict(reversed(columns) if reverse else columns)) + "\n")
    mapping = map_columns(read_event_file_by_suffix(file, ""), {})
    (body,) = (mapping.to_entry(entry).body for entry in read_event_file_by_suffix(file, ""))
    assert body["properties"] == {"url": "https://a.example/object", "plan": "pro", "utm_source": "bing"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("customer", "write FIELD=COLUMN"),
        ("revenue=amount", "no field of an event"),
    ],
)
def test_mapping_of_another_form_is_refused(text, problem):
    with pytest.raises(StartupError, match=problem):
        parse_overrides([text])


def test_mapping_of_a_missing_column_names_the_columns(tmp_path):
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(StartupError, match=r"no column c\. It has a, b"):
        map_columns(read_event_file_by_suffix(file, ""), {"c": "user_id"})


def test_dry_run_prints_mapping_preview_and_unused_columns_and_imports_nothing(tmp_path):
    made = CliRunner().invoke(app, ["init", str(tmp_path / "shop"), "--json"])
    config = tmp_path / "shop" / json.loads(made.stdout)["config"]
    file = tmp_path / "other.csv"
    file.write_text(FOREIGN)
    arguments = ["import", "events", str(file), "--config", str(config), "--map", "user_id=customer"]
    shown = CliRunner().invoke(app, [*arguments, "--dry-run"])
    assert shown.exit_code == 0, shown.output
    for text in (
        "page_url",
        "properties.url",
        "Not used: Plan, internal_note",
        "Signed up",
        "user_id u1",
        "dry run",
    ):
        assert text in shown.output
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    assert "Events accepted" in again.output
    assert "Brought in before" not in again.output
