"""Exports of the events of a segment."""

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.operations import Scope

DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
SEGMENT = {"name": "Germany", "filters": [{"dimension": "country", "op": "in", "value": ["DE", "AT"]}]}


@pytest.fixture
async def germany(memory_api_client):
    """A segment of the shop; its events are those of A, one of which has no country of its own."""
    story = memory_api_client.story()
    story.add_event("page_view", at="2026-07-03T10:00", visitor="A", country="DE")
    story.add_event("x", at="2026-07-03T10:01", visitor="A")
    story.add_event("x", at="2026-07-03T10:02", visitor="B", country="FR")
    await memory_api_client.keep(story)
    minted = await create_named_key_clamping_rate_limit_to_plan(
        memory_api_client.service.ports.workspace.credentials,
        memory_api_client.workspaces["shop"],
        memory_api_client.now,
        name="Writer",
        scopes=[Scope.READ, Scope.WRITE_REPORTS],
    )
    memory_api_client.keys["writer"] = minted.secret
    saved = await memory_api_client.ask("POST", "/v1/segments", {"segment": SEGMENT}, key="writer")
    return saved.json["data"]["id"]


async def test_export_has_the_events_of_the_segment_as_it_was_when_ordered(memory_api_client, germany):
    expected = await memory_api_client.rows(filters={"segment_id": germany})
    assert [(row["visitor_id"], row["event_name"]) for row in expected] == [("A", "x"), ("A", "page_view")]
    ordered = await memory_api_client.order(filters={"segment_id": germany}, format="ndjson")
    assert ordered.status == 202
    await memory_api_client.ask("DELETE", f"/v1/segments/{germany}", key="writer")
    assert await memory_api_client.exporter.run_next_job()
    job = await memory_api_client.polled(ordered)
    assert (job["status"], job["row_count"]) == ("completed", 2)
    refused = await memory_api_client.order(filters={"segment_id": germany})
    assert (refused.status, refused.json["code"]) == (400, "unknown_segment")


async def test_only_events_are_exported_by_segment_and_its_filters_cannot_be_sent(memory_api_client, germany):
    for kind, filters in (
        ("users", {"segment_id": germany}),
        ("events", {"segment_filters": SEGMENT["filters"]}),
    ):
        refused = await memory_api_client.order(kind, filters=filters)
        assert (refused.status, refused.json["code"]) == (400, "unknown_filter")


async def test_filters_of_a_private_segment_are_not_shown_with_its_export(memory_api_client, germany):
    private = {"segment": {"visibility": "private"}}
    changed = await memory_api_client.ask("PATCH", f"/v1/segments/{germany}", private, key="writer")
    assert changed.status == 200
    ordered = await memory_api_client.ask(
        "POST",
        "/v1/exports",
        {"type": "events", **DAYS, "filters": {"segment_id": germany}},
        key="writer",
    )
    assert ordered.json["params"]["filters"] == {"segment_id": germany}
    listed = (await memory_api_client.ask("GET", "/v1/exports")).json["exports"]
    assert [export["params"]["filters"] for export in listed] == [{"segment_id": germany}]
    job = (await memory_api_client.ask("GET", f"/v1/exports/{ordered.json['id']}")).json
    assert job["params"]["filters"] == {"segment_id": germany}
