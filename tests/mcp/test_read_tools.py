"""`/mcp?tools=read`: reads only, whatever the token may do."""

import json

from tests.mcp.test_tools import TOOLS_BY_NAME

READ_ADDRESS = "/mcp?tools=read"


async def result_of(mcp_client, method, params):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    status, _, body = await mcp_client.send(message, path=READ_ADDRESS)
    assert status == 200, body
    return json.loads(body)


async def test_only_reads_are_listed(mcp_client):
    names, params = [], {}
    while params is not None:
        page = (await result_of(mcp_client, "tools/list", params))["result"]
        names += [tool["name"] for tool in page["tools"]]
        assert all(tool["annotations"]["readOnlyHint"] for tool in page["tools"])
        params = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    assert names == [name for name, tool in TOOLS_BY_NAME.items() if tool.annotations["readOnlyHint"]]
    assert "explain_change" in names
    assert not {"create_export", "create_rule", "undo", "delete_link"} & set(names)


async def test_write_is_an_unknown_tool_there_and_a_read_is_answered(mcp_client):
    for name in ("create_link", "create_export", "undo"):
        refused = await result_of(mcp_client, "tools/call", {"name": name, "arguments": {}})
        assert refused["error"]["code"] == -32602, name
    answer = await result_of(mcp_client, "tools/call", {"name": "get_workspace", "arguments": {}})
    assert answer["result"]["isError"] is False
