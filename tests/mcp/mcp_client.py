"""A program that a person connected, speaking to ``POST /mcp``."""

import json
from datetime import timedelta
from itertools import count

from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_unprotected_quart_app
from hosts.mcp.app import create_mcp_blueprint
from service_core.access.members.membership import add_member_with_password_link_if_needed
from service_core.access.models import OAuthGrant
from service_core.access.oauth.models import IssuedTokens, OAuthClient, OneTimeToken, OneTimeTokenKind
from service_core.access.roles import Role
from service_core.kernel.ids import new_access_token, new_id, new_token, sha256_hex
from service_core.kernel.operations import Scope

LONG = timedelta(days=3650)


async def connect_client(service, workspace, now, *, scopes=frozenset(Scope), role=Role.OWNER, name="ann"):
    """A program with an access token of a person in a workspace."""
    token = await grant_access_token(
        service.ports.workspace, workspace, now, scopes=scopes, role=role, name=name
    )
    addresses = ClientAddressResolver()
    app = create_unprotected_quart_app(
        service.dispatch, addresses, [create_mcp_blueprint(service, addresses)]
    )
    return McpClient(app, token, workspace)


async def grant_access_token(store, workspace, now, *, scopes, role=Role.OWNER, name="ann"):
    """An access token that outlives the test, of a new program."""
    email = f"{name}@example.com"
    enrolled = await add_member_with_password_link_if_needed(
        store.accounts, store.members, workspace, email=email, role=role, now=now
    )
    client = OAuthClient(str(new_id()), "Helper", ("http://127.0.0.1/callback",), now)
    await store.oauth_clients.add_client_and_delete_unused(client)
    grant = OAuthGrant(
        new_id(), enrolled.account.id, client.id, client.name, workspace.id, frozenset(scopes), now
    )
    code, access, refresh = new_token("oac_"), new_access_token(), new_token("ort_")
    await store.one_time_tokens.add_grant_and_narrow_earlier_grants(
        OneTimeToken(OneTimeTokenKind.CODE, grant, now + LONG), sha256_hex(code)
    )
    issued = IssuedTokens(sha256_hex(access), now + LONG, sha256_hex(refresh), now + LONG)
    assert await store.one_time_tokens.use_token_once_or_end_grant(sha256_hex(code), issued, now)
    return access


class McpClient:
    def __init__(self, app, token, workspace):
        self.app = app
        self.token = token
        self.workspace = workspace
        self._ids = count(1)

    async def send(self, body, *, method="POST", token=..., path="/mcp", **headers):
        """Status, headers and body of one HTTP request."""
        token = self.token if token is ... else token
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = await self.app.test_client().open(path, method=method, headers=sent, data=data)
        return response.status_code, response.headers, await response.get_data()

    async def send_message(self, method, params=None, token=...):
        """The JSON-RPC answer to a request."""
        sent = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        status, _, body = await self.send(sent | ({} if params is None else {"params": params}), token=token)
        assert status == 200, body
        answer = json.loads(body)
        assert answer["id"] == sent["id"], answer
        return answer

    async def call_expecting_protocol_error(self, tool, arguments):
        """Code and message of the JSON-RPC error of a call."""
        answer = await self.send_message("tools/call", {"name": tool, "arguments": arguments})
        assert "result" not in answer, answer
        return answer["error"]["code"], answer["error"]["message"]

    async def tools(self, token=...):
        """The entries of all pages."""
        return [tool for page in await self.tool_pages(token) for tool in page["tools"]]

    async def tool_pages(self, token=...):
        """The answers of `tools/list`, from the first page to the last."""
        pages = [(await self.send_message("tools/list", token=token))["result"]]
        while "nextCursor" in pages[-1]:
            cursor = {"cursor": pages[-1]["nextCursor"]}
            pages.append((await self.send_message("tools/list", cursor, token=token))["result"])
        return pages

    async def call_result(self, tool, arguments):
        """The result of a tool, a success or not."""
        answer = await self.send_message("tools/call", {"name": tool, "arguments": arguments})
        assert "error" not in answer, answer
        return answer["result"]

    async def call(self, tool, **arguments):
        """What a tool answers."""
        result = await self.call_result(tool, arguments)
        assert result["isError"] is False, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    async def call_expecting_error(self, tool, **arguments):
        """The body of the error of a tool."""
        result = await self.call_result(tool, arguments)
        assert result["isError"] is True
        assert "structuredContent" not in result
        [content] = result["content"]
        assert content["type"] == "text"
        return json.loads(content["text"])
