"""Asking for exports, following them, and everything that may happen to a job on the way (contract 6, 13)."""

import asyncio
import errno
import os
from dataclasses import replace
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from hosts.worker.sheets import renderer
from service_core.access.ports import LimiterDown
from service_core.access.workspaces import Workspaces
from service_core.delivery.exports.contents import Contents
from service_core.delivery.exports.model import LEASE, Status, Subject
from service_core.delivery.exports.ports import QueueDown, SinkDown
from service_core.delivery.exports.run import Exporter
from service_core.delivery.exports.signing import signature
from service_core.delivery.exports.write import Author
from service_core.insight.ports import StoreUnavailable


def worker(desk, *, streams=None, sink=None, most_rows=None, renew_seconds=10.0):
    """A worker of the deployment with a part of it replaced."""
    ports = desk.service.ports
    caps = {} if most_rows is None else {"most_rows": most_rows}
    contents = Contents(
        streams or ports.events, ports.events, ports.events, desk.service.registry.models, ports.queue, **caps
    )
    author = Author(sink or ports.sink, Workspaces(ports.workspace), contents, renderer)
    return Exporter(
        ports.export_work, sink or ports.sink, author, lambda: desk.now, renew_seconds=renew_seconds
    )


class Hanging:
    """A store that never answers."""

    def __init__(self):
        self.started = asyncio.Event()

    async def event_batches(self, scan, limit):
        self.started.set()
        await asyncio.Event().wait()
        yield {}


async def taken_by_nobody(desk):
    """The oldest free job, as a worker leaves it that took it and died."""
    work = desk.service.ports.export_work
    (job,) = await work.free_exports(desk.now, 1)
    taken = job.taken(desk.now)
    assert await work.replace_export(job, taken)
    return taken


async def latest(desk):
    return (await desk.service.ports.workspace.exports(desk.workspaces["shop"].id, 1))[0]


async def polled(desk, ordered):
    return (await desk.ask("GET", ordered.json["poll_url"])).json


async def some_events(desk, count=5):
    story = desk.story()
    for minute in range(count):
        story.happens("x", at=f"2026-07-03T10:{minute:02}", visitor=f"A{minute}")
    await desk.keep(story)


async def test_an_export_is_accepted_with_an_id_and_a_place_to_poll(bare):
    ordered = await bare.order(filters={"event_name": "purchase"})
    assert (ordered.status, ordered.headers["Content-Type"]) == (202, "application/json")
    job = ordered.json
    assert job == {
        "id": job["id"],
        "status": "queued",
        "type": "events",
        "format": "csv",
        "created_at": "2026-07-08T15:00:00.000Z",
        "expires_at": "2026-07-15T15:00:00.000Z",
        "params": {
            "start_date": "2026-07-01",
            "end_date": "2026-07-07",
            "filters": {"event_name": "purchase"},
        },
        "poll_url": f"https://t.example/v1/exports/{job['id']}",
    }


async def test_a_completed_export_says_all_the_contract_says_of_it(bare):
    await some_events(bare, 3)
    bare.later(seconds=1)
    job = await bare.export()
    expires = int(bare.now.timestamp()) + 3600
    assert job.pop("download") == {
        "url": job_url(bare, job, expires),
        "expires_at": "2026-07-08T16:00:01.000Z",
        "expires_in": 3600,
    }
    assert job == {
        "id": job["id"],
        "status": "completed",
        "type": "events",
        "format": "csv",
        "created_at": "2026-07-08T15:00:01.000Z",
        "expires_at": "2026-07-15T15:00:01.000Z",
        "params": {"start_date": "2026-07-01", "end_date": "2026-07-07", "filters": {}},
        "row_count": 3,
        "truncated": False,
        "error": None,
        "started_at": "2026-07-08T15:00:01.000Z",
        "completed_at": "2026-07-08T15:00:01.000Z",
        "download_error": None,
    }


def job_url(desk, job, expires):
    sig = signature(desk.workspaces["shop"].secret, UUID(job["id"]), expires)
    return f"https://t.example/exports/download/{job['id']}?expires={expires}&sig={sig}"


