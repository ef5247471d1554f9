"""`/mcp?tools=compact`: a dozen tools within 2,000 tokens, results once as text."""

import json

import pytest

from hosts.mcp.compact_tool_list import COMPACT_TOOLS, EVENT_ROWS, MAX_LIST_TOKENS, SAVED_KINDS
from service_core.kernel.operations import Scope
from service_core.testing.event_builder import EventBuilder
from tests.mcp.mcp_client import grant_access_token
from tests.workspace.resource_fixtures import ResourceFactory

ADDRESS = "/mcp?tools=compact"
WEEK = {"date_range": {"from": "2026-07-01", "to": "2026-07-08"}}
NAMES = "query explain_change funnel retention attribution people events saved_work change catalog search_docs call_tool"


class CompactClient:
    def __init__(self, mcp_client):
        self.mcp_client = mcp_client

    async def send(self, method, params, token=...):
        """The body of the answer as bytes, and its result."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, _, body = await self.mcp_client.send(message, path=ADDRESS, token=token)
        assert status == 200, body
        return body, json.loads(body)

    async def tools(self, token=...):
        body, answer = await self.send("tools/list", {}, token)
        assert "nextCursor" not in answer["result"]
        return body, answer["result"]["tools"]

    async def call_result(self, name, arguments):
        _, answer = await self.send("tools/call", {"name": name, "arguments": arguments})
        return answer["result"]

    async def call(self, tool, /, **arguments):
        result = await self.call_result(tool, arguments)
        assert result["isError"] is False, result
        assert "structuredContent" not in result
        text = result["content"][0]["text"]
        answer = json.loads(text)
        assert len(text) <= len(json.dumps(answer, separators=(",", ":")))
        return answer

    async def call_expecting_error(self, tool, /, **arguments):
        result = await self.call_result(tool, arguments)
        assert result["isError"] is True, result
        return json.loads(result["content"][0]["text"])


@pytest.fixture
def compact(workspace_api, mcp_client):
    return CompactClient(mcp_client)


async def test_list_of_tools_stays_within_2000_tokens(compact):
    """A token is estimated as four characters of the whole answer."""
    body, tools = await compact.tools()
    assert [tool["name"] for tool in tools] == NAMES.split() == list(COMPACT_TOOLS)
    assert len(body.decode()) / 4 <= MAX_LIST_TOKENS == 2000
    for tool in tools:
        assert "outputSchema" not in tool
        assert " Not " in tool["description"], "it says when to use another"
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] != "change")


async def test_change_is_listed_to_tokens_that_may_change_something(compact, workspace_api):
    token = await grant_access_token(
        workspace_api.service.ports.workspace,
        compact.mcp_client.workspace,
        workspace_api.now,
        scopes={Scope.READ},
    )
    _, tools = await compact.tools(token)
    assert "change" in [tool["name"] for tool in tools]  # an export needs no write scope
    totals = await grant_access_token(
        workspace_api.service.ports.workspace,
        compact.mcp_client.workspace,
        workspace_api.now,
        scopes={Scope.READ_AGGREGATES},
    )
    _, tools = await compact.tools(totals)
    assert "change" not in [tool["name"] for tool in tools]
    refused = await compact.call_expecting_error("call_tool", name="create_link", arguments={})
    assert (refused["field"], "create_link" in refused["allowed"]) == ("name", False)


@pytest.mark.parametrize(("path", "sent", "first"), [
    ("/mcp", "compact", "query"), ("/mcp", "read", "get_overview"), ("/mcp", "all", "get_overview"),
    ("/mcp?tools=compact", "read", "query"),
])  # fmt: skip
async def test_header_chooses_the_tools_of_an_address_without_the_parameter(mcp_client, path, sent, first):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    status, _, body = await mcp_client.send(message, path=path, Mcp_Tools=sent)
    listed = json.loads(body)["result"]
    assert (status, listed["tools"][0]["name"]) == (200, first)
    assert any(not tool["annotations"]["readOnlyHint"] for tool in listed["tools"]) is (
        sent == "all" or first == "query"
    )


CALLS = [
    ("query", WEEK | {"metrics": ["visitors"], "dimensions": ["country"]}, "rows"),
    ("query", {"metrics": ["visitors"], "start_date": "2026-07-01", "end_date": "2026-07-08"}, "totals"),
    ("explain_change", WEEK | {"metric": "visitors", "dimensions": ["country"]}, "drivers"),
    ("funnel", WEEK | {"steps": ["page_view", "purchase"]}, "steps"),
    ("retention", WEEK | {"granularity": "day"}, "rows"),
    ("attribution", WEEK | {"model": "linear"}, "campaigns"),
    ("people", WEEK, "users"),
    ("events", WEEK, "events"),
    ("catalog", {}, "metrics"),
    ("search_docs", {"q": "metric"}, "results"),
    ("call_tool", {"name": "get_overview", "arguments": WEEK}, "range"),
    ("change", {"tool": "create_link", "arguments": {"link": {"name": "x", "destination_url": "https://e.com"}}}, "diff"),
]  # fmt: skip


async def test_every_tool_answers(compact, workspace_api):
    for name, arguments, field in CALLS:
        workspace_api.later(minutes=1)
        assert field in await compact.call(name, **arguments), name
    assert {name for name, _, _ in CALLS} | {"saved_work"} == set(COMPACT_TOOLS)


async def test_query_answers_as_the_tool_it_calls(compact, mcp_client):
    arguments = WEEK | {"metrics": ["visitors"], "dimensions": ["country"]}
    full = await mcp_client.call("analytics_query", **arguments)
    short = await compact.call("query", **arguments)
    assert (short["rows"], short["totals"]) == (full["rows"], full["totals"])


async def test_lists_without_a_limit_are_short(compact):
    assert (await compact.call("events", **WEEK))["limit"] == EVENT_ROWS
    assert (await compact.call("events", **WEEK, limit=3))["limit"] == 3


async def test_rows_have_the_fields_asked_for_and_no_nulls(compact, mcp_client, workspace_api):
    story = EventBuilder(workspace_api.workspaces["shop"].id)
    story.add_event("page_view", at="2026-07-08T10:00", visitor="V")
    await workspace_api.service.ports.events.append(story.events)
    [full] = (await mcp_client.call("list_events", **WEEK))["events"]
    [short] = (await compact.call("events", **WEEK))["events"]
    assert short == {name: value for name, value in full.items() if value is not None}
    chosen = await compact.call("events", **WEEK, fields=["event_name", "visitor_id"])
    assert chosen["events"] == [{"event_name": "page_view", "visitor_id": "V"}]
    refused = await compact.call_expecting_error("events", **WEEK, fields=["luck"])
    assert (refused["field"], "event_name" in refused["allowed"]) == ("fields", True)
    people = await compact.call("people", **WEEK, fields=["visitor_id"])
    assert people["users"] == [{"visitor_id": "V"}]
    assert (await compact.call_expecting_error("events", **WEEK, fields="x"))["field"] == "fields"


async def test_people_with_an_id_returns_one_person(compact, workspace_api):
    story = EventBuilder(workspace_api.workspaces["shop"].id)
    story.add_event("page_view", at="2026-07-08T10:00", visitor="V")
    await workspace_api.service.ports.events.append(story.events)
    listed = await compact.call("people", **WEEK)
    known = listed["users"][0]["visitor_id"]
    assert (await compact.call("people", id=known))["user"]["visitor_id"] == known


async def test_saved_work_lists_every_kind_gets_and_runs_one(compact, workspace_api):
    for kind in SAVED_KINDS:
        assert isinstance(await compact.call("saved_work", kind=kind), dict), kind
    report = await ResourceFactory(workspace_api).id("reportId", "shop")
    assert report in json.dumps(await compact.call("saved_work", kind="reports", id=report))
    assert await compact.call("saved_work", kind="reports", id=report, run=True, **WEEK)
    unknown = await compact.call_expecting_error("saved_work", kind="charts")
    assert (unknown["field"], unknown["allowed"]) == ("kind", list(SAVED_KINDS))
    refused = await compact.call_expecting_error("saved_work", kind="links", id=report)
    assert (refused["field"], "reports" in refused["allowed"]) == ("id", True)
    refused = await compact.call_expecting_error("saved_work", kind="links", id=report, run=True)
    assert refused["allowed"] == ["reports", "dashboards"]
    assert (await compact.call_expecting_error("saved_work", kind="reports", run=True))["field"] == "id"


async def test_change_previews_applies_and_undoes(compact):
    link = {"link": {"name": "Spring", "destination_url": "https://example.com/a"}}
    preview = await compact.call("change", tool="create_link", arguments=link | {"dry_run": False})
    assert (preview["dry_run"], preview["applied"]) == (True, False)  # the outer dry_run decides
    applied = await compact.call("change", tool="create_link", arguments=link, dry_run=False)
    assert applied["applied"] is True
    rename = {"link_id": applied["data"]["id"], "link": {"name": "Summer"}}
    renamed = await compact.call("change", tool="update_link", arguments=rename, dry_run=False)
    undone = await compact.call(
        "change", tool="undo", arguments={"audit_id": renamed["audit_id"]}, dry_run=False
    )
    assert undone["data"]["name"] == "Spring"


async def test_export_is_created_by_change_without_a_preview_only(compact):
    body = {"type": "events", "start_date": "2026-07-01", "end_date": "2026-07-08"}
    refused = await compact.call_expecting_error("change", tool="create_export", arguments=body)
    assert (refused["field"], "dry_run: false" in refused["hint"]) == ("dry_run", True)
    export = await compact.call("change", tool="create_export", arguments=body, dry_run=False)
    assert export["status"]
    assert (await compact.call_expecting_error("call_tool", name="create_export"))["field"] == "name"


async def test_catalog_defines_names_and_says_which_are_unknown(compact):
    listed = await compact.call("catalog")
    assert ("visitors" in listed["metrics"], "country" in listed["dimensions"]) == (True, True)
    assert ("get_overview" in listed["read_tools"], "create_link" in listed["write_tools"]) == (True, True)
    defined = await compact.call("catalog", names=["visitors", "country", "query", "create_link", "luck"])
    assert [metric["id"] for metric in defined["metrics"]] == ["visitors"]
    assert [dimension["id"] for dimension in defined["dimensions"]] == ["country"]
    assert [tool["name"] for tool in defined["tools"]] == ["analytics_query", "create_link"]
    assert defined["unknown"] == ["luck"]


async def test_arguments_in_the_catalog_are_in_snake_case(compact):
    listed = await compact.call("catalog")
    defined = await compact.call("catalog", names=[*listed["read_tools"], *listed["write_tools"]])
    schemas = {tool["name"]: tool["inputSchema"] for tool in defined["tools"]}
    assert [
        name for schema in schemas.values() for name in schema["properties"] if name != name.lower()
    ] == []
    assert "user_id" in schemas["get_user"]["required"]


WRONG_CALLS = [
    ("query", {}, "metrics"),
    ("query", {"metrics": ["visitors"]}, "date_range"),
    ("query", WEEK | {"metrics": ["visitors"], "where": 1}, "where"),
    ("funnel", {}, "steps"),
    ("catalog", {"name": "visitors"}, "name"),
    ("catalog", {"names": "visitors"}, "names"),
    ("change", {"tool": "get_overview"}, "tool"),
    ("change", {"tool": "create_link", "arguments": []}, "arguments"),
    ("change", {"tool": "create_link", "arguments": {"link": {}}, "dry_run": 1}, "dry_run"),
    ("call_tool", {"name": "drop_tables"}, "name"),
]


async def test_wrong_arguments_are_results_with_the_field_and_a_hint(compact):
    for name, arguments, field in WRONG_CALLS:
        refused = await compact.call_expecting_error(name, **arguments)
        assert refused["hint"], (name, refused)
        assert refused["field"] in (field, "start_date" if field == "date_range" else field), (name, refused)


async def test_unknown_tool_is_refused(compact):
    _, answer = await compact.send("tools/call", {"name": "get_overview", "arguments": WEEK})
    assert answer["error"]["code"] == -32602


async def test_hint_names_a_tool_of_the_list(compact, monkeypatch):
    from service_core.api import dispatch  # noqa: PLC0415 - the limit of this test only

    monkeypatch.setattr(dispatch, "MAX_ANSWER_BYTES", 10)
    refused = await compact.call_expecting_error("call_tool", name="get_workspace", arguments={})
    assert "change with tool create_export" in refused["hint"]
