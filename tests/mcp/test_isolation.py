"""No program reaches into another workspace (S1): every tool x every id x (own, other, deleted, random)."""

import json

import pytest

from service_core.kernel.ids import new_id
from tests.workspace.resource_fixtures import BODY_IDS, CREATORS, NEVER_DELETED, PATCH_BODIES, ResourceFactory

CREATE_TOOLS = {
    "POST /links": "create_link",
    "POST /dashboards": "create_dashboard",
    "PATCH /dashboards": "update_dashboard",
    "POST /analyses": "create_analysis",
    "POST /share-links": "create_share_link",
}
"""Where an id stands in the body of a write -> its tool."""


@pytest.fixture
def resource_factory(workspace_api):
    return ResourceFactory(workspace_api)


async def tool_and_route_responses(workspace_api, mcp_client, tool, *ids, **arguments):
    """The result of a tool as text, without the ids that were asked for."""
    workspace_api.later(minutes=1)
    text = json.dumps(await mcp_client.call_result(tool, arguments))
    for one in ids:
        text = text.replace(one, "ID")
    return text


async def test_objects_of_another_workspace_are_not_found(workspace_api, mcp_client, resource_factory):
    request = 0
    for tool in await mcp_client.tools():
        taken = tool["inputSchema"]["properties"]
        more = {
            name: value for body in PATCH_BODIES.values() for name, value in body.items() if name in taken
        }
        for name in [name for name in taken if name in CREATORS]:
            ids = {
                "random": str(new_id()),
                "other": await resource_factory.id(name, "other"),
                "own": await resource_factory.id(name, "shop"),
            }
            if name not in NEVER_DELETED:
                ids["deleted"] = await resource_factory.id(name, "shop", deleted=True)
            answers = {
                kind: await tool_and_route_responses(
                    workspace_api, mcp_client, tool["name"], one, **{name: one}, **more
                )
                for kind, one in ids.items()
            }
            assert '"Not found' in answers["random"].replace("\\", ""), tool["name"]
            assert answers["other"] == answers["random"] == answers.get("deleted", answers["random"])
            assert '"Not found' not in answers["own"].replace("\\", ""), tool["name"]
            request += 1
    assert request >= 18


@pytest.mark.parametrize("where", BODY_IDS)
async def test_ids_of_another_workspace_in_bodies_are_not_found(
    workspace_api, mcp_client, resource_factory, where
):
    name, body = BODY_IDS[where]
    tool = CREATE_TOOLS[" ".join(where.split(" ")[:2])]
    more = {"dashboardId": await resource_factory.id("dashboardId", "shop")} if "PATCH" in where else {}
    random, other = str(new_id()), await resource_factory.id(name, "other")
    gone, own = await resource_factory.id(name, "shop", deleted=True), await resource_factory.id(name, "shop")
    answers = [
        await tool_and_route_responses(workspace_api, mcp_client, tool, one, **body(one), **more)
        for one in (random, other, gone, own)
    ]
    assert answers[0] == answers[1] == answers[2]
    assert ('"isError": true' in answers[0], '"isError": false' in answers[3]) == (True, True)


async def test_lists_and_searches_show_nothing_of_another_workspace(
    workspace_api, mcp_client, resource_factory
):
    theirs = [await resource_factory.id(name, "other") for name in CREATORS]
    week = {"start_date": "2026-07-01", "end_date": "2026-07-08"}
    known = week | {
        "q": "visitor",
        "dimension": "channel",
        "steps": "a,b",
        "metrics": ["visitors"],
        "metric": "visitors",
        "experiment": "checkout",
    }
    known |= {"date_range": {"preset": "last_30_days"}, "type": "events", "step": 1, "start": "/"}
    known["plan"] = {name: known[name] for name in ("metrics", "date_range")}
    for tool in await mcp_client.tools():
        taken, needed = set(tool["inputSchema"]["properties"]), set(tool["inputSchema"].get("required", ()))
        if tool["annotations"].get("readOnlyHint") and not needed & set(CREATORS):
            names = needed | ({"date_range"} & taken or {*week} & taken)
            answer = await tool_and_route_responses(
                workspace_api, mcp_client, tool["name"], **{name: known[name] for name in names}
            )
            assert '"isError": false' in answer, (tool, answer)
            assert [one for one in theirs if one in answer] == [], tool["name"]