@pytest.mark.parametrize(
    ("sent", "code", "field"),
    [
        ({"type": None}, "invalid_parameter", "type"),
        ({"type": "orders"}, "invalid_parameter", "type"),
        ({"format": "parquet"}, "invalid_parameter", "format"),
        ({"dry_run": True}, "unknown_field", "dry_run"),
        ({"end_date": "2026-06-30"}, "invalid_date_range", "date_range"),
        ({"start_date": "2025-07-06", "end_date": "2026-07-07"}, "range_too_long", "end_date"),
        ({"filters": {"limit": "5"}}, "unknown_filter", "filters.limit"),
        ({"type": "users", "filters": {"source": "api"}}, "unknown_filter", "filters.source"),
        ({"type": "attribution", "filters": {"group_by": "source"}}, "unknown_filter", "filters.group_by"),
        ({"filters": {"country": ["DE"]}}, "invalid_parameter", "filters.country"),
        ({"filters": {"include_bots": "maybe"}}, "invalid_parameter", "filters.include_bots"),
        ({"filters": {"include_bots": 1}}, "invalid_parameter", "filters.include_bots"),
        ({"filters": {"property_filters": "{"}}, "invalid_property_filters", "filters.property_filters"),
        ({"filters": []}, "invalid_parameter", "filters"),
        ({"type": "attribution", "filters": {"model": "magic"}}, "invalid_attribution", "filters.model"),
        ({"type": "attribution", "filters": {"basis": "x"}}, "invalid_parameter", "filters.basis"),
        (
            {"type": "attribution", "filters": {"basis": "touch", "model": "markov"}},
            "invalid_parameter",
            "filters.basis",
        ),
    ],
)
async def test_what_cannot_be_exported_is_refused_at_once(bare, sent, code, field):
    refused = await bare.order(**({"kind": sent.pop("type")} if "type" in sent else {}), **sent)
    assert (refused.status, refused.json["code"], refused.json["field"]) == (400, code, field)
    assert (await bare.ask("GET", "/v1/exports")).json == {"exports": []}


async def test_an_unknown_filter_is_answered_with_the_allow_list(bare):
    refused = await bare.order("users", filters={"browser": "x"})
    assert (
        refused.json["hint"]
        == "Filters: search, identified, utm_source, utm_campaign, country, include_bots."
    )


@pytest.mark.parametrize(
    "dates", [{}, {"start_date": "2026-07-01"}, {"start_date": "soon", "end_date": "2026-07-07"}]
)
async def test_a_missing_date_has_the_answer_of_every_read(bare, dates):
    refused = await bare.ask("POST", "/v1/exports", {"type": "events", **dates})
    assert (refused.status, refused.json) == (400, {"error": "start_date and end_date required (ISO 8601)"})
    missing = await bare.ask("POST", "/v1/exports", dates)
    assert (missing.json["code"], missing.json["field"]) == ("missing_field", "type")


async def test_366_days_are_not_too_long(bare):
    assert (await bare.order(start_date="2025-07-07", end_date="2026-07-07")).status == 202


async def test_the_list_is_newest_first_without_links_and_of_the_own_workspace(bare):
    first = await bare.export()
    bare.later(seconds=1)
    second = await bare.order("users")
    await bare.order(key="other")
    listed = (await bare.ask("GET", "/v1/exports")).json["exports"]
    assert [(job["id"], job["status"], job["download"]) for job in listed] == [
        (second.json["id"], "queued", None),
        (first["id"], "completed", None),
    ]
    assert len((await bare.ask("GET", "/v1/exports?limit=1")).json["exports"]) == 1
    assert len((await bare.ask("GET", "/v1/exports?limit=0")).json["exports"]) == 1


async def test_an_export_of_another_workspace_is_as_unknown_as_a_random_one(bare):
    ordered = await bare.order(key="other")
    foreign = await bare.ask("GET", f"/v1/exports/{ordered.json['id']}")
    random = await bare.ask("GET", f"/v1/exports/{uuid4()}")
    malformed = await bare.ask("GET", "/v1/exports/1")
    assert foreign.status == random.status == malformed.status == 404
    assert foreign.content == random.content == malformed.content == b'{"error":"Not found"}'


async def test_five_exports_of_a_workspace_are_active_at_most(bare):
    ordered = await asyncio.gather(*(bare.order() for _ in range(8)))
    refused = [answer for answer in ordered if answer.status != 202]
    assert len(refused) == 3
    assert (refused[0].status, refused[0].json["code"], refused[0].headers["Retry-After"]) == (
        429,
        "too_many_exports",
        "60",
    )
    assert (await bare.order(key="other")).status == 202
    await bare.exporter.run_next()
    assert (await bare.order()).status == 202


