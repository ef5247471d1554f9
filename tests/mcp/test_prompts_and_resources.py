"""Prompts for common jobs, `llms.txt`, and large answers as resources."""

import json

from mcp_types import methods

from hosts.mcp.prompts import PROMPTS
from hosts.mcp.short_results import MAX_CHARACTERS
from service_core.testing.event_builder import EventBuilder
from tests.mcp.test_compact_tools import CompactClient
from tests.mcp.test_stateless_protocol import VERSION, send

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}


async def test_ten_prompts_are_listed_and_rendered(mcp_client):
    listed = (await mcp_client.send_message("prompts/list"))["result"]["prompts"]
    assert len(listed) == len(PROMPTS) == 10
    assert {"weekly_report", "why_did_it_change", "campaign_check"} <= {prompt["name"] for prompt in listed}
    for prompt in listed:
        needed = {known["name"]: "Spring sale" for known in prompt["arguments"] if known["required"]}
        answer = await mcp_client.send_message("prompts/get", {"name": prompt["name"], "arguments": needed})
        [message] = answer["result"]["messages"]
        assert message["role"] == "user"
        text = message["content"]["text"]
        assert "{" not in text
        assert all(value in text for value in needed.values())
        for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
            methods.validate_server_result("prompts/get", version, answer["result"])


async def test_wrong_arguments_of_a_prompt_are_refused(mcp_client):
    for arguments in ({}, {"metric": 7}, {"metric": "x" * 501}):
        sent = {"name": "why_did_it_change", "arguments": arguments}
        answer = await mcp_client.send_message("prompts/get", sent)
        assert answer["error"]["code"] == -32602
        assert "metric" in answer["error"]["message"]


async def test_prompt_and_resource_of_the_stateless_revision_fit_its_types(mcp_client):
    got = await send(mcp_client, "prompts/get", {"name": "weekly_report"}, Mcp_Name="weekly_report")
    methods.validate_server_result("prompts/get", VERSION, got[1]["result"])
    for uri in (await llms_uri(mcp_client), "touchpoint://results/get_workspace"):
        status, answer = await send(mcp_client, "resources/read", {"uri": uri}, Mcp_Name=uri)
        assert status == 200
        methods.validate_server_result("resources/read", VERSION, answer["result"])


async def llms_uri(mcp_client):
    listed = (await mcp_client.send_message("resources/list"))["result"]["resources"]
    [entry] = [entry for entry in listed if entry["name"] == "llms.txt"]
    return entry["uri"]


async def test_llms_txt_is_a_resource(mcp_client):
    uri = await llms_uri(mcp_client)
    [contents] = (await mcp_client.send_message("resources/read", {"uri": uri}))["result"]["contents"]
    assert (contents["uri"], contents["mimeType"]) == (uri, "text/plain")
    assert contents["text"].startswith("# Touchpoint")


async def add_events(workspace_api, count):
    story = EventBuilder(workspace_api.workspaces["shop"].id)
    for number in range(count):
        story.add_event(f"step {number}", at="2026-07-08T10:00", visitor=f"V{number}")
    await workspace_api.service.ports.events.append(story.events)


async def test_large_compact_result_is_cut_and_its_resource_has_all_rows(workspace_api, mcp_client):
    await add_events(workspace_api, 200)
    compact = CompactClient(mcp_client)
    arguments = WEEK | {"limit": 200}
    result = await compact.call_result("events", arguments)
    [content] = result["content"]
    assert len(content["text"]) <= MAX_CHARACTERS
    short = json.loads(content["text"])
    note = short["full_result"]
    assert (note["field"], note["rows"], note["rows_shown"]) == ("events", 200, len(short["events"]))
    assert 0 < note["rows_shown"] < 200
    read = await mcp_client.send_message("resources/read", {"uri": note["uri"]})
    [contents] = read["result"]["contents"]
    full = json.loads(contents["text"])
    assert len(full["events"]) == 200
    shown = [event["event_id"] for event in short["events"]]
    assert [event["event_id"] for event in full["events"]][: note["rows_shown"]] == shown
    assert "events[].event_name" in contents["_meta"]["untrusted"]
    assert full == await mcp_client.call("list_events", omit_nulls=True, **arguments)


async def test_cut_result_links_its_resource_where_the_revision_has_links(workspace_api, mcp_client):
    await add_events(workspace_api, 200)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call["params"] = {"name": "events", "arguments": WEEK | {"limit": 200}}
    for version, kinds in (
        ("2025-03-26", ["text"]),
        ("2025-06-18", ["text", "resource_link"]),
        ("2025-11-25", ["text", "resource_link"]),
    ):
        _, _, body = await mcp_client.send(call, path="/mcp?tools=compact", MCP_Protocol_Version=version)
        result = json.loads(body)["result"]
        assert [content["type"] for content in result["content"]] == kinds
        methods.validate_server_result("tools/call", version, result)


async def test_only_reads_are_resources(mcp_client):
    for uri in (
        "touchpoint://results/create_link?arguments=%7B%7D",
        "touchpoint://results/create_export",
        "touchpoint://results/nothing",
        "touchpoint://results/get_workspace?arguments=%5B%5D",
        "touchpoint://other/get_workspace",
        "touchpoint://[",
    ):
        answer = await mcp_client.send_message("resources/read", {"uri": uri})
        assert answer["error"]["code"] == -32002, uri
    answer = await mcp_client.send_message("resources/read", {"uri": "touchpoint://results/get_overview"})
    assert (answer["error"]["code"], answer["error"]["data"]["field"]) == (-32602, "start_date")
