"""The stateless revision 2026-07-28: each request says its version, and the types of the official SDK are the oracle."""

import base64
import json

import pytest
from mcp_types import methods
from pydantic import ValidationError

VERSION = "2026-07-28"
KEYS = "io.modelcontextprotocol"
META = {f"{KEYS}/protocolVersion": VERSION, f"{KEYS}/clientCapabilities": {}}
WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}


async def send(client, method, params=None, *, meta=META, id_=7, **headers):
    """Status and body of a request with the headers of the revision."""
    params = (params or {}) | ({} if meta is None else {"_meta": meta})
    sent = {"MCP_Protocol_Version": VERSION, "Mcp_Method": method}
    if method == "tools/call":
        sent["Mcp_Name"] = params["name"]
    sent = {name: value for name, value in (sent | headers).items() if value is not None}
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    status, answered, body = await client.send(message, **sent)
    assert "mcp-session-id" not in {name.lower() for name, _ in answered}
    return status, json.loads(body)


async def result(client, method, params=None):
    """The result of a request, checked by the types of the SDK."""
    status, answer = await send(client, method, params)
    assert status == 200, answer
    assert answer["id"] == 7
    methods.validate_server_result(method, VERSION, answer["result"])
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["_meta"][f"{KEYS}/serverInfo"]["name"] == "touchpoint"
    return answer["result"]


async def refused(client, method, params=None, **changes):
    """Status and code of a refused request."""
    status, answer = await send(client, method, params, **changes)
    assert answer["id"] == 7
    return status, answer["error"]["code"]


def test_oracle_refuses_what_the_revision_does_not_allow():
    with pytest.raises(ValidationError):
        methods.validate_server_result("tools/list", VERSION, {"tools": []})


async def test_discovery_tells_versions_capabilities_and_how_long_they_hold(mcp_client):
    answer = await result(mcp_client, "server/discover")
    assert answer["supportedVersions"] == [VERSION, "2025-11-25", "2025-06-18", "2025-03-26"]
    assert set(answer["capabilities"]) == {"tools", "resources", "prompts"}
    assert "last_30_days" in answer["instructions"]
    assert (answer["cacheScope"], answer["ttlMs"] > 0) == ("public", True)


async def test_lists_have_a_fixed_order_and_caching_hints(mcp_client):
    first, second = [await result(mcp_client, "tools/list") for _ in range(2)]
    assert [tool["name"] for tool in first["tools"]] == [tool["name"] for tool in second["tools"]]
    assert first["tools"] == (await mcp_client.tool_pages())[0]["tools"]
    assert (first["cacheScope"], first["ttlMs"]) == ("private", 300_000)
    for method, field in (
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ):
        listed = await result(mcp_client, method)
        assert (len(listed[field]) > 0, listed["cacheScope"]) == (True, "public")


async def test_call_answers_as_in_the_older_revisions(mcp_client):
    answer = await result(mcp_client, "tools/call", {"name": "get_workspace", "arguments": {}})
    assert answer["structuredContent"] == await mcp_client.call("get_workspace")
    wrong = await result(mcp_client, "tools/call", {"name": "get_overview", "arguments": {}})
    assert wrong["isError"] is True
    assert json.loads(wrong["content"][0]["text"])["field"] == "start_date"


async def test_request_without_its_envelope_is_invalid(mcp_client):
    partial = [{name: value} for name, value in META.items()]
    for meta in (None, {}, *partial, META | {f"{KEYS}/clientCapabilities": []}):
        assert await refused(mcp_client, "server/discover", meta=meta) == (400, -32602)


async def test_headers_that_differ_from_the_body_are_refused(mcp_client):
    call = "tools/call", {"name": "get_workspace", "arguments": {}}
    for headers in (
        {"MCP_Protocol_Version": None},
        {"MCP_Protocol_Version": "2025-11-25"},
        {"Mcp_Method": None},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": "TOOLS/CALL"},
        {"Mcp_Name": None},
        {"Mcp_Name": "get_overview"},
        {"Mcp_Name": "=?base64?!?="},
    ):
        assert await refused(mcp_client, *call, **headers) == (400, -32020), headers
    for name in ("  get_workspace ", f"=?base64?{base64.b64encode(b'get_workspace').decode()}?="):
        assert (await send(mcp_client, *call, Mcp_Name=name))[0] == 200


async def test_version_that_is_not_spoken_lists_those_that_are(mcp_client):
    meta = META | {f"{KEYS}/protocolVersion": "2031-01-01"}
    status, answer = await send(mcp_client, "tools/list", meta=meta, MCP_Protocol_Version="2031-01-01")
    assert (status, answer["error"]["code"]) == (400, -32022)
    assert answer["error"]["data"]["requested"] == "2031-01-01"
    assert VERSION in answer["error"]["data"]["supported"]


async def test_methods_of_sessions_are_gone(mcp_client):
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "tools/annihilate"):
        assert await refused(mcp_client, method) == (404, -32601)


async def test_what_cannot_be_found_is_an_invalid_parameter(mcp_client):
    headers = {"Mcp_Name": "touchpoint://nothing"}
    read = "resources/read", {"uri": "touchpoint://nothing"}
    assert await refused(mcp_client, *read, **headers) == (400, -32602)
    assert await refused(mcp_client, "tools/call", {"name": "drop_tables"}) == (400, -32602)
    assert await refused(mcp_client, "prompts/get", {"name": "x"}, Mcp_Name="x") == (400, -32602)


async def test_call_of_the_stateless_revision_spends_the_same_budget(workspace_api, mcp_client):
    for _ in range(100):
        await send(mcp_client, "tools/call", {"name": "get_overview", "arguments": {}})
    limited = await result(mcp_client, "tools/call", {"name": "get_workspace", "arguments": {}})
    assert json.loads(limited["content"][0]["text"])["code"] == "rate_limited"


def type_errors(method, version, answer):
    """What the types of the SDK refuse in an answer."""
    try:
        methods.validate_server_result(method, version, answer)
    except ValidationError as refused:
        return refused.errors()
    return []


async def test_answers_of_the_older_revisions_fit_the_types_of_the_sdk(mcp_client):
    for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
        info = {"name": "t", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        for method, sent in (
            ("initialize", params),
            ("ping", {}),
            ("tools/list", {}),
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("prompts/list", {}),
            ("tools/call", {"name": "get_overview", "arguments": WEEK}),
        ):
            answer = await mcp_client.send_message(method, sent)
            assert type_errors(method, version, answer["result"]) == [], (version, method)