async def test_a_queue_that_is_down_is_said_and_leaves_no_job(bare, monkeypatch):
    async def wake(export_id):
        raise QueueDown

    monkeypatch.setattr(bare.service.ports.jobs, "wake", wake)
    refused = await bare.order()
    assert (refused.status, refused.json["code"]) == (503, "queue_unavailable")
    assert (await bare.ask("GET", "/v1/exports")).json == {"exports": []}


async def test_a_limiter_that_is_down_closes_the_door_to_new_exports_and_not_to_polls(bare, monkeypatch):
    job = await bare.export()

    async def spend(key, limit, window_seconds):
        raise LimiterDown

    monkeypatch.setattr(bare.service.ports.limits, "spend", spend)
    refused = await bare.order()
    assert (refused.status, refused.json["code"]) == (503, "limiter_unavailable")
    polled = await bare.ask("GET", f"/v1/exports/{job['id']}")
    assert (polled.status, polled.headers["X-RateLimit-Degraded"]) == (200, "1")


async def test_an_inactive_workspace_exports_nothing(bare):
    ended = replace(bare.workspaces["other"], active=False)
    await bare.service.ports.workspace.save_workspace(ended)
    refused = await bare.order(key="other", filters={"unknown": "1"})
    assert (refused.status, refused.json["code"]) == (403, "workspace_inactive")
    assert (await bare.ask("GET", "/v1/exports", key="other")).status == 200


async def test_at_the_cap_the_file_is_cut_and_says_so(desk):
    await some_events(desk, 5)
    for most, rows, truncated in ((4, 4, True), (5, 5, False), (6, 5, False)):
        caps = {Subject.EVENTS: most, Subject.USERS: most, Subject.ATTRIBUTION: 9}
        desk.exporter = worker(desk, most_rows=caps)
        for kind in ("events", "users"):
            job = await desk.export(kind)
            assert (job["row_count"], job["truncated"]) == (rows, truncated)
    newest = await desk.rows()
    assert [row["visitor_id"] for row in newest] == ["A4", "A3", "A2", "A1", "A0"]


async def test_a_job_nobody_takes_for_a_day_fails(bare):
    ordered = await bare.order()
    bare.later(hours=23, minutes=59)
    assert (await polled(bare, ordered))["status"] == "queued"
    bare.later(minutes=1)
    for _ in range(2):
        job = await polled(bare, ordered)
        assert (job["status"], job["error"], job["download"]) == ("failed", "timed out", None)
        assert job["completed_at"] == "2026-07-09T15:00:00.000Z"
        bare.later(hours=1)
        await bare.exporter.sweep()
    assert not await bare.exporter.run_next()
    assert (await bare.order()).status == 202


async def test_a_job_that_runs_for_half_an_hour_fails_and_its_place_is_free(bare):
    ordered = [await bare.order() for _ in range(5)]
    await taken_by_nobody(bare)
    bare.later(minutes=30)
    await bare.exporter.sweep()
    shown = await polled(bare, ordered[0])
    assert (shown["status"], shown["error"], shown["row_count"]) == ("failed", "timed out", None)
    assert (await bare.order()).status == 202


async def test_a_worker_stops_a_write_when_the_half_hour_is_over(bare):
    ordered = await bare.order()
    await taken_by_nobody(bare)
    bare.later(minutes=29, seconds=59.99)
    await asyncio.wait_for(worker(bare, streams=Hanging()).run_next(), 5)
    assert (await polled(bare, ordered))["error"] == "timed out"


@pytest.mark.parametrize(
    ("fault", "error"),
    [(StoreUnavailable(), "source unavailable"), (RuntimeError("of ann@example.com"), "internal error")],
)
async def test_a_fault_fails_the_job_with_its_text_and_leaves_no_file(bare, caplog, fault, error):
    await some_events(bare)

    class Faulty:
        async def event_batches(self, scan, limit):
            async for batch in bare.service.ports.events.event_batches(scan, limit):
                yield batch
            raise fault

    ordered = await bare.order()
    await worker(bare, streams=Faulty()).run_next()
    job = await polled(bare, ordered)
    assert (job["status"], job["error"], job["download"]) == ("failed", error, None)
    assert job["completed_at"]
    assert bare.files == []
    assert "ann@" not in caplog.text


