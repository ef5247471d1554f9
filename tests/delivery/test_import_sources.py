"""History of other tools by the API: its sheet, its mark, numbers without it, and its removal."""

from datetime import timedelta
from uuid import UUID

import pytest

from hosts.worker.consumer import build_ingest_pipeline
from hosts.worker.import_record import ImportedFile, ImportRecord
from hosts.worker.run_import import find_active_write_key_of_workspace
from service_core.delivery.imports.models import COMMAND_LIFETIME, LAST_BATCH_TIME
from service_core.delivery.imports.removal import ImportRemoval
from service_core.testing.event_builder import EventBuilder
from tests.delivery.import_client import open_import_shop
from tests.plugins.test_import_sources import POSTHOG, STRIPE

JULY = {"from": "2026-07-01", "to": "2026-07-07"}
NUMBERS = ["events", "visitors", "sessions", "conversions", "revenue", "refunds", "orders"]
NOT_IMPORTED = {"dimension": "import", "op": "eq", "value": "(not set)"}


@pytest.fixture
async def shop(tmp_path):
    async with open_import_shop(tmp_path) as client:
        builder = EventBuilder(client.workspaces["shop"].id)
        builder.add_event("page_view", at="2026-07-01T09:00", visitor="A1", session="s1")
        builder.add_event(
            "purchase", at="2026-07-01T10:00", visitor="A1", session="s1", revenue=900, order_id="o1"
        )
        await client.service.ports.events.append(builder.events)
        yield client


async def import_history(shop, source, content):
    """Imports a file and stores what it brings; returns the job."""
    job = await shop.imported(content, "source", source=source)
    pipeline = build_ingest_pipeline(shop.service.ports, shop.service.settings)
    while await pipeline.process_batch():
        pass
    return job


async def read_numbers(shop, *filters):
    body = {"metrics": NUMBERS, "date_range": JULY, "filters": list(filters)}
    return (await shop.ask("POST", "/v1/query", body)).json["totals"]


async def remove(shop, job, **body):
    return await shop.ask("POST", f"/v1/imports/{job['id']}/remove", body, key="writer")


async def complete_removals(shop):
    return await shop.service.ports.build_from_adapters(ImportRemoval).complete_requested_removals()


@pytest.mark.parametrize(("source", "content"), [("posthog", POSTHOG), ("stripe", STRIPE)])
async def test_history_is_left_out_by_its_dimension_and_removed_as_if_never_imported(shop, source, content):
    before = await read_numbers(shop)
    job = await import_history(shop, source, content)
    assert (await read_numbers(shop))["events"] > before["events"]
    assert await read_numbers(shop, NOT_IMPORTED) == before
    assert (await read_numbers(shop, {**NOT_IMPORTED, "value": job["id"]}))["events"] == 2
    planned = await remove(shop, job)
    assert (planned.status, planned.json) == (202, {"dry_run": True, "events": 2, "status": "completed"})
    assert (await remove(shop, job, dry_run=False)).json["status"] == "removing"
    await complete_removals(shop)
    assert await read_numbers(shop) == before
    removed = await shop.job(job["id"])
    assert (removed["status"], removed["removed_events"]) == ("removed", 2)
    assert (await remove(shop, job, dry_run=False)).json == {
        "dry_run": False,
        "events": 0,
        "status": "removed",
    }


async def test_sheet_of_a_job_adds_up_by_day(shop):
    job = await import_history(shop, "posthog", POSTHOG)
    assert [(d["day"], d["rows"], d["accepted"], d["differences"]) for d in job["days"]] == [
        ("2026-07-01", 1, 1, {}), ("2026-07-02", 2, 1, {"no_identity": 1}),
    ]  # fmt: skip
    assert sum(d["rows"] for d in job["days"]) == job["entry_count"]


async def test_removal_is_audited_and_the_file_comes_in_again(shop):
    first = await import_history(shop, "posthog", POSTHOG)
    imported = await read_numbers(shop)
    await remove(shop, first, dry_run=False)
    await complete_removals(shop)
    (entry,) = (await shop.ask("GET", "/v1/audit?resource_type=import")).json["entries"]
    assert (entry["action"], entry["resource"]["id"], entry["undoable"]) == ("delete", first["id"], False)
    assert entry["prior_state"]["accepted"] == 2
    again = await import_history(shop, "posthog", POSTHOG)
    assert (again["accepted"], again["duplicates"]) == (2, 0)
    assert await read_numbers(shop) == imported


async def test_file_that_comes_again_after_weeks_adds_nothing(shop):
    await import_history(shop, "posthog", POSTHOG)
    imported = await read_numbers(shop)
    shop.now += timedelta(days=20)
    again = await import_history(shop, "posthog", POSTHOG + b"\n")
    assert again["accepted"] == 2  # the queue has forgotten their ids; the store has not
    assert await read_numbers(shop) == imported


