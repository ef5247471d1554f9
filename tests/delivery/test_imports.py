"""Import jobs: created, checked, started, followed, cancelled; and how workers share them."""

import gzip
from datetime import timedelta
from uuid import UUID

import pytest

from hosts.worker import export_worker
from service_core.delivery.imports.models import (
    MAX_ATTEMPTS,
    READY_LIFETIME,
    UPLOAD_LIFETIME,
    ImportProgress,
)
from tests.delivery.import_client import CSV, LOG, open_import_shop


@pytest.fixture
async def shop(tmp_path):
    async with open_import_shop(tmp_path) as client:
        yield client


async def test_file_is_checked_before_anything_is_imported(shop):
    job = await shop.ready(
        file_name="Sign-ups.csv", columns={"customer": "user_id", "Plan": "properties.plan"}
    )
    assert (job["status"], job["file_name"], job["byte_count"]) == ("ready", "Sign-ups.csv", len(CSV))
    preview = job["preview"]
    fields = {target["column"]: target["field"] for target in preview["columns"]}
    assert fields == {
        "event": "event", "time": "timestamp", "customer": "user_id", "Plan": "properties.plan",
    }  # fmt: skip
    assert (preview["unused"], preview["counts"]) == (["Notes"], {"queued": 2})
    assert preview["events"][0]["user_id"] == "u1"
    assert preview["events"][0]["properties"] == {"plan": "pro"}
    assert await shop.bodies() == []
    assert [name.startswith(f"import-{job['id']}-") for name in shop.stored_files()] == [True]


async def test_started_import_counts_each_row_by_what_became_of_it(shop):
    rows = (
        CSV
        + b"signup,2026-07-01T12:00:00Z,,free,c\n,2026-07-01T12:00:00Z,u4,free,d\nsignup,2001-01-01,u5,free,e\n"
    )
    job = await shop.imported(rows, columns={"customer": "user_id"})
    assert (job["status"], job["accepted"], job["duplicates"]) == ("completed", 3, 0)
    assert job["left_out"] == {"no_identity": 1, "no_event_name": 1}
    assert (job["entry_count"], job["received_now"]) == (5, 1)
    assert [body["user_id"] for body in await shop.bodies()] == ["u1", "u2", "u5"]
    assert job["preview"]["events"] == []
    assert shop.stored_files() == []
    again = await shop.imported(rows, columns={"customer": "user_id"})
    assert (again["accepted"], again["duplicates"]) == (0, 3)


async def test_access_log_is_imported_plain_and_packed(shop):
    job = await shop.imported(LOG, "access_log", site="https://shop.example")
    assert (job["accepted"], job["left_out"]) == (1, {"asset": 1, "malformed": 1})
    assert (await shop.bodies())[0]["properties"]["url"] == "https://shop.example/pricing"
    packed = await shop.imported(gzip.compress(LOG), "access_log", site="https://shop.example")
    assert (packed["accepted"], packed["duplicates"]) == (0, 1)


async def test_mapping_is_changed_by_another_check(shop):
    job = await shop.ready()
    assert job["preview"]["counts"] == {"no_identity": 2}
    refused = await shop.start(job["id"], columns={"customer": "user_id"})
    assert (refused.status, refused.json["code"]) == (422, "invalid_field")
    checked = await shop.start(job["id"], dry_run=True, columns={"customer": "user_id"})
    assert (checked.status, checked.json["status"]) == (202, "checking")
    await shop.work()
    assert (await shop.job(job["id"]))["preview"]["counts"] == {"queued": 2}


@pytest.mark.parametrize(
    ("content", "kind", "columns", "words"),
    [
        (b"\x00\x01PAR", "parquet", {}, "cannot be read"),
        (CSV, "csv", {"nobody": "user_id"}, "The file has no column nobody"),
    ],
)
async def test_file_that_cannot_be_read_fails_with_the_reason(shop, content, kind, columns, words):
    job = await shop.ready(content, kind, columns=columns)
    assert (job["status"], words in job["error"]) == ("failed", True)
    assert shop.stored_files() == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"format": "access_log"}, "site"),
        ({"format": "access_log", "site": "javascript:x"}, "site"),
        ({"format": "csv", "columns": {"a": "nonsense"}}, "columns"),
    ],
)
async def test_request_that_no_file_could_satisfy_is_refused(shop, body, field):
    refused = await shop.ask("POST", "/v1/imports", body, key="writer")
    assert (refused.status, refused.json["code"], refused.json["field"]) == (422, "invalid_field", field)


