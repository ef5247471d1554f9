"""Pages of `tools/list` hold as many tools as fit, and one at least."""

from hosts.mcp.jsonrpc import JsonRpcRequest
from hosts.mcp.tool_pages import MAX_PAGE_BYTES, build_page_of_tools

HUGE = {"name": "huge", "description": "x" * (MAX_PAGE_BYTES + 1)}


def read_pages(entries):
    """Names on each page; no more than ten pages."""
    pages, params = [], {}
    while len(pages) < 10:
        page = build_page_of_tools(JsonRpcRequest(1, "tools/list", params), entries, [])
        pages.append([tool["name"] for tool in page["tools"]])
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    return pages


def test_tool_larger_than_a_page_has_a_page_of_its_own():
    assert read_pages([{"name": "a"}, HUGE, {"name": "b"}]) == [["a"], ["huge"], ["b"]]
    assert read_pages([HUGE]) == [["huge"]]