async def test_removal_and_its_audit_entry_are_one_transaction(shop):
    job = await import_history(shop, "posthog", POSTHOG)
    imports = shop.service.ports.workspace.imports
    before = await imports.find_import(UUID(job["id"]))
    with pytest.raises(AttributeError):
        await imports.replace_import_if_unchanged(before, before.begin_removal(shop.now), "no entry")
    assert (await shop.job(job["id"]))["status"] == "completed"


async def test_removal_waits_for_accepted_events_that_are_not_stored(shop):
    job = await shop.imported(POSTHOG, "source", source="posthog")
    await remove(shop, job, dry_run=False)
    assert await complete_removals(shop) == []
    pipeline = build_ingest_pipeline(shop.service.ports, shop.service.settings)
    while await pipeline.process_batch():
        pass
    assert [removed.removed_events for removed in await complete_removals(shop)] == [2]


@pytest.mark.parametrize(
    "policy",
    [
        {"plan_tokens": ["key"]},
        {
            "write_approvals": [
                {"credential": "key", "scope": "service:write:rules", "changes": "not_reversible"}
            ]
        },
    ],
)
async def test_program_whose_writes_are_held_back_neither_starts_nor_removes_an_import(shop, policy):
    job = await shop.ready(POSTHOG, "source", source="posthog")
    assert (await shop.ask("PATCH", "/v1/workspace", {"workspace": policy}, key="writer")).status == 200
    refused = [await shop.start(job["id"]), await remove(shop, job, dry_run=False)]
    assert [(each.status, each.json["code"]) for each in refused] == [(403, "role_required")] * 2
    assert (await shop.start(job["id"], dry_run=True)).status == 202


async def test_removal_needs_an_ended_import_of_the_own_workspace_and_the_scope(shop):
    ready = await shop.ready(POSTHOG, "source", source="posthog")
    refused = await remove(shop, ready, dry_run=False)
    assert (refused.status, refused.json["code"]) == (409, "wrong_import_status")
    path = f"/v1/imports/{ready['id']}/remove"
    assert (await shop.ask("POST", path, {}, key="shop")).status == 403
    assert (
        await shop.ask("POST", "/v1/imports/01980c0e-7f5e-7b1a-8d3c-5a3f0e6b9c21/remove", {}, key="writer")
    ).status == 404


@pytest.mark.parametrize(
    "body",
    [{"format": "source"}, {"format": "source", "source": "nothing"}, {"format": "csv", "source": "ga4"}],
)
async def test_format_source_needs_an_installed_source(shop, body):
    refused = await shop.ask("POST", "/v1/imports", body, key="writer")
    assert (refused.status, refused.json["field"]) == (422, "source")
    listed = (await shop.ask("GET", "/v1/imports")).json["sources"]
    assert {"ga4", "matomo", "mixpanel", "plausible", "posthog", "shopify", "stripe", "umami"} <= {
        s["id"] for s in listed
    }


async def test_events_without_a_usable_time_are_differences_and_not_of_today(shop):
    rows = POSTHOG.replace(b"2026-07-01T", b"2018-07-01T")
    job = await import_history(
        shop, "posthog", rows.replace(b'"timestamp": "2026-07-02T10:00:00.000Z", ', b"")
    )
    assert (job["accepted"], job["received_now"]) == (0, 0)
    assert job["left_out"] == {"before_2020": 1, "no_time": 1, "no_identity": 1}


async def test_file_that_is_in_adds_nothing_after_another_was_removed(shop):
    await import_history(shop, "posthog", POSTHOG)
    other = await import_history(shop, "posthog", POSTHOG.replace(b"0190-", b"0191-"))
    await remove(shop, other, dry_run=False)
    await complete_removals(shop)
    again = await import_history(shop, "posthog", POSTHOG)
    assert (again["accepted"], again["duplicates"]) == (0, 2)


async def test_removal_of_a_cancelled_import_waits_for_a_last_batch(shop):
    ready = await shop.ready(POSTHOG, "source", source="posthog")
    await shop.start(ready["id"])
    await shop.ask("POST", f"/v1/imports/{ready['id']}/cancel", key="writer")
    await remove(shop, ready, dry_run=False)
    assert await complete_removals(shop) == []
    shop.now += LAST_BATCH_TIME
    assert [str(job.id) for job in await complete_removals(shop)] == [ready["id"]]


async def test_import_of_a_command_that_died_fails_and_goes_on_when_it_runs_again(shop):
    """A running import holds erasures back."""
    ports, file = shop.service.ports, ImportedFile("digest")
    key = await find_active_write_key_of_workspace(ports.workspace.credentials, shop.workspaces["shop"].id)
    died = await ImportRecord.open_or_create(ports.workspace.imports, file, key, ports.clock)
    await shop.importer.end_timed_out_imports()
    assert (await shop.job(str(died.job.id)))["status"] == "running"
    shop.now += COMMAND_LIFETIME
    await shop.importer.end_timed_out_imports()
    assert (await shop.job(str(died.job.id)))["status"] == "failed"
    again = await ImportRecord.open_or_create(ports.workspace.imports, file, key, ports.clock)
    await again.complete()
    assert (await shop.job(str(died.job.id)))["status"] == "completed"
