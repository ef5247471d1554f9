"""Asking for exports and finding them again."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from service_core.access.ports import RateLimiterUnavailable
from service_core.delivery.exports.ports import JobQueueUnavailable


async def test_export_request_returns_an_id_and_poll_url(memory_api_client):
    ordered = await memory_api_client.order(filters={"event_name": "purchase"})
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


@pytest.mark.parametrize(
    ("sent", "code", "field"),
    [
        ({"type": None}, "invalid_parameter", "type"),
        ({"type": "orders"}, "invalid_parameter", "type"),
        ({"format": "parquet"}, "invalid_parameter", "format"),
        ({"dry_run": True}, "unknown_field", "dry_run"),
        ({"end_date": "2026-06-30"}, "invalid_date_range", "start_date"),
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
async def test_invalid_export_is_refused_immediately(memory_api_client, sent, code, field):
    refused = await memory_api_client.order(**({"kind": sent.pop("type")} if "type" in sent else {}), **sent)
    assert (refused.status, refused.json["code"], refused.json["field"]) == (400, code, field)
    assert (await memory_api_client.ask("GET", "/v1/exports")).json == {"exports": []}


async def test_unknown_filter_error_lists_allowed_filters(memory_api_client):
    refused = await memory_api_client.order("users", filters={"browser": "x"})
    assert (
        refused.json["hint"]
        == "Filters: search, identified, utm_source, utm_campaign, country, include_bots."
    )


@pytest.mark.parametrize(
    "dates", [{}, {"start_date": "2026-07-01"}, {"start_date": "soon", "end_date": "2026-07-07"}]
)
async def test_missing_date_returns_the_common_error(memory_api_client, dates):
    refused = await memory_api_client.ask("POST", "/v1/exports", {"type": "events", **dates})
    assert (refused.status, refused.json) == (400, {"error": "start_date and end_date required (ISO 8601)"})
    missing = await memory_api_client.ask("POST", "/v1/exports", dates)
    assert (missing.json["code"], missing.json["field"]) == ("missing_field", "type")


async def test_range_of_366_days_is_accepted(memory_api_client):
    assert (await memory_api_client.order(start_date="2025-07-07", end_date="2026-07-07")).status == 202


async def test_exports_are_listed_newest_first_without_links(memory_api_client):
    first = await memory_api_client.export()
    memory_api_client.later(seconds=1)
    second = await memory_api_client.order("users")
    await memory_api_client.order(key="other")
    listed = (await memory_api_client.ask("GET", "/v1/exports")).json["exports"]
    assert [(job["id"], job["status"], job["download"]) for job in listed] == [
        (second.json["id"], "queued", None),
        (first["id"], "completed", None),
    ]
    assert len((await memory_api_client.ask("GET", "/v1/exports?limit=1")).json["exports"]) == 1
    assert len((await memory_api_client.ask("GET", "/v1/exports?limit=0")).json["exports"]) == 1


async def test_export_of_another_workspace_is_not_found(memory_api_client):
    ordered = await memory_api_client.order(key="other")
    foreign = await memory_api_client.ask("GET", f"/v1/exports/{ordered.json['id']}")
    random = await memory_api_client.ask("GET", f"/v1/exports/{uuid4()}")
    malformed = await memory_api_client.ask("GET", "/v1/exports/1")
    assert foreign.status == random.status == malformed.status == 404
    assert foreign.body == random.body == malformed.body == b'{"error":"Not found"}'


async def test_at_most_five_exports_of_a_workspace_are_active(memory_api_client):
    ordered = await asyncio.gather(*(memory_api_client.order() for _ in range(8)))
    refused = [answer for answer in ordered if answer.status != 202]
    assert len(refused) == 3
    assert (refused[0].status, refused[0].json["code"], refused[0].headers["Retry-After"]) == (
        429,
        "too_many_exports",
        "60",
    )
    assert (await memory_api_client.order(key="other")).status == 202
    await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.order()).status == 202


async def test_unavailable_job_queue_returns_503_and_stores_no_job(memory_api_client, monkeypatch):
    async def wake(export_id):
        raise JobQueueUnavailable

    monkeypatch.setattr(memory_api_client.service.ports.jobs, "wake_worker", wake)
    refused = await memory_api_client.order()
    assert (refused.status, refused.json["code"]) == (503, "queue_unavailable")
    assert (await memory_api_client.ask("GET", "/v1/exports")).json == {"exports": []}


async def test_unavailable_limiter_refuses_new_exports_and_allows_polls(memory_api_client, monkeypatch):
    job = await memory_api_client.export()

    async def spend(key, limit, window_seconds):
        raise RateLimiterUnavailable

    monkeypatch.setattr(memory_api_client.service.ports.limits, "consume", spend)
    refused = await memory_api_client.order()
    assert (refused.status, refused.json["code"]) == (503, "limiter_unavailable")
    polled = await memory_api_client.ask("GET", f"/v1/exports/{job['id']}")
    assert (polled.status, polled.headers["X-RateLimit-Degraded"]) == (200, "1")


async def test_inactive_workspace_cannot_export(memory_api_client):
    ended = replace(memory_api_client.workspaces["other"], active=False)
    await memory_api_client.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(
        ended
    )
    refused = await memory_api_client.order(key="other", filters={"unknown": "1"})
    assert (refused.status, refused.json["code"]) == (403, "workspace_inactive")
    assert (await memory_api_client.ask("GET", "/v1/exports", key="other")).status == 200