async def test_scope_to_write_rules_is_needed_to_import_and_not_to_look(shop):
    job = await shop.ready()
    for method, path in (("POST", ""), ("POST", f"/{job['id']}/start"), ("POST", f"/{job['id']}/cancel")):
        refused = await shop.ask(method, f"/v1/imports{path}", {"format": "csv"}, key="shop")
        assert (refused.status, refused.json["code"]) == (403, "insufficient_scope")
    assert (await shop.job(job["id"], key="shop"))["status"] == "ready"
    waiting = (await shop.create()).json
    assert (await shop.job(waiting["id"], key="shop"))["upload"] is None
    assert (await shop.job(waiting["id"]))["upload"]["url"]


async def test_import_of_another_workspace_does_not_exist(shop):
    job = await shop.ready()
    assert (await shop.ask("GET", f"/v1/imports/{job['id']}", key="other")).status == 404
    assert (await shop.ask("GET", "/v1/imports", key="other")).json["imports"] == []
    assert [one["id"] for one in (await shop.ask("GET", "/v1/imports")).json["imports"]] == [job["id"]]


async def test_sixth_open_import_is_refused(shop):
    for _ in range(5):
        assert (await shop.create()).status == 201
    refused = await shop.create()
    assert (refused.status, refused.json["code"]) == (429, "too_many_imports")


async def test_cancelled_import_stops_at_its_next_batch(shop, monkeypatch):
    monkeypatch.setattr("hosts.data_import.enqueue.MAX_CONCURRENT", 1)
    job = await shop.ready(columns={"customer": "user_id"})
    await shop.start(job["id"])
    imports, saved = shop.service.ports.workspace.imports, []
    replace = imports.replace_import_if_unchanged

    async def cancel_after_first_batch(before, after):
        done = await replace(before, after)
        if after.entry_count == 1 and not saved:
            saved.append(after)
            cancelled = await shop.ask("POST", f"/v1/imports/{job['id']}/cancel", key="writer")
            assert cancelled.json["status"] == "cancelled"
        return done

    monkeypatch.setattr(
        type(imports), "replace_import_if_unchanged", lambda _, b, a: cancel_after_first_batch(b, a)
    )
    await shop.work()
    ended = await shop.job(job["id"])
    assert (ended["status"], ended["accepted"]) == ("cancelled", 1)
    assert shop.stored_files() == []
    again = await shop.ask("POST", f"/v1/imports/{job['id']}/cancel", key="writer")
    assert (again.status, again.json["code"]) == (409, "wrong_import_status")


async def test_worker_goes_on_after_the_last_durable_batch_of_one_that_died(shop, monkeypatch):
    monkeypatch.setattr("hosts.data_import.enqueue.MAX_CONCURRENT", 1)
    job = await shop.ready(columns={"customer": "user_id"})
    await shop.start(job["id"])
    imports = shop.service.ports.workspace.imports
    replace = imports.replace_import_if_unchanged

    class WorkerDied(BaseException):
        """Ends a worker as a kill does."""

    async def die_after_first_batch(_, before, after):
        await replace(before, after)
        if after.entry_count == 1:
            raise WorkerDied
        return True

    with monkeypatch.context() as dying:
        dying.setattr(type(imports), "replace_import_if_unchanged", die_after_first_batch)
        with pytest.raises(WorkerDied):
            await shop.importer.run_next_job()
    assert not await shop.importer.run_next_job()  # its lease still holds
    shop.now += timedelta(minutes=3)
    await shop.work()
    ended = await shop.job(job["id"])
    assert (ended["status"], ended["accepted"], ended["duplicates"]) == ("completed", 2, 0)
    assert len(await shop.bodies()) == 2


