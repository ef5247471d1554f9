"""The lake: Parquet files of events by day, read by DuckDB and Polars without the service."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import duckdb
import polars as pl
import pytest
import yaml

from hosts.cli.dbt_sources import describe_dbt_sources, set_files_variable
from hosts.roles.tasks import build_person_erasure
from hosts.worker.export_formats import build_frame
from hosts.worker.lake import build_lake_writer
from service_core.delivery.lake.columns import EVENT_LAKE_COLUMNS
from service_core.delivery.lake.write_lake import LakeBusy, delete_lake
from service_core.privacy.models import request_erasure
from tests.delivery.conftest import ExportClient

HOUR = timedelta(hours=1)
EARLY = datetime(2026, 6, 1, tzinfo=UTC)


class LakeClient(ExportClient):
    """A deployment with a lake, and a reader of its files."""

    def __init__(self, folder, events, registry=None):
        super().__init__(folder, events, {"lake": {"storage": "local:///lake"}}, registry)
        self.writer = build_lake_writer(self.service.ports)
        self.builder = None

    @property
    def root(self):
        return self.folder / "lake" / self.workspaces["shop"].public_id

    @property
    def manifest(self):
        return json.loads((self.root / "manifest.json").read_text())

    @property
    def files(self):
        return {file["path"]: file["sha256"] for file in self.manifest["files"]}

    @property
    def stored(self):
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.glob("events/*/*.parquet"))

    async def write(self, **options):
        self.now += HOUR
        return await self.writer.write_lake(self.workspaces["shop"], **options)

    async def add(self, name, at, visitor, **columns):
        event = self.builder.add_event(name, at=at, visitor=visitor, **columns)
        await self.service.ports.events.append([event])

    def frame(self):
        paths = [self.root / path for path in self.files]
        return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in paths])

    def days(self):
        return {file["day"]: file["rows"] for file in self.manifest["files"]}


class SingleEvents:
    """Yields each event as a batch."""

    def __init__(self, streams):
        self.streams = streams

    async def stream_events_newest_first(self, scope, limit):
        async for batch in self.streams.stream_events_newest_first(scope, limit):
            for event in build_frame(EVENT_LAKE_COLUMNS, batch).iter_slices(1):
                yield event.to_dict(as_series=False)


@pytest.fixture(params=["memory://", "duckdb:///events.db?timeout_seconds=300"])
async def lake(request, tmp_path):
    client = LakeClient(tmp_path, request.param)
    async with client.service:
        await client.found("shop", timezone="America/New_York")
        await client.found("other")
        client.builder = client.story()
        await client.add("page_view", "2026-07-01T10:00", "V1", page_path="/a", received_at=EARLY)
        await client.add("page_view", "2026-07-02T03:30", "V1", is_bot=True)
        await client.add(
            "purchase", "2026-07-02T12:00", "V2", revenue=12345, currency="USD", event_data={"n": {"ö": 1}}
        )
        await client.add("purchase", "2026-07-03T12:00", "V3", revenue=-500, currency="JPY")
        yield client


async def test_files_hold_the_events_of_the_api_by_local_day(lake):
    await lake.write()
    assert lake.days() == {"2026-07-01": 2, "2026-07-02": 1, "2026-07-03": 1}
    assert all(
        path.startswith(f"events/date={day}/") for path, day in zip(lake.files, lake.days(), strict=True)
    )
    answer = await lake.ask(
        "GET", "/v1/events?start_date=2026-07-01&end_date=2026-07-07&include_bots=true&limit=100"
    )
    expected = {row["event_id"]: row for row in answer.json["events"]}
    rows = {row["event_id"]: row for row in lake.frame().to_dicts()}
    assert rows.keys() == expected.keys()
    for id_, row in rows.items():
        shown = expected[id_]
        assert list(row) == list(shown) == [column.name for column in EVENT_LAKE_COLUMNS]
        assert row["event_name"] == shown["event_name"]
        assert row["timestamp"].isoformat(timespec="milliseconds") == shown["timestamp"].replace(
            "Z", "+00:00"
        )
        assert (None if row["revenue"] is None else float(row["revenue"])) == shown["revenue"]
        assert json.loads(row["event_data"]) == shown["event_data"]
    assert {Decimal("123.4500"), Decimal("-500.0000"), None} == {row["revenue"] for row in rows.values()}


async def test_duckdb_counts_the_events_of_the_manifest_as_the_api_does(lake):
    await lake.write()
    connection = duckdb.connect()
    connection.execute(set_files_variable(str(lake.root)))
    source = describe_dbt_sources(str(lake.root))["sources"][0]["tables"][0]
    counted = connection.sql(
        f"select date, count(*) filter (not is_bot) from {source['meta']['external_location']} group by 1 order by 1"
    ).fetchall()
    plan = {
        "metrics": ["events"],
        "interval": "day",
        "date_range": {"from": "2026-07-01", "to": "2026-07-03"},
    }
    answer = await lake.ask("POST", "/v1/query", plan)
    assert [(str(day), count) for day, count in counted] == [
        (row["date"], row["events"]) for row in answer.json["rows"]
    ]


async def test_only_days_that_changed_are_written_again(lake, monkeypatch):
    await lake.write()
    before = lake.files
    storage = lake.service.ports.lake
    write_file, written = storage.write_file, []

    async def note_and_write(path, content):
        written.append(path.partition("/")[2])
        await write_file(path, content)

    monkeypatch.setattr(storage, "write_file", note_and_write)
    await lake.write()
    assert lake.files == before
    assert written == ["manifest.json"]
    await lake.add("page_view", "2026-07-02T20:00", "V4")
    await lake.write()
    changed = {path for path in lake.files if path not in before}
    assert [path.split("/")[1] for path in changed] == ["date=2026-07-02"]
    assert len(set(before) - set(lake.files)) == 1
    assert lake.stored == sorted(lake.files)


async def test_day_is_read_again_when_its_events_reach_seven_days(lake):
    days = set()

    class RecordedStreams(SingleEvents):
        def stream_events_newest_first(self, scope, limit):
            days.add(f"{scope.span.start:%m-%d}")
            return self.streams.stream_events_newest_first(scope, limit)

    lake.writer = replace(lake.writer, streams=RecordedStreams(lake.writer.streams))
    lake.now = datetime(2026, 7, 9, 5, tzinfo=UTC)
    await lake.write()
    assert days == {"07-01", "07-02", "07-03"}
    lake.now = datetime(2026, 7, 9, 12, tzinfo=UTC)
    days.clear()
    await lake.write()
    assert "07-02" in days
    assert "07-03" not in days


async def test_days_of_an_erased_person_are_written_without_the_person(lake):
    await lake.write()
    ports = lake.service.ports
    erasure = request_erasure(lake.workspaces["shop"].id, "V2", "an owner", lake.now)
    await ports.workspace.erasures.save_erasure(erasure)
    lake.now += HOUR
    await build_person_erasure(ports).complete_requested_removals()
    # An event of another person on the same day leaves the count of the day as it was.
    await lake.add("page_view", "2026-07-02T13:00", "V9", received_at=EARLY)
    lake.now += timedelta(minutes=1)
    await lake.writer.write_due_lakes(timedelta(days=9))
    assert lake.manifest["rows"] == 4
    visitors = set(lake.frame()["visitor_id"])
    assert visitors == {"V1", "V3", "V9"}
    assert lake.stored == sorted(lake.files)


async def test_full_check_writes_files_that_were_deleted(lake):
    await lake.write()
    lost = lake.root / lake.stored[0]
    lost.unlink()
    lake.now += timedelta(days=1)
    await lake.write()
    assert lost.exists()
    assert lake.stored == sorted(lake.files)


async def test_full_check_removes_files_of_an_interrupted_run(lake):
    await lake.write()
    orphan = lake.root / "events" / "date=2020-01-01" / "x.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(b"x")
    await lake.write()
    assert orphan.exists()
    lake.now += timedelta(days=1)
    await lake.write()
    assert not orphan.parent.exists()
    assert lake.stored == sorted(lake.files)


async def test_reader_sees_the_old_lake_until_the_manifest_is_replaced(lake, monkeypatch):
    await lake.write()
    before = lake.manifest
    await lake.add("page_view", "2026-07-02T20:00", "V4")
    storage = lake.service.ports.lake
    write_file = storage.write_file

    async def fail_at_manifest(path, content):
        if path.endswith("manifest.json"):
            raise OSError("full")
        await write_file(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(storage, "write_file", fail_at_manifest)
        with pytest.raises(OSError, match="full"):
            await lake.write()
    assert lake.manifest == before
    assert lake.frame().height == 4
    await lake.write()
    assert lake.frame().height == 5


async def test_workspaces_have_lakes_of_their_own(lake):
    other = lake.story("other")
    other.add_event("secret", at="2026-07-02T10:00", visitor="V1")
    await lake.keep(other)
    written = await lake.writer.write_due_lakes(HOUR)
    assert {manifest.workspace_id for manifest in written} == {
        workspace.public_id for workspace in lake.workspaces.values()
    }
    assert "secret" not in set(lake.frame()["event_name"])
    assert await lake.writer.write_due_lakes(HOUR) == []
    await delete_lake(lake.service.ports.lake, lake.workspaces["shop"])
    assert not lake.root.exists() or not list(lake.root.rglob("*.*"))


async def test_lake_that_cannot_be_written_holds_up_no_other(lake, caplog):
    shop, other = (lake.workspaces[name].public_id for name in ("shop", "other"))
    (lake.folder / "lake" / shop).write_bytes(b"in the way")
    written = await lake.writer.write_due_lakes(HOUR)
    assert [manifest.workspace_id for manifest in written] == [other]
    assert f"the lake of workspace {shop} was not written" in caplog.text


async def test_one_process_at_a_time_writes_a_lake(lake):
    ports = lake.service.ports
    shop = lake.workspaces["shop"]
    await ports.workspace.sync_leases.acquire_or_renew_lease(
        shop.id, "lake", lake.workspaces["other"].id, lake.now, lake.now + 3 * HOUR
    )
    with pytest.raises(LakeBusy):
        await lake.write()


@pytest.mark.parametrize("limit", ["rows_per_file", "bytes_per_file"])
async def test_large_days_have_several_files(lake, limit):
    writer = replace(lake.writer, streams=SingleEvents(lake.writer.streams), **{limit: 1})
    manifest = await writer.write_lake(lake.workspaces["shop"])
    assert len(manifest.files) == 4
    assert manifest.row_count == 4
    assert lake.frame().height == 4


async def test_manifest_names_columns_definitions_and_what_is_left_out(lake):
    await lake.write()
    manifest = lake.manifest
    assert manifest["left_out"] == {"superseded": 0}
    assert manifest["timezone"] == "America/New_York"
    assert manifest["as_of"] == "2026-07-08T16:00:00.000Z"
    assert {column["name"]: column["type"] for column in manifest["columns"]}["revenue"] == "decimal(38, 4)"
    assert all(column["description"] for column in manifest["columns"])
    required = [column["name"] for column in manifest["columns"] if column["required"]]
    assert all(lake.frame()[name].null_count() == 0 for name in required)


def test_dbt_source_is_yaml_with_every_column():
    described = describe_dbt_sources("s3://bucket/lake/W1/")
    assert yaml.safe_load(yaml.safe_dump(described, sort_keys=False)) == described
    table, payments, spend = described["sources"][0]["tables"]
    assert "tables.payments.files" in payments["meta"]["on_run_start"]
    assert [column["name"] for column in spend["columns"]][:2] == ["date", "platform"]
    names = [column["name"] for column in table["columns"]]
    assert names == ["date", *(column.name for column in EVENT_LAKE_COLUMNS)]
    assert {"name": "event_id", "tests": ["not_null"]}.items() <= table["columns"][1].items()
    assert table["loaded_at_field"] in names
    assert set(table["freshness"]) == {"warn_after", "error_after"}
    assert "s3://bucket/lake/W1/manifest.json" in table["meta"]["on_run_start"]
