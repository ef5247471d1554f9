"""Whatever is sent is answered as the protocol says, and is never a fault of ours."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.composition.compose import load_installed_registry_once
from hosts.mcp.tools import build_tools_of_v1_key_operations

TOOLS = build_tools_of_v1_key_operations(load_installed_registry_once().operations)
TEXTS = st.text(max_size=8) | st.sampled_from(["2026-07-01", "visitors", "7d", "\0", "%00/..", "[1]"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KINDS = {
    "string": TEXTS,
    "integer": st.integers(-(10**6), 10**20),
    "boolean": st.booleans(),
    "array": st.lists(VALUES, max_size=3),
    "object": st.dictionaries(TEXTS, VALUES, max_size=3),
}


def matching_arguments(schema):
    """A value of the kind a schema names, its objects with fields they know."""
    inside = {name: matching_arguments(one) for name, one in schema.get("properties", {}).items()}
    if inside:
        needed = schema.get("required", ())
        optional = {name: one for name, one in inside.items() if name not in needed}
        return st.fixed_dictionaries({name: inside[name] for name in needed}, optional=optional)
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | TEXTS
    if "items" in schema:
        return st.lists(matching_arguments(schema["items"]), max_size=2)
    return KINDS.get(schema.get("type"), VALUES)


ARGUMENTS = {tool.name: matching_arguments(tool.arguments_schema) for tool in TOOLS}


@settings(max_examples=60)
@given(data=st.data())
async def test_random_arguments_of_every_tool_get_a_response(workspace_api, mcp_client, data):
    workspace_api.later(minutes=1)
    name = data.draw(st.sampled_from(list(ARGUMENTS)))
    arguments = data.draw(ARGUMENTS[name] | st.dictionaries(TEXTS, VALUES, max_size=3))
    answer = await mcp_client.send_message("tools/call", {"name": name, "arguments": arguments})
    if "error" in answer:
        assert answer["error"]["code"] == -32602
    elif answer["result"]["isError"]:
        body = json.loads(answer["result"]["content"][0]["text"])
        assert body["error"]
        assert body.get("code") not in ("internal_error", "data_unverified"), (name, arguments)


@settings(max_examples=100)
@given(
    message=VALUES | st.just("\ud800"),
    method=st.sampled_from(["initialize", "tools/list", "tools/call"]),
    params=VALUES,
)
async def test_random_messages_get_a_response(mcp_client, message, method, params):
    wrapped = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    for sent in (message, wrapped):
        status, _, body = await mcp_client.send(json.dumps(sent).encode())
        assert status in (200, 400)
        assert json.loads(body)["jsonrpc"] == "2.0"