async def test_a_model_without_enough_data_says_so_in_the_job(bare):
    ordered = await bare.order("attribution", filters={"model": "markov"})
    await bare.exporter.run_next()
    assert (await polled(bare, ordered))["error"].endswith("conversions and 300 paths without one")


@pytest.mark.parametrize("call", ["fsync", "fdopen"])
async def test_a_full_disk_fails_the_job_and_leaves_no_part_of_a_file(bare, monkeypatch, call):
    await some_events(bare)
    ordered = await bare.order()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        await bare.exporter.run_next()
    assert (await polled(bare, ordered))["error"] == "internal error"
    assert bare.files == []
    assert (await bare.export())["status"] == "completed"


async def test_a_job_whose_worker_died_is_done_by_the_next_when_its_lease_has_ended(bare):
    await some_events(bare)
    ordered = await bare.order()
    taken = await taken_by_nobody(bare)
    (bare.folder / "exports" / f"{taken.file}.part").write_bytes(b"half a fi")
    assert not await bare.exporter.run_next()
    assert (await polled(bare, ordered))["status"] == "running"
    bare.later(seconds=LEASE.total_seconds())
    assert await bare.exporter.run_next()
    assert (await polled(bare, ordered))["row_count"] == 5
    assert bare.files == [f"{taken.id}-2.csv"]


async def test_a_job_that_kills_three_workers_fails_and_the_queue_moves_on(bare):
    ordered, other = await bare.order(), await bare.order()
    for _ in range(3):
        assert str((await taken_by_nobody(bare)).id) == ordered.json["id"]
        bare.later(seconds=LEASE.total_seconds())
    assert await bare.exporter.run_next()
    assert (await polled(bare, ordered))["error"] == "internal error"
    assert await bare.exporter.run_next()
    assert (await polled(bare, other))["status"] == "completed"


async def test_a_worker_that_slept_finds_its_job_gone_and_throws_its_file_away(bare):
    await some_events(bare)
    ordered = await bare.order()

    class Sleepy:
        """Sleeps until another worker has done the job."""

        async def event_batches(self, scan, limit):
            bare.later(seconds=LEASE.total_seconds())
            assert await bare.exporter.run_next()
            async for batch in bare.service.ports.events.event_batches(scan, limit):
                yield batch

    assert await worker(bare, streams=Sleepy()).run_next()
    job = await polled(bare, ordered)
    assert (job["status"], job["row_count"]) == ("completed", 5)
    assert bare.files == [f"{job['id']}-2.csv"]


async def test_a_worker_that_lost_its_lease_stops_writing(bare):
    ordered = await bare.order()
    hanging = Hanging()
    running = asyncio.create_task(worker(bare, streams=hanging, renew_seconds=0.01).run_next())
    await hanging.started.wait()
    work = bare.service.ports.export_work
    job = await latest(bare)
    while not await work.replace_export(job, job.failed(bare.now, "timed out")):
        job = await latest(bare)
    assert await asyncio.wait_for(running, 5)
    assert (await polled(bare, ordered))["error"] == "timed out"
    assert bare.files == []


async def test_a_lease_is_renewed_while_the_worker_works(bare):
    await some_events(bare)
    ordered = await bare.order()
    held = asyncio.Event()

    class Long:
        async def event_batches(self, scan, limit):
            await held.wait()
            async for batch in bare.service.ports.events.event_batches(scan, limit):
                yield batch

    running = asyncio.create_task(worker(bare, streams=Long(), renew_seconds=0.01).run_next())
    async with asyncio.timeout(5):
        for _ in range(4):
            bare.later(seconds=10)
            while True:
                job = await latest(bare)
                if job.free_at == bare.now + LEASE:
                    break
                await asyncio.sleep(0)
            assert not await bare.exporter.run_next()
    held.set()
    await running
    job = await polled(bare, ordered)
    assert (job["status"], job["row_count"]) == ("completed", 5)


