"""Features that a deployment adds to the MCP server: events of an answer, input of the person, headers of arguments."""

import asyncio
import json
from dataclasses import replace

import pytest

from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_unprotected_quart_app
from hosts.mcp.app import create_mcp_blueprint
from hosts.mcp.features import McpFeatures
from service_core.kernel.operations import Scope
from tests.fixtures.waiting import GUARD_SECONDS
from tests.mcp.diagnostic_features import DIAGNOSTIC_FEATURES
from tests.mcp.mcp_client import McpClient, connect_client, grant_access_token
from tests.mcp.test_stateless_protocol import META, send

CAPABLE = META | {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


@pytest.fixture
async def client(workspace_api):
    service, shop = workspace_api.service, workspace_api.workspaces["shop"]
    addresses = ClientAddressResolver()
    blueprint = create_mcp_blueprint(service, addresses, DIAGNOSTIC_FEATURES)
    app = create_unprotected_quart_app(service.dispatch, addresses, [blueprint])
    token = await grant_access_token(service.ports.workspace, shop, workspace_api.now, scopes=set(Scope))
    return McpClient(app, token, shop)


def read_events(body):
    lines = body.decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def tool_call(name, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name} | params}


async def test_features_are_listed_on_the_first_page_before_the_operations(client, workspace_api):
    plain = await connect_client(workspace_api.service, client.workspace, workspace_api.now)
    listed, added = await client.tools(), [tool.entry for tool in DIAGNOSTIC_FEATURES.tools.values()]
    assert listed == [*added, *await plain.tools()]
    builtin = (await plain.send_message("prompts/list"))["result"]["prompts"]
    prompts = (await client.send_message("prompts/list"))["result"]["prompts"]
    assert prompts == [*(prompt.entry for prompt in DIAGNOSTIC_FEATURES.prompts.values()), *builtin]


async def test_read_address_has_only_features_that_declare_to_read(workspace_api):
    service, shop = workspace_api.service, workspace_api.workspaces["shop"]
    addresses = ClientAddressResolver()
    writing = DIAGNOSTIC_FEATURES.tools["test_simple_text"]
    reading = replace(
        writing, entry={**writing.entry, "name": "reading", "annotations": {"readOnlyHint": True}}
    )
    features = McpFeatures(tools={"test_simple_text": writing, "reading": reading})
    blueprint = create_mcp_blueprint(service, addresses, features)
    app = create_unprotected_quart_app(service.dispatch, addresses, [blueprint])
    token = await grant_access_token(service.ports.workspace, shop, workspace_api.now, scopes=set(Scope))
    client = McpClient(app, token, shop)

    async def result_of(message):
        status, _, body = await client.send(message, path="/mcp?tools=read")
        assert status == 200, body
        return json.loads(body)

    listed = await result_of({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    names = {tool["name"] for tool in listed["result"]["tools"]}
    assert ("reading" in names, "test_simple_text" in names) == (True, False)
    assert (await result_of(tool_call("test_simple_text")))["error"]["code"] == -32602
    assert "result" in await result_of(tool_call("reading"))


async def test_notifications_and_result_are_events_of_the_answer(client):
    call = tool_call("test_tool_with_progress", _meta={"progressToken": "t"})
    status, headers, body = await client.send(call)
    assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/event-stream")
    *notifications, result = read_events(body)
    assert [event["params"]["progress"] for event in notifications] == [0, 50, 100]
    assert result["id"] == 1
    assert (await client.call_result("test_simple_text", {}))["isError"] is False


async def test_request_to_the_client_waits_for_the_response_of_the_same_token(client, workspace_api):
    other = await grant_access_token(
        workspace_api.service.ports.workspace,
        client.workspace,
        workspace_api.now,
        scopes=set(Scope),
        name="bob",
    )
    sent = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
    call = tool_call("test_elicitation", arguments={"message": "Who?"})
    async with client.app.test_client().request("/mcp", method="POST", headers=sent) as answer:
        await answer.send(json.dumps(call).encode())
        await answer.send_complete()
        async with asyncio.timeout(GUARD_SECONDS):
            (request,) = read_events(await answer.receive())
            assert request["method"] == "elicitation/create"
            for token, name in ((other, "Eve"), (client.token, "Ada")):
                accepted = {"action": "accept", "content": {"username": name}}
                response = {"jsonrpc": "2.0", "id": request["id"], "result": accepted}
                assert (await client.send(response, token=token))[0] == 202
            (result,) = read_events(await answer.receive())
    assert "Ada" in result["result"]["content"][0]["text"]


async def test_state_of_required_input_is_accepted_unchanged_only(client):
    name = "test_input_required_result_tampered_state"
    _, first = await send(client, "tools/call", {"name": name}, meta=CAPABLE)
    assert first["result"]["resultType"] == "input_required"
    state = first["result"]["requestState"]
    repeated = {"name": name, "inputResponses": {"confirm": {"action": "accept"}}}
    _, done = await send(client, "tools/call", repeated | {"requestState": state}, meta=CAPABLE)
    assert done["result"]["content"][0]["text"] == "state-ok"
    other = {"name": "test_input_required_result_request_state"}
    for changed in ({"requestState": f"{state}x"}, {"requestState": "x"}, other | {"requestState": state}):
        status, refused = await send(client, "tools/call", repeated | changed, meta=CAPABLE)
        assert (status, refused["error"]["code"]) == (400, -32602)


async def test_undeclared_capability_of_the_client_is_refused(client):
    status, refused = await send(client, "tools/call", {"name": "test_missing_capability"}, meta=CAPABLE)
    assert (status, refused["error"]["code"]) == (400, -32021)
    assert refused["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("west", 200),
        ("=?base64?d2VzdA==?=", 200),
        ("east", 400),
        (None, 400),
        ("=?base64?d2Vzd!?=", 400),
    ],
)
async def test_annotated_argument_is_repeated_in_its_header(client, header, status):
    call = {"name": "test_custom_header", "arguments": {"region": "west"}}
    assert (await send(client, "tools/call", call, Mcp_Param_Region=header))[0] == status


async def test_log_messages_of_the_stateless_revision_are_requested(client):
    status, answered = await send(client, "tools/call", {"name": "test_logging_tool"})
    assert (status, "result" in answered) == (200, True)
    assert (await send(client, "logging/setLevel", {"level": "info"}))[0] == 404
    assert (await client.send_message("logging/setLevel", {"level": "info"}))["result"] == {}
