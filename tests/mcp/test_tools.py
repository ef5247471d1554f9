"""Which tools there are, what they take, and who sees them."""

import json

import pytest
from jsonschema import Draft202012Validator

from hosts.composition.compose import load_installed_registry_once
from hosts.mcp.tools import build_tools_of_v1_key_operations
from service_core import builtin
from service_core.access.roles import Role
from service_core.api.examples import load_examples
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.operations import (
    CredentialRequirement,
    RateLimitClass,
    Reversibility,
    RoutePrefix,
    Scope,
)
from tests.mcp.mcp_client import connect_client, grant_access_token

CONTRACT = """
get_overview get_traffic get_devices get_locations get_realtime get_tags
list_events list_event_properties list_event_names list_users get_user get_retention get_ltv get_funnel
get_attribution get_ads get_revenue get_commerce_metrics get_subscriptions
get_metrics list_metrics analytics_query list_dimension_values explain_change search get_context
get_workspace get_usage get_onboarding search_docs get_ledger list_audit
create_export list_exports get_export
list_reports get_report run_report list_dashboards get_dashboard run_dashboard list_analyses get_analysis
list_share_links
list_rules list_links list_script_proposals get_script_proposal
create_rule update_rule delete_rule
create_link update_link delete_link
propose_script
create_report update_report delete_report create_dashboard update_dashboard delete_dashboard
reorder_dashboard create_analysis update_analysis delete_analysis
create_share_link revoke_share_link
undo
"""
"""The tools of the first page."""

SECOND_PAGE = """
list_funnel_persons get_paths list_path_sessions list_experiments get_experiment_results list_journeys
create_receipt get_receipt list_receipt_records list_rule_deliveries plan_changes get_approval list_segments get_segment
list_annotations get_annotation list_email_reports get_email_report list_email_report_deliveries
list_alerts get_alert list_alert_deliveries list_webhooks get_webhook list_webhook_deliveries
list_connections list_providers get_workspace_settings
create_webhook update_webhook delete_webhook send_test_message replace_webhook_secret create_connection
update_connection delete_connection test_connection update_workspace
create_segment update_segment delete_segment create_annotation update_annotation delete_annotation
create_email_report update_email_report delete_email_report send_test_email create_alert update_alert
delete_alert rotate_webhook_secret update_share_link rollback apply_change_set undo_change_set
"""

CORE = collect_plugins_into_registry([("builtin", builtin)]).operations
TOOLS_BY_NAME = {tool.name: tool for tool in build_tools_of_v1_key_operations(CORE)}
WRITERS = {
    Scope.WRITE_RULES: {"create_rule", "update_rule", "delete_rule", "update_workspace"}
    | {"create_connection", "update_connection", "delete_connection", "test_connection"}
    | {"create_webhook", "update_webhook", "delete_webhook", "send_test_message", "replace_webhook_secret"},
    Scope.WRITE_LINKS: {"create_link", "update_link", "delete_link"},
    Scope.PROPOSE_SCRIPTS: {"propose_script"},
}
ANY_WRITE_SCOPE = {"undo", "rollback", "plan_changes", "apply_change_set", "undo_change_set", "get_approval"}


@pytest.fixture
async def tools(mcp_client):
    return await mcp_client.tools()


def test_tools_are_those_of_the_specification_in_order():
    assert list(TOOLS_BY_NAME) == (CONTRACT + SECOND_PAGE).split()


def test_every_operation_available_to_keys_is_a_tool():
    """So a route that comes brings its tool, and no tool mints keys, approves scripts or erases data.

    Imports are none: their files go to a link, which no tool can send.
    """
    opened = {
        f"{op.method} {op.path}"
        for op in CORE
        if op.credential is CredentialRequirement.KEY and op.prefix is RoutePrefix.V1 and op.tag != "imports"
    }
    assert {f"{tool.operation.method} {tool.operation.path}" for tool in TOOLS_BY_NAME.values()} == opened


async def test_list_stays_under_64_kib(mcp_client, tools):
    _, _, body = await mcp_client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert len(body) < 64 * 1024
    first_page = [tool["name"] for tool in json.loads(body)["result"]["tools"]]
    assert first_page == CONTRACT.split()
    assert [tool["name"] for tool in tools] == list(TOOLS_BY_NAME)
    for page in await mcp_client.tool_pages():
        assert len(json.dumps(page, separators=(",", ":"))) < 64 * 1024


