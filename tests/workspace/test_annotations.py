"""Annotations: texts on days or times, as a resource of the workspace."""

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.operations import Scope

SALE = {"text": "Spring sale", "date": "2026-07-01"}


async def save_annotation(api, key="shop", **fields):
    saved = await api.ask("POST", "/annotations", {"annotation": SALE | fields}, key=key)
    assert saved.status == 200, saved.json
    return saved.json["data"]["id"]


async def list_texts(api, query="", key="shop"):
    answer = await api.ask("GET", f"/annotations{query}", key=key)
    return [one["text"] for one in answer.json["annotations"]]


@pytest.fixture
async def second_writer(workspace_api):
    """The name of another key of the shop that may write annotations."""
    minted = await create_named_key_clamping_rate_limit_to_plan(
        workspace_api.service.ports.workspace.credentials,
        workspace_api.workspaces["shop"],
        workspace_api.now,
        name="Second writer",
        scopes=[Scope.READ, Scope.WRITE_REPORTS],
    )
    workspace_api.keys["second writer"] = minted.secret
    return "second writer"


async def test_annotation_is_written_like_every_resource(workspace_api):
    planned = await workspace_api.ask("POST", "/annotations", {"annotation": SALE, "dry_run": True})
    assert (planned.status, planned.json["applied"], planned.json["data"]["id"]) == (200, False, None)
    assert await list_texts(workspace_api) == []
    made = (await workspace_api.ask("POST", "/annotations", {"annotation": SALE}, once="a")).json
    assert (await workspace_api.ask("POST", "/annotations", {"annotation": SALE}, once="a")).json == made
    assert (made["data"]["time"], made["data"]["visibility"]) == (None, "workspace")
    path = f"/annotations/{made['data']['id']}"
    patched = await workspace_api.ask("PATCH", path, {"annotation": {"time": "09:30", "text": "Sale"}})
    assert [change["field"] for change in patched.json["diff"]["changes"]] == ["text", "time"]
    assert (await workspace_api.ask("GET", path)).json == patched.json["data"]
    cleared = await workspace_api.ask("PATCH", path, {"annotation": {"time": None}})
    assert cleared.json["data"]["time"] is None
    deleted = await workspace_api.ask("DELETE", path)
    assert (await workspace_api.ask("GET", path)).status == 404
    await workspace_api.ask("POST", f"/audit/{deleted.json['audit_id']}/undo")
    assert (await workspace_api.ask("GET", path)).json["text"] == "Sale"
    refused = await workspace_api.ask("POST", "/annotations", {"annotation": SALE}, key="shop reader")
    assert refused.status == 403


async def test_list_covers_both_days_of_the_range(workspace_api):
    for day in ("2026-06-30", "2026-07-01", "2026-07-03", "2026-07-04"):
        await save_annotation(workspace_api, date=day, text=day)
    within = await list_texts(workspace_api, "?start_date=2026-07-01&end_date=2026-07-03")
    assert within == ["2026-07-03", "2026-07-01"]
    assert await list_texts(workspace_api, "?start_date=2026-07-04") == ["2026-07-04"]
    malformed = await workspace_api.ask("GET", "/annotations?start_date=tomorrow")
    assert (malformed.status, malformed.json["code"]) == (400, "invalid_parameter")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": " "}, "annotation.text"),
        ({"text": "x" * 201}, "annotation.text"),
        ({"date": "2026-02-30"}, "annotation.date"),
        ({"time": "24:00"}, "annotation.time"),
        ({"time": "9:00"}, "annotation.time"),
        ({"visibility": "everybody"}, "annotation.visibility"),
    ],
)
async def test_field_that_is_no_annotation_is_refused(workspace_api, fields, field):
    refused = await workspace_api.ask("POST", "/annotations", {"annotation": SALE | fields})
    assert (refused.status in (400, 422), refused.json["field"]) == (True, field), refused.json


async def test_annotation_of_another_workspace_is_not_found(workspace_api):
    theirs = await save_annotation(workspace_api, key="other")
    assert await list_texts(workspace_api) == []
    for method, body in (("GET", None), ("PATCH", {"annotation": {"text": "x"}}), ("DELETE", {})):
        assert (await workspace_api.ask(method, f"/annotations/{theirs}", body)).status == 404


async def test_private_annotation_is_known_to_its_creator_only(workspace_api, second_writer):
    id_ = await save_annotation(workspace_api, visibility="private")
    assert await list_texts(workspace_api) == ["Spring sale"]
    assert await list_texts(workspace_api, key=second_writer) == []
    patch = {"annotation": {"text": "Mine"}}
    assert (await workspace_api.ask("PATCH", f"/annotations/{id_}", patch, key=second_writer)).status == 404
    audit = (await workspace_api.ask("GET", "/audit", key=second_writer)).json["entries"]
    assert audit == []
    shared = await save_annotation(workspace_api)
    private = {"annotation": {"visibility": "private"}}
    refused = await workspace_api.ask("PATCH", f"/annotations/{shared}", private, key=second_writer)
    assert refused.refusal == (422, "invalid_field", "annotation.visibility")
