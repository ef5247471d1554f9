"""One message in, one out: methods, errors and what stands in front of them."""

import json
from dataclasses import replace
from datetime import timedelta

from service_core.access.roles import Role
from service_core.kernel.operations import Scope
from tests.mcp.mcp_client import connect_client

ROOT = "https://t.example"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CHALLENGE = f'Bearer resource_metadata="{ROOT}/.well-known/oauth-protected-resource", scope="service:read"'


NEGOTIATED_VERSIONS = [
    ("2025-11-25", "2025-11-25"),
    ("2025-06-18", "2025-06-18"),
    ("2025-03-26", "2025-03-26"),
    ("2024-11-05", "2025-11-25"),
    ("2026-07-28", "2025-11-25"),
    (None, "2025-11-25"),
]


async def test_unsupported_version_is_answered_with_the_newest(mcp_client):
    for request, answered in NEGOTIATED_VERSIONS:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": request, "capabilities": {}, "clientInfo": client}
        result = (await mcp_client.send_message("initialize", params))["result"]
        assert result["protocolVersion"] == answered
        assert "tools" in result["capabilities"]
        assert result["serverInfo"]["name"] == "touchpoint"
        assert "last_30_days" in result["instructions"]


async def test_ping_and_lists_of_resources(mcp_client):
    assert (await mcp_client.send_message("ping"))["result"] == {}
    listed = (await mcp_client.send_message("resources/list", {}))["result"]["resources"]
    assert [resource["name"] for resource in listed] == ["llms.txt"]
    templates = (await mcp_client.send_message("resources/templates/list", {}))["result"]["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["touchpoint://results/{tool}{?arguments}"]


IDS = [1, 2**53, "a", "", -1]


async def test_answer_has_the_id_of_its_request(mcp_client):
    for id_ in IDS:
        _, _, body = await mcp_client.send(PING | {"id": id_})
        assert json.loads(body) == {"jsonrpc": "2.0", "id": id_, "result": {}}


FAULTS = [
    (b"", -32700),
    (b"{", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    (b"\xff", -32700),
    ([PING], -32600),
    ([], -32600),
    ("ping", -32600),
    (None, -32600),
    ({}, -32600),
    ({"id": 1, "method": "ping"}, -32600),
    (PING | {"jsonrpc": "1.0"}, -32600),
    (PING | {"id": None}, -32600),
    (PING | {"id": True}, -32600),
    (PING | {"id": 1.5}, -32600),
    (PING | {"id": {}}, -32600),
    (PING | {"method": 1}, -32600),
    ({"jsonrpc": "2.0", "id": 1}, -32600),
    (PING | {"params": []}, -32602),
    (PING | {"params": None}, -32602),
    (PING | {"method": "tools/annihilate"}, -32601),
    (PING | {"method": "server/discover"}, -32601),
    (PING | {"method": "prompts/get", "params": {"name": "x"}}, -32602),
    (PING | {"method": ""}, -32601),
    (PING | {"method": "tools/call"}, -32602),
    (PING | {"method": "tools/call", "params": {"name": "drop_tables"}}, -32602),
    (PING | {"method": "tools/call", "params": {"name": ["ping"]}}, -32602),
    (PING | {"method": "tools/call", "params": {"name": "get_context", "arguments": []}}, -32602),
]


async def test_protocol_error_has_its_code(mcp_client):
    for sent, code in FAULTS:
        status, _, body = await mcp_client.send(sent)
        answer = json.loads(body)
        known = code in (-32601, -32602)
        assert (status, answer["error"]["code"]) == (200 if known else 400, code)
        assert answer["id"] == (1 if known else None)


NOTIFICATIONS = [
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "get_context"}},
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
]


async def test_notification_returns_202_without_body(mcp_client):
    for sent in NOTIFICATIONS:
        status, _, body = await mcp_client.send(sent)
        assert (status, body) == (202, b"")


METHODS = ["GET", "DELETE", "HEAD", "PUT", "PATCH"]


async def test_get_and_delete_are_refused_without_sessions(mcp_client):
    for method in METHODS:
        for token in (mcp_client.token, None):
            status, headers, _ = await mcp_client.send(b"", method=method, token=token)
            assert (status, headers["Allow"]) == (405, "POST, OPTIONS")


SUPPORTED_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]


async def test_supported_version_header_is_accepted(mcp_client):
    for version in SUPPORTED_VERSIONS:
        assert (await mcp_client.send(PING, MCP_Protocol_Version=version))[0] == 200


UNSUPPORTED_VERSIONS = ["2024-11-05", "", "x", "2025-06-18, 2025-03-26"]
NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/initialized"}


async def test_unsupported_version_header_returns_400(mcp_client):
    for version in UNSUPPORTED_VERSIONS:
        for message in (PING, NOTIFICATION):
            status, _, body = await mcp_client.send(message, MCP_Protocol_Version=version)
            error = json.loads(body)["error"]
            assert (status, error["code"], error["data"]["requested"]) == (400, -32022, version)
            assert set(error["data"]["supported"]) == {"2026-07-28", *SUPPORTED_VERSIONS}


