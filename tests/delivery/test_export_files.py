"""The file of an export: what its job tells of it, how long it stays, its links, and one job however often it is asked for."""

import asyncio
from uuid import UUID

from service_core.delivery.exports.models import ExportStatus
from service_core.delivery.exports.ports import ExportStorageUnavailable, JobQueueUnavailable
from service_core.delivery.exports.signing import sign_download


async def test_completed_export_has_all_specified_fields(memory_api_client):
    await memory_api_client.some_events(3)
    memory_api_client.later(seconds=1)
    job = await memory_api_client.export()
    expires = int(memory_api_client.now.timestamp()) + 3600
    assert job.pop("download") == {
        "url": signed_job_url(memory_api_client, job, expires),
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


def signed_job_url(api_client, job, expires):
    sig = sign_download(api_client.workspaces["shop"].secret, UUID(job["id"]), expires)
    return f"https://t.example/exports/download/{job['id']}?expires={expires}&sig={sig}"


async def test_completed_file_is_deleted_after_seven_days(memory_api_client):
    job = await memory_api_client.export()
    assert len(memory_api_client.files) == 1
    memory_api_client.later(days=6, hours=23, minutes=59, seconds=59)
    await memory_api_client.exporter.expire_due_exports()
    late = (await memory_api_client.ask("GET", f"/v1/exports/{job['id']}")).json
    assert late["status"] == "completed"
    memory_api_client.later(seconds=1)
    for _ in range(2):
        expired = (await memory_api_client.ask("GET", f"/v1/exports/{job['id']}")).json
        assert (expired["status"], expired["download"], expired["row_count"]) == ("expired", None, 0)
        gone = await memory_api_client.ask("GET", late["download"]["url"], key=None)
        assert gone.status == 404
        await memory_api_client.exporter.expire_due_exports()
    assert memory_api_client.files == []


async def test_signing_failure_is_reported_in_the_completed_job(memory_api_client, monkeypatch):
    job = await memory_api_client.export()

    async def url(name, lasts):
        raise ExportStorageUnavailable

    monkeypatch.setattr(memory_api_client.service.ports.export_storage, "signed_url_if_supported", url)
    shown = (await memory_api_client.ask("GET", f"/v1/exports/{job['id']}")).json
    assert (shown["status"], shown["download"]) == ("completed", None)
    assert "poll again" in shown["download_error"]


async def test_storage_with_signed_urls_returns_its_own_link(memory_api_client, monkeypatch):
    job = await memory_api_client.export(start_date="2026-07-01T22:00Z", end_date="2026-07-02T03:00Z")

    async def url(name, lasts):
        return f"https://bucket.example/{name}?for={lasts.total_seconds():.0f}"

    monkeypatch.setattr(memory_api_client.service.ports.export_storage, "signed_url_if_supported", url)
    shown = (await memory_api_client.ask("GET", f"/v1/exports/{job['id']}")).json
    assert shown["download"]["url"] == (f"https://bucket.example/{job['id']}-1.csv?for=3600")
    assert ExportStatus(shown["status"]) is ExportStatus.COMPLETED


async def test_retry_with_the_same_idempotency_key_returns_the_first_job(
    memory_api_client,
):
    once = {"idempotency-key": "k1"}
    first = await memory_api_client.order(headers=once)
    assert "Idempotent-Replay" not in first.headers
    await memory_api_client.exporter.run_next_job()
    memory_api_client.later(hours=23)
    again = await memory_api_client.order(headers=once)
    assert (again.status, again.body) == (202, first.body)
    assert again.headers["Idempotent-Replay"] == "true"
    other = await memory_api_client.order("users", headers=once)
    assert other.json["id"] != first.json["id"]
    assert (await memory_api_client.order(headers=once, key="other")).json["id"] != first.json["id"]
    memory_api_client.later(hours=1)
    assert (await memory_api_client.order(headers=once)).json["id"] != first.json["id"]


async def test_concurrent_identical_requests_create_one_job(memory_api_client):
    answers = await asyncio.gather(
        *(memory_api_client.order(headers={"idempotency-key": "k"}) for _ in range(20))
    )
    assert len({answer.body for answer in answers}) == 1
    assert sum("Idempotent-Replay" in answer.headers for answer in answers) == 19


async def test_refused_request_is_not_stored_for_retries(memory_api_client, monkeypatch):
    async def wake(export_id):
        raise JobQueueUnavailable

    once = {"idempotency-key": "k"}
    with monkeypatch.context() as patched:
        patched.setattr(memory_api_client.service.ports.jobs, "wake_worker", wake)
        assert (await memory_api_client.order(headers=once)).status == 503
    assert "Idempotent-Replay" not in (await memory_api_client.order(headers=once)).headers
    long = await memory_api_client.order(headers={"idempotency-key": "k" * 256})
    assert (long.status, long.json["code"]) == (400, "invalid_idempotency_key")