async def test_unknown_cursor_of_the_list_is_refused(mcp_client):
    answer = await mcp_client.send_message("tools/list", {"cursor": "nothing"})
    assert answer["error"]["code"] == -32602


async def test_argument_with_a_text_of_its_own_keeps_it(tools):
    arguments = {tool["name"]: tool["inputSchema"]["properties"] for tool in tools}
    commerce = arguments["get_commerce_metrics"]
    assert commerce["start_date"]["description"].startswith(
        "Start, inclusive: an ISO 8601 instant on an exact"
    )
    assert commerce["end_date"]["description"].startswith("End, exclusive: an ISO 8601 instant on an exact")
    assert arguments["get_ledger"]["start_date"]["description"] == "Start by receipt, inclusive."
    assert arguments["create_export"]["end_date"]["description"] == "End, inclusive; at most 366 days."
    assert arguments["get_funnel"]["segment_id"]["description"].startswith(
        "A segment, whose filters the event"
    )
    shared = "Date or ISO 8601 instant; both inclusive."
    assert arguments["get_overview"]["start_date"]["description"] == shared
    assert "description" not in arguments["get_overview"]["end_date"]


async def test_every_tool_has_input_and_output_schemas(tools):
    for tool in tools:
        assert list(tool) == [
            "name", "title", "description", "inputSchema", "outputSchema", "annotations",
        ]  # fmt: skip
        assert tool["title"]
        assert len(tool["description"]) > 10
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "$ref" not in json.dumps(schema)
        assert tool["outputSchema"]["required"]


