"""Whatever is sent is answered as the protocol says, and is never a fault of ours."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.composition.compose import load_installed_registry
from hosts.mcp.tools import build_tools

TOOLS = build_tools(load_installed_registry().operations)
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


def fitting(schema):
    """A value of the kind a schema names, its objects with fields they know."""
    inside = {name: fitting(one) for name, one in schema.get("properties", {}).items()}
    if inside:
        needed = schema.get("required", ())
        optional = {name: one for name, one in inside.items() if name not in needed}
        return st.fixed_dictionaries({name: inside[name] for name in needed}, optional=optional)
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | TEXTS
    if "items" in schema:
        return st.lists(fitting(schema["items"]), max_size=2)
    return KINDS.get(schema.get("type"), VALUES)


ARGUMENTS = {tool.name: fitting(tool.arguments_schema) for tool in TOOLS}


@settings(max_examples=60)
@given(data=st.data())
async def test_any_arguments_of_any_tool_are_answered(workspace_api, mcp_client, data):
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
async def test_any_message_is_answered(mcp_client, message, method, params):
    wrapped = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    for sent in (message, wrapped):
        status, _, body = await mcp_client.send(json.dumps(sent).encode())
        assert status in (200, 400)
        assert json.loads(body)["jsonrpc"] == "2.0"