async def test_a_stop_leaves_the_job_to_the_next_start_at_once(bare):
    await some_events(bare)
    ordered = await bare.order()
    for _ in range(4):
        hanging, stop = Hanging(), asyncio.Event()
        jobs = bare.service.ports.jobs
        here = asyncio.create_task(jobs.work_here(worker(bare, streams=hanging).run_next, stop))
        await asyncio.wait_for(hanging.started.wait(), 5)
        stop.set()
        await asyncio.wait_for(here, 5)
        assert bare.files == []
    assert await bare.exporter.run_next()
    assert (await polled(bare, ordered))["row_count"] == 5


async def test_a_completed_file_is_deleted_after_seven_days(bare):
    job = await bare.export()
    assert len(bare.files) == 1
    bare.later(days=6, hours=23, minutes=59, seconds=59)
    await bare.exporter.sweep()
    late = (await bare.ask("GET", f"/v1/exports/{job['id']}")).json
    assert late["status"] == "completed"
    bare.later(seconds=1)
    for _ in range(2):
        expired = (await bare.ask("GET", f"/v1/exports/{job['id']}")).json
        assert (expired["status"], expired["download"], expired["row_count"]) == ("expired", None, 0)
        gone = await bare.ask("GET", late["download"]["url"], key=None)
        assert gone.status == 404
        await bare.exporter.sweep()
    assert bare.files == []


async def test_what_a_queue_forgot_is_woken_again(bare):
    ordered = [await bare.order() for _ in range(3)]
    woken = []

    async def wake(export_id):
        woken.append(str(export_id))
        raise QueueDown

    await bare.exporter.rouse(SimpleNamespace(wake=wake))
    assert woken == [answer.json["id"] for answer in ordered]


async def test_a_link_that_cannot_be_signed_is_said_beside_the_completed_job(bare, monkeypatch):
    job = await bare.export()

    async def url(name, lasts):
        raise SinkDown

    monkeypatch.setattr(bare.service.ports.sink, "url", url)
    shown = (await bare.ask("GET", f"/v1/exports/{job['id']}")).json
    assert (shown["status"], shown["download"]) == ("completed", None)
    assert "poll again" in shown["download_error"]


async def test_a_sink_that_signs_itself_gives_its_own_link(bare, monkeypatch):
    job = await bare.export(start_date="2026-07-01T22:00Z", end_date="2026-07-02T03:00Z")

    async def url(name, lasts):
        return f"https://bucket.example/{name}?for={lasts.total_seconds():.0f}"

    monkeypatch.setattr(bare.service.ports.sink, "url", url)
    shown = (await bare.ask("GET", f"/v1/exports/{job['id']}")).json
    assert shown["download"]["url"] == (f"https://bucket.example/{job['id']}-1.csv?for=3600")
    assert Status(shown["status"]) is Status.COMPLETED


async def test_a_retry_with_the_same_idempotency_key_gets_the_first_answer_and_no_second_job(bare):
    once = {"idempotency-key": "k1"}
    first = await bare.order(headers=once)
    assert "Idempotent-Replay" not in first.headers
    await bare.exporter.run_next()
    bare.later(hours=23)
    again = await bare.order(headers=once)
    assert (again.status, again.content) == (202, first.content)
    assert again.headers["Idempotent-Replay"] == "true"
    other = await bare.order("users", headers=once)
    assert other.json["id"] != first.json["id"]
    assert (await bare.order(headers=once, key="other")).json["id"] != first.json["id"]
    bare.later(hours=1)
    assert (await bare.order(headers=once)).json["id"] != first.json["id"]


async def test_identical_requests_at_one_moment_make_one_job(bare):
    answers = await asyncio.gather(*(bare.order(headers={"idempotency-key": "k"}) for _ in range(20)))
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotent-Replay" in answer.headers for answer in answers) == 19


async def test_a_refusal_is_not_kept_for_a_retry(bare, monkeypatch):
    async def wake(export_id):
        raise QueueDown

    once = {"idempotency-key": "k"}
    with monkeypatch.context() as patched:
        patched.setattr(bare.service.ports.jobs, "wake", wake)
        assert (await bare.order(headers=once)).status == 503
    assert "Idempotent-Replay" not in (await bare.order(headers=once)).headers
    long = await bare.order(headers={"idempotency-key": "k" * 256})
    assert (long.status, long.json["code"]) == (400, "invalid_idempotency_key")