def test_annotations_say_what_reads_what_adds_and_what_changes():
    for tool in TOOLS_BY_NAME.values():
        hints = tool.tools_list_entry["annotations"]
        assert hints["openWorldHint"] is False
        if tool.is_write or tool.name in ("create_export", "plan_changes"):
            adds = tool.name.startswith(("create_", "propose_", "plan_"))
            repeats = {"apply_change_set", "send_test_email", "send_test_message", "test_connection"}
            repeats |= {"rotate_webhook_secret", "replace_webhook_secret"}
            assert hints == {
                "readOnlyHint": False,
                "destructiveHint": not adds or tool.name == "propose_script",
                "idempotentHint": not adds and tool.name not in repeats,
                "openWorldHint": False,
            }, tool.name
        else:
            assert hints == {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    assert TOOLS_BY_NAME["update_rule"].annotations["destructiveHint"] is True


@pytest.mark.parametrize(
    ("name", "reversibility"),
    [
        ("update_report", "Reversible."),
        ("delete_link", "Reversible."),
        ("create_rule", "Reversible with effects: "),
        ("revoke_share_link", "Irreversible."),
        ("propose_script", "Irreversible."),
        ("rotate_webhook_secret", "Irreversible."),
        ("delete_connection", "Reversible with effects: "),
    ],
)
def test_write_tools_say_how_far_a_change_can_be_taken_back(name, reversibility):
    writes = {tool.name: tool.tools_list_entry for tool in TOOLS_BY_NAME.values() if tool.is_write}
    assert all("eversible" in entry["description"] for entry in writes.values())
    assert reversibility in writes[name]["description"]


def test_recorded_writes_are_as_reversible_as_declared():
    order = [Reversibility.REVERSIBLE, Reversibility.REVERSIBLE_WITH_EFFECTS, Reversibility.IRREVERSIBLE]
    declared = {tool.operation.id: tool.operation.reversibility for tool in TOOLS_BY_NAME.values()}
    recorded = {
        name: example["answer"]["reversibility"]
        for name, example in load_examples().items()
        if isinstance(example.get("answer"), dict) and example["answer"].get("reversibility")
    }
    assert len(recorded) > 20
    for name, found in recorded.items():
        assert order.index(found) <= order.index(declared[name]), name


def test_write_tools_default_to_dry_run_and_accept_idempotency_keys():
    for tool in TOOLS_BY_NAME.values():
        properties = tool.tools_list_entry["inputSchema"]["properties"]
        if tool.is_write:
            assert properties["dry_run"]["default"] is True
            assert properties["idempotency_key"]["type"] == "string"
        else:
            assert "dry_run" not in properties
    assert not TOOLS_BY_NAME["create_export"].is_write


def test_arguments_are_the_parameters_and_fields_of_the_route():
    for tool in TOOLS_BY_NAME.values():
        op, taken = tool.operation, set(tool.arguments_schema["properties"])
        fields = [model.model_json_schema() for model in (op.path_model, op.query, op.body) if model]
        named = {name for schema in fields for name in schema.get("properties", ())}
        own = (
            {"dry_run", "idempotency_key"}
            if op.rate_limit is RateLimitClass.MUTATION
            else {"idempotency_key"}
        )
        ranges = {"start_date", "end_date", "date_range"}
        assert taken - own - ranges == named - own - ranges
        assert taken & ranges == (ranges if named & ranges else set()), tool.name
        required = {name for schema in fields for name in schema.get("required", ())}
        assert set(tool.arguments_schema.get("required", ())) == required - ranges
        assert tool.requires_range == bool(required & ranges)


def test_nested_schemas_are_complete():
    cards = TOOLS_BY_NAME["create_dashboard"].arguments_schema["properties"]["dashboard"]["properties"][
        "layout"
    ]
    card = cards["properties"]["cards"]["items"]
    assert set(card["properties"]) == {"report_id", "size"}
    assert card["required"] == ["report_id"]
    query = TOOLS_BY_NAME["analytics_query"].arguments_schema["properties"]
    assert set(query["date_range"]["properties"]) == {"from", "to", "preset"}
    assert query["limit"] == {"type": "integer", "default": 100, "minimum": 1, "maximum": 1000}


async def test_token_lists_the_tools_of_its_scopes(workspace_api, mcp_client):
    writers = {
        name
        for name, tool in TOOLS_BY_NAME.items()
        if tool.is_write or tool.operation.scope is not Scope.READ
    }
    reads = [name for name in TOOLS_BY_NAME if name not in writers]
    of_reports = writers - ANY_WRITE_SCOPE - set().union(*WRITERS.values())
    opened = WRITERS | {Scope.WRITE_REPORTS: of_reports}
    for scopes in [(), *((scope,) for scope in opened), (Scope.WRITE_RULES, Scope.WRITE_REPORTS)]:
        held = {Scope.READ, *scopes}
        token = await grant_access_token(
            workspace_api.service.ports.workspace, mcp_client.workspace, workspace_api.now, scopes=held
        )
        seen = [tool["name"] for tool in await mcp_client.tools(token)]
        assert [name for name in seen if name not in writers] == reads
        expected = set().union(*(opened[scope] for scope in scopes))
        assert set(seen) & writers == expected | (ANY_WRITE_SCOPE if expected else set())


async def test_token_for_totals_sees_and_calls_aggregate_reads_only(workspace_api, mcp_client):
    token = await grant_access_token(
        workspace_api.service.ports.workspace,
        mcp_client.workspace,
        workspace_api.now,
        scopes={Scope.READ_AGGREGATES},
    )
    mcp_client.token = token
    seen = {tool["name"] for tool in await mcp_client.tools()}
    assert {"get_overview", "analytics_query", "get_retention", "list_reports"} <= seen
    hidden = {
        "list_events",
        "list_users",
        "get_user",
        "list_journeys",
        "create_export",
        "list_exports",
        "undo",
    }
    assert not seen & hidden
    assert seen == {name for name, tool in TOOLS_BY_NAME.items() if tool.operation.is_aggregate}
    assert "range" in await mcp_client.call("get_overview", date_range={"preset": "7d"})
    for name, arguments in (("list_events", {"date_range": {"preset": "7d"}}), ("get_user", {"userId": "x"})):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        status, _, body = await mcp_client.send(call | {"params": {"name": name, "arguments": arguments}})
        refused = json.loads(body)
        assert (status, refused["required_scope"]) == (403, "service:read")
    uri = "touchpoint://results/list_users?arguments=%7B%22date_range%22%3A%7B%22preset%22%3A%227d%22%7D%7D"
    refused = await mcp_client.send_message("resources/read", {"uri": uri})
    assert refused["error"]["data"]["code"] == "insufficient_scope"


PROPERTY_FILTER = {"dimension": "property:email", "op": "contains", "value": "a"}
OF_PROPERTIES = [
    ("analytics_query", {"metrics": ["events"], "dimensions": ["property:email"]}),
    ("analytics_query", {"metrics": ["events"], "filters": [PROPERTY_FILTER]}),
    ("get_metrics", {"metrics": ["events"], "filters": [PROPERTY_FILTER]}),
    ("explain_change", {"metric": "events", "dimensions": ["property:email"]}),
    ("list_dimension_values", {"dimension": "property:email"}),
    ("get_funnel", {"steps": ["a", "b"], "breakdown": "property:email"}),
    ("get_funnel", {"steps": ["a", "b"], "step_filters": json.dumps([[PROPERTY_FILTER], []])}),
    ("get_retention", {"breakdown": "property:email"}),
    ("get_retention", {"filters": json.dumps([PROPERTY_FILTER])}),
    ("get_retention", {"event_filters": json.dumps([PROPERTY_FILTER])}),
    ("get_ltv", {"breakdown": "property:email"}),
]
"""Reads whose answers depend on the content of single events."""


async def test_token_for_totals_reads_no_custom_properties_also_not_saved_ones(workspace_api, mcp_client):
    segment = await workspace_api.ask(
        "POST", "/segments", {"segment": {"name": "With an a", "filters": [PROPERTY_FILTER]}}
    )
    plan = {"metrics": ["events"], "dimensions": ["property:email"]}
    week = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}
    fields = {"name": "By e-mail", "source": "query", "plan": plan, "default_range": week["date_range"]}
    report = {"report": fields}
    saved = (await workspace_api.ask("POST", "/reports", report)).json["data"]["id"]
    of_segment = {"segment_id": segment.json["data"]["id"]}
    calls = [
        *((name, arguments | week) for name, arguments in OF_PROPERTIES),
        ("get_overview", of_segment | week),
        ("get_funnel", {"steps": ["a", "b"]} | of_segment | week),
        ("run_report", {"reportId": saved}),
        ("create_report", report),
    ]
    for name, arguments in calls:
        await mcp_client.call(name, **arguments)
        workspace_api.later(minutes=1)
    mcp_client.token = await grant_access_token(
        workspace_api.service.ports.workspace,
        mcp_client.workspace,
        workspace_api.now,
        scopes={Scope.READ_AGGREGATES, Scope.WRITE_REPORTS},
    )
    for name, arguments in calls:
        refused = await mcp_client.call_expecting_error(name, **arguments)
        assert (refused["code"], refused["required_scope"]) == ("insufficient_scope", "service:read"), name
        workspace_api.later(minutes=1)


