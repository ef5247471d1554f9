"""A program's whole way: registered, consented to, asking, changing and taking back."""

import pytest

from service_core.testing.event_builder import EventBuilder
from tests.fixtures.composed_deployment import running_deployment
from tests.mcp.mcp_client import McpClient
from tests.oauth.oauth_client import LINKS, READ, register_client

LINK = {"name": "Spring", "destination_url": "https://example.com/a"}
WEEK = {"from": "2026-07-01", "to": "2026-07-08"}


@pytest.fixture
async def deployment(tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


@pytest.fixture
async def mcp_client(deployment):
    """A program Ann has connected."""
    ann = await deployment.signed_in("ann", "owner")
    registered = await register_client(deployment, name="Helper")
    tokens = await registered.tokens(ann, scope=f"{READ} {LINKS}")
    made = McpClient(deployment.app, tokens["access_token"], deployment.workspace)
    made.client_id = registered.client_id
    return made


async def test_client_registers_connects_writes_and_undoes(deployment, mcp_client):
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    assert (await mcp_client.send_message("initialize", params))["result"]["protocolVersion"] == "2025-06-18"
    names = [tool["name"] for tool in await mcp_client.tools()]
    assert "create_link" in names
    assert "create_report" not in names

    story = EventBuilder(deployment.workspace.id)
    for visitor in ("V1", "V2"):
        story.add_event("page_view", at="2026-07-08T10:00", visitor=visitor)
    await deployment.service.ports.events.append(story.events)
    request = await mcp_client.call("get_metrics", metrics=["visitors"], date_range=WEEK)
    assert request["metrics"][0]["value"] == 2

    shown = await mcp_client.call("create_link", link=LINK)
    assert (shown["dry_run"], shown["applied"], shown["data"]["id"]) == (True, False, None)
    assert (await mcp_client.call("list_links"))["links"] == []

    once = {"dry_run": False, "idempotency_key": "spring"}
    made = await mcp_client.call("create_link", link=LINK, **once)
    assert (made["dry_run"], made["applied"]) == (False, True)
    assert made["data"]["created_via"] == "mcp"
    assert await mcp_client.call("create_link", link=LINK, **once) == made
    [link] = (await mcp_client.call("list_links"))["links"]
    assert link["id"] == made["data"]["id"]

    changed = await mcp_client.call(
        "update_link", linkId=link["id"], link={"name": "Summer"}, dry_run=False, idempotency_key="ignored"
    )
    [entry, created] = (await mcp_client.call("list_audit"))["entries"]
    assert entry["id"] == changed["audit_id"]
    assert (entry["via"], created["via"]) == ("mcp", "mcp")
    assert (entry["actor"]["type"], entry["actor"]["client_id"]) == ("user", mcp_client.client_id)
    assert entry["actor"]["name"] == "ann@example.com"

    tried = await mcp_client.call("undo", auditId=entry["id"])
    assert (tried["dry_run"], tried["applied"]) == (True, False)
    undone = await mcp_client.call("undo", auditId=entry["id"], dry_run=False)
    assert undone["diff"]["action"] == "undo"
    [link] = (await mcp_client.call("list_links"))["links"]
    assert link["name"] == "Spring"
    assert (await mcp_client.call_expecting_error("undo", auditId=entry["id"], dry_run=False))[
        "code"
    ] == "already_undone"
    assert (await mcp_client.call_expecting_error("undo", auditId=created["id"]))[
        "code"
    ] == "undo_create_unsupported"


async def test_revoked_connection_ends_calls(deployment, mcp_client):
    assert await mcp_client.call("get_workspace")
    await deployment.app.test_client().post("/oauth/revoke", form={"token": mcp_client.token})
    assert (await mcp_client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}))[0] == 401


async def test_access_token_is_valid_for_mcp_and_not_for_the_api(deployment, mcp_client):
    assert (await deployment.api("GET", "/v1/workspace", mcp_client.token))[0] == 401
    deployment.clock.advance(minutes=15)
    assert (await mcp_client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}))[0] == 401


async def test_without_the_limit_store_reads_go_on_and_writes_do_not(deployment, mcp_client):
    deployment.service.ports.limits.down = True
    assert await mcp_client.call("get_workspace")
    assert (await mcp_client.call_expecting_error("create_link", link=LINK))["code"] == "limiter_unavailable"
