"""The client of the SDK against every server, over real sockets."""

import json

import pytest
from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_api_app
from hosts.mcp.app import create_mcp_blueprint
from service_core.access.roles import Role
from service_core.kernel.operations import Scope
from service_core.testing.event_builder import EventBuilder
from tests.hosts.http.conftest import SERVERS, run_server
from tests.mcp.mcp_client import grant_access_token

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}


@pytest.fixture(params=SERVERS)
async def served(request, workspace_api):
    addresses = ClientAddressResolver()
    app = create_api_app(
        workspace_api.service.dispatch,
        addresses=addresses,
        pages=[create_mcp_blueprint(workspace_api.service, addresses)],
    )
    async with run_server(app, request.param) as live:
        store, shop = workspace_api.service.ports.workspace, workspace_api.workspaces["shop"]
        live.token = await grant_access_token(
            store, shop, workspace_api.now, scopes={Scope.READ, Scope.WRITE_LINKS}, role=Role.OWNER
        )
        yield live


async def test_sdk_client_connects_lists_and_calls_tools(served, workspace_api):
    story = EventBuilder(workspace_api.workspaces["shop"].id)
    story.add_event("page_view", at="2026-07-08T10:00", visitor="V")
    await workspace_api.service.ports.events.append(story.events)
    async with AsyncClient(headers={"Authorization": f"Bearer {served.token}"}) as http:
        for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
            transport = streamable_http_client(f"http://127.0.0.1:{served.port}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                assert client.protocol_version == version
                await use_every_method(client)


async def use_every_method(client):
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert (names[0], names[-1]) == ("get_overview", "undo")
    answer = await client.call_tool("get_overview", WEEK)  # which the client checks by the outputSchema
    assert (answer.is_error, answer.structured_content["visitors_total"]) == (False, 1)
    refused = await client.call_tool("get_user", {"userId": "nobody"})
    assert (refused.is_error, json.loads(refused.content[0].text)) == (True, {"error": "Not found"})
    with pytest.raises(MCPError) as unknown:
        await client.call_tool("drop_tables", {})
    assert unknown.value.code == -32602
    assert "weekly_report" in [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert (await client.get_prompt("weekly_report")).messages[0].role == "user"
    [resource] = (await client.list_resources()).resources
    assert (await client.read_resource(resource.uri)).contents[0].text.startswith("# Touchpoint")


@pytest.mark.parametrize("served", ["hypercorn"], indirect=True)
async def test_stalled_request_body_times_out(served, monkeypatch):
    monkeypatch.setattr("hosts.http.app.CHUNK_TIMEOUT_SECONDS", 0.05)
    lines = ["POST /mcp HTTP/1.1", "host: x", "connection: close", f"authorization: Bearer {served.token}"]
    answer = await served.send_bytes("\r\n".join([*lines, "content-length: 9", "", "abc"]).encode())
    assert answer.split()[1] == b"408"