UNLISTED_CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "create_link", "arguments": {"link": {"name": "x"}}},
}  # fmt: skip


async def test_unlisted_tool_of_the_role_is_answered_with_a_step_up_challenge(workspace_api):
    program = await connect_client(
        workspace_api.service,
        workspace_api.workspaces["shop"],
        workspace_api.now,
        scopes={Scope.READ, Scope.WRITE_REPORTS},
    )
    status, headers, body = await program.send(UNLISTED_CALL)
    refused = json.loads(body)
    assert (status, refused["code"]) == (403, "insufficient_scope")
    assert refused["required_scope"] == "service:write:links"
    assert headers["WWW-Authenticate"] == (
        'Bearer resource_metadata="https://t.example/.well-known/oauth-protected-resource", '
        'scope="service:read service:write:links service:write:reports", error="insufficient_scope", '
        'error_description="Missing scope service:write:links"'
    )


async def test_unlisted_tool_beyond_the_role_is_refused_and_names_its_scope(workspace_api):
    shop = workspace_api.workspaces["shop"]
    await connect_client(workspace_api.service, shop, workspace_api.now)
    program = await connect_client(
        workspace_api.service, shop, workspace_api.now, role=Role.MEMBER, name="bob"
    )
    refused = await program.call_expecting_error("create_link", link={"name": "x"})
    assert (refused["code"], refused["required_scope"]) == ("insufficient_scope", "service:write:links")


def test_plugins_add_no_tools_to_the_core_list():
    assert [
        tool.name for tool in build_tools_of_v1_key_operations(load_installed_registry_once().operations)
    ] == list(TOOLS_BY_NAME)