async def test_missing_or_invalid_token_returns_the_metadata_url(mcp_client, workspace_api):
    agent_key = await workspace_api.secret("shop reader")
    for token in (None, "x", agent_key, f"oat_{'a' * 43}", mcp_client.token + "a"):
        status, headers, body = await mcp_client.send(PING, token=token)
        challenge = headers["WWW-Authenticate"]
        assert (status, challenge.startswith(CHALLENGE)) == (401, True)
        assert ('error="invalid_token"' in challenge) == (token is not None)  # RFC 6750, section 3.1
        assert json.loads(body) == {"error": "Invalid or missing API key"}
    status, _, _ = await mcp_client.send(PING, token=None, Authorization=f"Basic {mcp_client.token}")
    assert status == 401


async def test_expired_token_is_refused(mcp_client, workspace_api):
    workspace_api.later(days=3660)
    assert (await mcp_client.send(PING))[0] == 401


async def test_token_without_the_scope_to_read_is_refused(workspace_api):
    program = await connect_client(
        workspace_api.service, workspace_api.workspaces["shop"], workspace_api.now, scopes={Scope.WRITE_LINKS}
    )
    status, headers, body = await program.send(PING)
    result = json.loads(body)
    assert (status, result["code"], result["required_scope"]) == (403, "insufficient_scope", "service:read")
    assert headers["WWW-Authenticate"] == f'{CHALLENGE}, error="insufficient_scope"'


async def test_revoked_permission_of_a_person_applies_to_their_clients(workspace_api):
    shop, store = workspace_api.workspaces["shop"], workspace_api.service.ports.workspace
    await connect_client(workspace_api.service, shop, workspace_api.now)
    program = await connect_client(
        workspace_api.service, shop, workspace_api.now, role=Role.MEMBER, name="bob"
    )
    names = {tool["name"] for tool in await program.tools()}
    assert ("create_report" in names, "create_link" in names) == (True, False)
    account = await store.accounts.find_account_by_email("bob@example.com")
    member = await store.members.get_member(shop.id, account.id)
    assert await store.members.save_member_unless_no_owner_left(
        replace(member, role=Role.VIEWER), workspace_api.now
    )
    assert "create_report" not in {tool["name"] for tool in await program.tools()}
    assert await store.members.remove_member_unless_last_owner(shop.id, account.id, workspace_api.now)
    assert (await program.send(PING))[0] == 401


ORIGINS = [
    (ROOT, 200),
    ("https://app.example", 200),
    ("http://localhost:6274", 200),
    ("http://127.0.0.1:3000", 200),
    ("http://[::1]:3000", 200),
    ("https://evil.example", 403),
    ("https://t.example.evil.example", 403),
    ("https://t.example:444", 403),
    ("http://localhost.evil.example", 403),
    ("null", 403),
    ("", 403),
    ("http://[::1", 403),
]


async def test_foreign_origin_is_refused(mcp_client):
    for origin, status in ORIGINS:
        answered, headers, _ = await mcp_client.send(PING, Origin=origin)
        assert answered == status
        assert headers["Access-Control-Allow-Origin"] == "*"


HOSTS = [
    ("t.example", 200),
    ("t.example:8443", 200),
    ("app.example", 200),
    ("localhost:8080", 200),
    ("127.0.0.1:8080", 200),
    ("[::1]:8080", 200),
    ("192.168.1.7", 200),
    ("touchpoint:8080", 200),
    ("evil.example.com", 421),
    ("t.example.evil.com", 421),
    ("127.0.0.1.evil.com:8080", 421),
]


async def test_host_name_that_others_can_own_is_not_served(mcp_client):
    for host, expected in HOSTS:
        status, headers, body = await mcp_client.send(PING, Host=host)
        assert status == expected, (host, body)
        assert headers["Access-Control-Allow-Origin"] == "*"


async def test_preflight_is_answered(mcp_client):
    status, headers, body = await mcp_client.send(b"", method="OPTIONS", token=None)
    assert (status, body) == (204, b"")
    assert headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"
    assert "MCP-Protocol-Version" in headers["Access-Control-Allow-Headers"]


async def test_message_over_a_million_bytes_is_too_large(mcp_client):
    status, _, body = await mcp_client.send(b" " * 1_000_001)
    assert (status, json.loads(body)["code"]) == (413, "payload_too_large")
    assert (await mcp_client.send(json.dumps(PING).encode().ljust(1_000_000)))[0] == 200


async def test_requests_are_stateless(mcp_client, workspace_api):
    assert len(await mcp_client.tools()) > 60  # nobody initialized anything
    _, headers, _ = await mcp_client.send(PING, Mcp_Session_Id="of-another-server")
    assert not {"mcp-session-id", "set-cookie"} & {name.lower() for name, _ in headers}
    workspace_api.now += timedelta(days=1)
    assert (await mcp_client.send_message("ping"))["result"] == {}