async def test_job_whose_workers_die_fails_at_last(shop):
    job = await shop.ready()
    await shop.start(job["id"])
    imports = shop.service.ports.workspace.imports
    for _ in range(MAX_ATTEMPTS):
        (stands,) = await imports.list_available_imports(shop.now, 1)
        assert await imports.replace_import_if_unchanged(stands, stands.claim_or_fail(shop.now))
        shop.now += timedelta(minutes=3)
    await shop.work()
    assert (await shop.job(job["id"]))["status"] == "failed"
    assert shop.stored_files() == []


async def test_lease_is_renewed_while_the_file_is_copied_and_durable_entries_are_skipped(shop, monkeypatch):
    monkeypatch.setattr("hosts.worker.import_files.RENEWAL_SECONDS", 0)
    monkeypatch.setattr("hosts.worker.import_files.SKIPPED_AT_ONCE", 1)
    job = await shop.ready(columns={"customer": "user_id"})
    await shop.start(job["id"])
    imports = shop.service.ports.workspace.imports
    queued = await imports.find_import(UUID(job["id"]))
    running = queued.claim_or_fail(shop.now)
    assert await imports.replace_import_if_unchanged(queued, running)
    resumed = running.advance(shop.now, ImportProgress(2, len(CSV), {"queued": 2}))
    assert await imports.replace_import_if_unchanged(running, resumed)
    shop.now += timedelta(minutes=3)
    replace, leases = imports.replace_import_if_unchanged, []

    async def record_lease(_, before, after):
        shop.now += timedelta(minutes=1)
        leases.append(after.free_at)
        return await replace(before, after)

    monkeypatch.setattr(type(imports), "replace_import_if_unchanged", record_lease)
    await shop.work()
    assert (await shop.job(job["id"]))["status"] == "completed"
    assert (
        len([lease for lease in leases if lease]) == 5
    )  # claim, chunk, end of the copy, two skipped entries


async def test_gzip_that_breaks_after_the_checked_lines_fails_with_the_reason(shop, monkeypatch):
    monkeypatch.setattr("hosts.worker.import_files.CHECKED_ENTRIES", 1)
    packed = gzip.compress(
        b"".join(LOG.splitlines(keepends=True)[0].replace(b"pricing", b"p%d" % n) for n in range(20_000))
    )
    job = await shop.imported(packed[:-2_000], "access_log", site="https://shop.example")
    reason = "The gzip data of upload.log.gz are damaged or cut off. Copy the log again."
    assert (job["status"], job["error"]) == ("failed", reason)
    assert shop.stored_files() == []
    broken = packed[:-20_000] + b"\xff" * 20_000
    job = await shop.imported(broken, "access_log", site="https://shop.example")
    assert (job["status"], job["error"]) == ("failed", reason)


async def test_writes_of_imports_count_as_mutations(shop):
    answer = await shop.create()
    assert "X-RateLimit-Mutation-Remaining" in answer.headers


async def test_process_of_a_job_runs_an_import_when_no_export_waits(shop):
    """As a worker of its own does, with the settings file alone."""
    created = (await shop.create(columns={"customer": "user_id"})).json
    assert (await shop.put(created["upload"]["url"], CSV))[0] == 200
    config = shop.folder / "touchpoint.toml"
    config.write_text('[storage]\nevents = "memory://"\n')
    await export_worker._run_one_export(config)
    assert (await shop.job(created["id"]))["status"] == "ready"


async def test_import_that_nobody_continues_ends_with_its_file(shop):
    waiting, ready = (await shop.create()).json, await shop.ready()
    shop.now += UPLOAD_LIFETIME
    await shop.importer.end_timed_out_imports()
    assert (await shop.job(waiting["id"]))["status"] == "cancelled"
    assert (await shop.job(ready["id"]))["status"] == "ready"
    shop.now += READY_LIFETIME
    await shop.importer.end_timed_out_imports()
    assert (await shop.job(ready["id"]))["status"] == "cancelled"
    assert shop.stored_files() == []
