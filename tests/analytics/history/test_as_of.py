"""Answers of an earlier instant are given again; what is not known of the instant is refused."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest
from typer.testing import CliRunner

from hosts.backup.create import create_backup
from hosts.cli.commands import app
from hosts.composition import past_operations
from hosts.composition.compose import load_installed_registry_once
from service_core.analytics.query.catalog import Catalog
from service_core.api.http_messages import ApiRequest
from tests.analytics.deployment import Deployment, WorkspaceClient, run_deployment
from tests.analytics.history.past_shop import HOUR, Shop, next_afternoon, query_text
from tests.commerce.ads.ad_spend_data import connect_ad_platform
from tests.fixtures.waiting import wait_until


@pytest.fixture
async def shop(tmp_path):
    """A deployment whose clock is ahead, because an event store knows nothing of the time before it."""
    async with run_deployment("duckdb", tmp_path) as served:
        served.now = next_afternoon()
        yield await Shop.open(served)


async def test_answers_of_an_instant_are_given_again_byte_for_byte(shop):
    shop.served.now -= HOUR
    first = await shop.answers()
    shop.served.now += HOUR
    await shop.receive_more()
    assert await shop.answers() != first
    assert await shop.answers(as_of=shop.moment) == first


async def test_receipt_of_an_instant_counts_the_records_of_then(shop):
    await shop.receive_more()
    dates = {"from": shop.span["start_date"], "to": shop.span["end_date"]}
    body = {
        "plan": {"metrics": ["visitors"], "date_range": dates},
        "metric": "visitors",
        "as_of": shop.moment,
    }
    receipt = await shop.owner.post("/receipts", body)
    assert (receipt["value"], receipt["counted"]["records"]) == (1, 1)
    assert datetime.fromisoformat(receipt["as_of"]) == datetime.fromisoformat(shop.moment)
    records = f"/receipts/{receipt['id']}/records"
    assert (await shop.owner.get(records, as_of=shop.moment))["unchanged"]
    assert not (await shop.owner.get(records))["unchanged"]


async def test_erasure_is_told_and_the_person_is_missing(shop):
    before = await shop.visitors(as_of=shop.moment)
    seqs = [event.seq for event in shop.story.events]
    await shop.served.service.ports.events.delete_events(shop.owner.workspace.id, seqs)
    answer = await shop.query("visitors", as_of=shop.moment)
    assert (before, answer["totals"]["visitors"]) == (1, 0)
    assert "erased" in answer["meta"]["warnings"][0]
    assert "warnings" not in (await shop.query("visitors"))["meta"]
    for accept in ("text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream"):
        file = await shop.query_file(accept, "visitors", as_of=shop.moment)
        assert (file.status, file.headers["X-Warnings"]) == (200, answer["meta"]["warnings"][0])
        assert "X-Warnings" in file.headers["Access-Control-Expose-Headers"].split(", ")
        if accept == "application/x-ndjson":
            assert orjson.loads(file.body.splitlines()[-1])["meta"]["warnings"] == answer["meta"]["warnings"]


async def test_instant_in_the_future_or_before_the_store_is_refused(shop):
    assert await shop.refused("yesterday") == (400, "invalid_parameter", None)
    assert await shop.refused("2026-07-01T10:00:00") == (400, "invalid_parameter", None)
    future = (shop.served.now + HOUR).isoformat()
    assert await shop.refused(future) == (400, "invalid_parameter", None)
    status, code, earliest = await shop.refused((shop.served.now - 30 * HOUR).isoformat())
    assert (status, code) == (400, "as_of_unavailable")
    assert await shop.visitors(as_of=earliest) == 0


async def test_postbacks_have_no_history_and_are_never_of_today(shop):
    await connect_ad_platform(shop.owner, "meta")
    shop.served.now += HOUR
    as_of = shop.served.now.isoformat()
    answer = await shop.query("visitors", "postbacks_sent", as_of=as_of)
    assert answer["totals"] == {"visitors": 1, "postbacks_sent": None}
    assert [item["reason"] for item in answer["meta"]["unavailable"]] == ["no_history"]
    assert await shop.refused(as_of, "/rules/deliveries") == (400, "as_of_unavailable", None)


async def test_another_workspace_does_not_see_the_restored_events(shop):
    other = Shop(shop.served, await shop.served.workspace())
    shop.served.now += HOUR
    as_of = shop.served.now.isoformat()
    assert (await shop.visitors(as_of=as_of), await other.visitors(as_of=as_of)) == (1, 0)
    assert (await other.refused(shop.moment))[:2] == (400, "as_of_unavailable")


async def test_table_after_an_erasure_is_given_with_the_warning_in_its_header(shop):
    seqs = [event.seq for event in shop.story.events]
    await shop.served.service.ports.events.delete_events(shop.owner.workspace.id, seqs)
    dates = {"from": shop.span["start_date"], "to": shop.span["end_date"]}
    body = orjson.dumps({"metrics": ["visitors"], "date_range": dates, "as_of": shop.moment})
    headers = {"authorization": f"Bearer {shop.owner.key}", "accept": "text/csv"}
    answer = await shop.served.service.dispatch(ApiRequest("POST", "/v1/query", "", headers, body))
    assert (answer.status, answer.body.splitlines()) == (200, [b"visitors", b"0"])
    assert "erased" in answer.headers["X-Warnings"]


async def test_kept_instant_is_read_while_another_one_is_restored(shop):
    assert await shop.visitors(as_of=shop.moment) == 1
    async with shop.served.service._past_operations._restoring:
        assert await asyncio.wait_for(shop.visitors(as_of=shop.moment), 20) == 1


async def test_instant_that_nobody_reads_is_closed(shop, monkeypatch):
    monkeypatch.setattr(past_operations, "_UNUSED_SECONDS", 0.0)
    assert await shop.visitors(as_of=shop.moment) == 1
    await wait_until(lambda: not shop.served.service._past_operations._restored)
    assert await shop.visitors(as_of=shop.moment) == 1


class Restarts:
    """A deployment that is started at the present, in one folder after the other."""

    def __init__(self, monkeypatch, folder):
        self.monkeypatch, self.folder, self.owner, self.moment = monkeypatch, folder, None, None

    async def earliest(self, folder=None, registry=None):
        """Starts the deployment; returns the earliest instant if that of the first start is refused."""
        self.monkeypatch.setattr(Deployment, "now", datetime.now(UTC))
        async with run_deployment("duckdb", folder or self.folder, registry) as served:
            self.owner = self.owner or await served.workspace()
            served.now = datetime.now(UTC)
            self.moment = self.moment or served.now
            client = WorkspaceClient(served.service, self.owner.workspace, self.owner.key)
            as_of = query_text({"as_of": self.moment.isoformat()})
            status, answer = await client.ask("GET", "/events/properties", as_of)
            assert (status, answer.get("code")) in ((200, None), (400, "as_of_unavailable")), answer
            return answer.get("earliest")


async def test_instant_before_other_definitions_of_metrics_is_refused(tmp_path, monkeypatch):
    started, registry = Restarts(monkeypatch, tmp_path), load_installed_registry_once()
    assert [await started.earliest() for _ in range(2)] == [None, None]
    metrics = registry.catalog.metrics
    changed = {**metrics, "visitors": replace(metrics["visitors"], version=metrics["visitors"].version + 1)}
    other = replace(registry, catalog=Catalog(changed, registry.catalog.dimensions))
    assert datetime.fromisoformat(await started.earliest(registry=other)) > started.moment


async def test_instant_before_a_restored_backup_is_refused(tmp_path, monkeypatch):
    folder, backup, restored = (tmp_path / name for name in ("shop", "backup", "restored"))
    started = Restarts(monkeypatch, folder)
    folder.mkdir()
    (folder / "touchpoint.toml").write_text(
        "[storage]\nevents = 'duckdb:///events.db'\nworkspace = 'sqlite:///workspace.db'\n"
        "[ingest]\nqueue = 'spool:///spool.db'\n"
    )
    assert await started.earliest() is None
    await asyncio.to_thread(create_backup, folder / "touchpoint.toml", backup)
    command = ["restore", str(backup), str(restored)]
    answer = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert answer.exit_code == 0, answer.output
    assert datetime.fromisoformat(await started.earliest(restored)) > started.moment
    assert await started.earliest() is None
