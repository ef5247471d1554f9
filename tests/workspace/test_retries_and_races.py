"""Retries, races and the audit log through the door, on each database."""

import asyncio
import hashlib
import json
from collections import Counter

import pytest

from service_core.changes.schemas import AuditQuery
from service_core.kernel.paging import OffsetCursor, cursor_scope_digest, encode_offset_cursor
from tests.workspace.conftest import WorkspaceApi

BODY = {"link": {"name": "Reel", "destination_url": "https://example.com/a", "slug": "reel"}}


@pytest.fixture
async def workspace_api(tmp_path, workspace_url):
    made = WorkspaceApi(tmp_path, storage={"events": "memory://", "workspace": workspace_url})
    async with made.service:
        yield await made.open()


async def test_retry_returns_the_same_bytes(workspace_api):
    first = await workspace_api.ask("POST", "/links", BODY, once="k")
    again = await workspace_api.ask("POST", "/links", BODY, once="k")
    assert "Idempotent-Replay" not in first.headers
    assert again.headers["Idempotent-Replay"] == "true"
    assert (again.status, again.bytes) == (200, first.bytes)
    assert len(await workspace_api.links()) == 1


async def test_idempotency_key_is_bound_to_the_api_key(workspace_api):
    body = {"link": {"name": "Reel", "destination_url": "https://example.com/a"}}
    first = await workspace_api.ask("POST", "/links", body, once="k")
    other = await workspace_api.ask("POST", "/links", body, once="k", key="shop links")
    assert first.json["audit_id"] != other.json["audit_id"]


async def test_one_of_50_identical_requests_is_executed(workspace_api):
    found = await asyncio.gather(*(workspace_api.send("POST", "/links", BODY, once="k") for _ in range(50)))
    codes = Counter(
        answer.json.get("code") or answer.headers.get("Idempotent-Replay", "performed") for answer in found
    )
    assert codes["performed"] == 1
    assert set(codes) <= {"performed", "true", "idempotency_in_progress", "mutation_rate_limited"}
    assert len({answer.bytes for answer in found if answer.status == 200}) == 1
    assert len(await workspace_api.links()) == 1
    assert len((await workspace_api.ask("GET", "/audit")).json["entries"]) == 1


async def test_one_of_20_undos_succeeds(workspace_api):
    made = (await workspace_api.link(slug="reel"))["data"]
    gone = (await workspace_api.ask("DELETE", f"/links/{made['id']}")).json
    workspace_api.later(minutes=1)
    target = f"/audit/{gone['audit_id']}/undo"
    keys = ["shop", "shop links"] * 10
    found = await asyncio.gather(*(workspace_api.send("POST", target, key=key) for key in keys))
    assert Counter(answer.status for answer in found) == {200: 1, 409: 19}
    assert {answer.json["code"] for answer in found if answer.status == 409} == {"already_undone"}
    assert [link["id"] for link in await workspace_api.links()] == [made["id"]]


async def test_audit_log_pages_by_cursor_during_writes(workspace_api):
    made = [(await workspace_api.link(name=f"Link {number}"))["audit_id"] for number in range(5)]
    page = (await workspace_api.ask("GET", "/audit?limit=2")).json
    walked = [entry["id"] for entry in page["entries"]]
    await workspace_api.link(name="Late")
    while page["next_cursor"]:
        page = (await workspace_api.ask("GET", f"/audit?limit=2&cursor={page['next_cursor']}")).json
        walked += [entry["id"] for entry in page["entries"]]
    assert walked == made[::-1]


@pytest.mark.parametrize("offset", [-1, 10**30, 10**4000, "x", None, 1.5, [1]])
async def test_cursor_forged_from_public_facts_is_refused(workspace_api, offset):
    workspace = workspace_api.workspaces["shop"]
    parameters = AuditQuery(limit=1).model_dump(exclude={"cursor"}, mode="json")
    public_facts = (workspace.id, "audit", parameters)
    canonical = json.dumps(public_facts, sort_keys=True, separators=(",", ":"), default=str).encode()
    for key in (hashlib.sha256(canonical).digest(), cursor_scope_digest(b"", *public_facts)):
        token = encode_offset_cursor(OffsetCursor(offset, workspace_api.now), key)
        answer = await workspace_api.ask("GET", f"/audit?limit=1&cursor={token}")
        assert (answer.status, answer.json["code"]) == (400, "invalid_cursor")


async def test_cursor_is_bound_to_its_request(workspace_api):
    for number in range(2):
        await workspace_api.link(name=f"Link {number}")
    cursor = (await workspace_api.ask("GET", "/audit?limit=1")).json["next_cursor"]
    for target, key in ((f"limit=2&cursor={cursor}", "shop"), (f"limit=1&cursor={cursor}", "other")):
        refused = await workspace_api.ask("GET", f"/audit?{target}", key=key)
        assert (refused.status, refused.json["code"]) == (400, "invalid_cursor")


async def test_undo_needs_the_scope_of_the_undone_write(workspace_api):
    made = (await workspace_api.link())["data"]
    gone = (await workspace_api.ask("DELETE", f"/links/{made['id']}")).json
    refused = await workspace_api.ask("POST", f"/audit/{gone['audit_id']}/undo", key="shop scripts")
    assert refused.json["required_scope"] == "service:write:links"
    assert refused.refusal == (403, "insufficient_scope", None)
    theirs = await workspace_api.ask("POST", f"/audit/{gone['audit_id']}/undo", key="other")
    assert (theirs.status, theirs.json["error"]) == (404, "Not found")
