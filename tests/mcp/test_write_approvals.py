"""Writes through MCP that wait for a person: what the tool says, and how a client that can open pages asks."""

import json
from dataclasses import replace

import pytest
from mcp_types import methods

from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes
from service_core.access.members.models import Account, Member
from service_core.access.roles import Role
from service_core.access.write_policy import ApprovalRule, ProgramKind, WritePolicy
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.workspace.approvals.decision import ApprovalDecisions
from service_core.workspace.approvals.models import WriteApproval
from tests.mcp.test_stateless_protocol import KEYS, META, VERSION, send

LINK = {"name": "Spring", "destination_url": "https://example.com"}
CALL = {"name": "create_link", "arguments": {"link": LINK, "dry_run": False}}
CAN_OPEN_PAGES = META | {f"{KEYS}/clientCapabilities": {"elicitation": {"url": {}}}}


async def save_policy(api, policy):
    workspace = replace(api.workspaces["shop"], write_policy=policy)
    await api.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(workspace)


@pytest.fixture
async def client(workspace_api, mcp_client):
    """A client whose writes of links need an approval."""
    await save_policy(workspace_api, WritePolicy((ApprovalRule(ProgramKind.OAUTH, Scope.WRITE_LINKS),)))
    return mcp_client


async def decide(api, *, approve):
    workspace, account = api.workspaces["shop"], Account(new_id(), "boss@example.com", None, api.now)
    member = Member(workspace.id, account.id, Role.OWNER, api.now)
    async with api.service.ports.workspace.transactions.read(workspace.id) as transaction:
        [record] = await transaction.resources.list_all(WriteApproval)
    decisions = api.service.component(ApprovalDecisions)
    approver = build_dashboard_caller_with_role_scopes(account, member, workspace, api.now)
    await (decisions.approve if approve else decisions.decline)(approver, member, record.id, record.nonce)


async def test_waiting_write_tells_a_model_what_to_do(client):
    error = await client.call_expecting_error("create_link", **CALL["arguments"])
    assert (error["status"], error["applied"]) == ("pending", False)
    assert error["approval_url"].startswith("https://app.example/changes/")
    assert "get_approval" in error["hint"]
    assert (await client.call("get_approval", approvalId=error["id"]))["status"] == "pending"


@pytest.mark.parametrize("approve", [True, False])
async def test_client_that_opens_pages_is_asked_and_gets_the_decision(workspace_api, client, approve):
    status, answer = await send(client, "tools/call", CALL, meta=CAN_OPEN_PAGES)
    asked = answer["result"]
    methods.validate_server_result("tools/call", VERSION, asked)
    assert (status, asked["resultType"]) == (200, "input_required")
    params = asked["inputRequests"]["approval"]["params"]
    assert (params["mode"], "/changes/" in params["url"]) == ("url", True)
    again = CALL | {
        "requestState": asked["requestState"],
        "inputResponses": {"approval": {"action": "accept"}},
    }
    early = (await send(client, "tools/call", again, meta=CAN_OPEN_PAGES))[1]["result"]
    assert (early["isError"], json.loads(early["content"][0]["text"])["status"]) == (True, "pending")
    await decide(workspace_api, approve=approve)
    decided = (await send(client, "tools/call", again, meta=CAN_OPEN_PAGES))[1]["result"]
    assert (decided["isError"], len(await workspace_api.links())) == (not approve, int(approve))
    forged = again | {"requestState": asked["requestState"][:-1] + "x"}
    assert "error" in (await send(client, "tools/call", forged, meta=CAN_OPEN_PAGES))[1]


async def test_client_without_the_capability_is_not_asked(client):
    answer = (await send(client, "tools/call", CALL))[1]["result"]
    assert (answer["resultType"], answer["isError"]) == ("complete", True)


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_client_of_a_revision_with_handshake_gets_the_address_as_an_error(client, revision):
    capabilities = {"elicitation": {"form": {}, "url": {}}}
    information = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "c"}}
    begun = await client.send_message("initialize", information)
    assert begun["result"]["protocolVersion"] == revision
    answer = await client.send_message("tools/call", CALL)
    waiting = json.loads(answer["result"]["content"][0]["text"])
    assert (answer["result"]["isError"], waiting["status"]) == (True, "pending")
    assert "/changes/" in waiting["approval_url"]


async def test_plan_demanded_by_the_person_is_told_with_the_tools(workspace_api, mcp_client):
    await save_policy(workspace_api, WritePolicy(plan_tokens=frozenset({ProgramKind.OAUTH})))
    error = await mcp_client.call_expecting_error("create_link", **CALL["arguments"])
    assert (error["code"], "plan_changes" in error["hint"]) == ("plan_required", True)
    changes = [{"method": "POST", "path": "/links", "body": {"link": LINK}}]
    planned = await mcp_client.call("plan_changes", changes=changes)
    token = {"changeSetId": planned["id"], "plan_token": planned["plan_token"], "dry_run": False}
    assert (await mcp_client.call("apply_change_set", **token))["applied"] is True
