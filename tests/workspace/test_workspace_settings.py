"""`GET /workspace/settings` and `PATCH /workspace`: planned, applied, recorded and undone like every write."""

import pytest

from service_core.kernel.operations import Scope
from tests.mcp.mcp_client import connect_client

INITIAL = {
    "name": "shop",
    "domain": None,
    "timezone": "UTC",
    "currency": "USD",
    "conversions": None,
    "any_revenue": True,
    "revenue_events": [],
    "channels": [],
    "model": None,
    "window_days": None,
    "event_retention_days": None,
    "fees": [],
    "write_approvals": [],
    "plan_tokens": [],
    "updated_at": "2026-07-08T15:00:00.000Z",
}


async def settings_of(api, key="shop"):
    return (await api.ask("GET", "/workspace/settings", key=key)).json


async def change(api, *, key="shop", dry_run=False, **fields):
    return await api.ask("PATCH", "/workspace", {"workspace": fields, "dry_run": dry_run}, key=key)


async def test_dry_run_shows_the_change_and_its_effects_and_changes_nothing(workspace_api):
    planned = (await change(workspace_api, currency="eur", timezone="Europe/Berlin", dry_run=True)).json
    assert (planned["dry_run"], planned["applied"]) == (True, False)
    assert planned["diff"]["changes"] == [
        {"field": "currency", "from": "USD", "to": "EUR"},
        {"field": "timezone", "from": "UTC", "to": "Europe/Berlin"},
    ]
    assert planned["diff"]["resource"]["type"] == "workspace"
    assert [effect["field"] for effect in planned["diff"]["effects"]] == ["timezone", "currency"]
    assert "Days, weeks and charts follow" in planned["diff"]["effects"][0]["summary"]
    assert await settings_of(workspace_api) == INITIAL
    assert (await workspace_api.ask("GET", "/audit")).json["entries"] == []


async def test_change_applies_to_reads_at_once_and_is_undone(workspace_api):
    fields = {
        "name": "Corner shop",
        "domain": "https://Shop.Example/",
        "currency": "EUR",
        "conversions": ["webinar", "purchase", "webinar"],
        "channels": [{"id": "custom:crm", "source": "news*"}],
        "model": "linear",
        "window_days": 7,
        "fees": [{"provider": "stripe", "percent": 2.9, "fixed": 0.3, "currency": "usd"}],
    }
    saved = (await change(workspace_api, **fields)).json
    expected = INITIAL | fields | {
        "domain": "shop.example",
        "conversions": ["purchase", "webinar"],
        "channels": [{"id": "custom:crm", "source": "news*", "medium": None, "campaign": None}],
        "fees": [{"provider": "stripe", "percent": 2.9, "fixed": 0.3, "currency": "USD"}],
        "updated_at": saved["data"]["updated_at"],
    }  # fmt: skip
    assert saved["data"] == await settings_of(workspace_api) == expected
    assert expected["updated_at"] > INITIAL["updated_at"]
    workspace = (await workspace_api.ask("GET", "/workspace")).json
    assert (workspace["name"], workspace["currency"]) == ("Corner shop", "EUR")
    context = (await workspace_api.ask("GET", "/context")).json
    assert context["attribution_default"] == {"model": "linear", "window_days": 7}
    (entry,) = (await workspace_api.ask("GET", "/audit?resource_type=workspace")).json["entries"]
    assert (entry["action"], entry["undoable"], entry["prior_state"]["name"]) == ("update", True, "shop")
    undone = (await workspace_api.ask("POST", f"/audit/{saved['audit_id']}/undo")).json
    assert undone["applied"]
    restored = await settings_of(workspace_api)
    assert restored == INITIAL | {"updated_at": undone["data"]["updated_at"]}
    other = await settings_of(workspace_api, key="other")
    assert other["name"] == "other"


async def test_change_that_changes_nothing_is_not_recorded(workspace_api):
    saved = (await change(workspace_api, name="shop")).json
    assert (saved["applied"], saved["diff"]["changes"]) == (False, [])
    assert (await workspace_api.ask("GET", "/audit")).json["entries"] == []


async def test_change_of_an_older_version_is_refused(workspace_api):
    version = (await settings_of(workspace_api))["updated_at"]
    assert (await change(workspace_api, name="A", expected_updated_at=version)).status == 200
    refused = await change(workspace_api, name="B", expected_updated_at=version)
    assert refused.refusal[:2] == (409, "stale_update")
    assert refused.json["current_updated_at"] == (await settings_of(workspace_api))["updated_at"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"timezone": "Mars/Base"}, "workspace.timezone"),
        ({"domain": "not a host"}, "workspace.domain"),
        ({"channels": [{"id": "crm", "source": "x"}]}, "workspace.channels"),
        ({"channels": [{"id": "custom:crm"}]}, "workspace.channels"),
        ({"model": "guess"}, "workspace.model"),
        ({"model": "markov"}, "workspace.model"),
        ({"window_days": 0}, "workspace.window_days"),
        ({"conversions": [" "]}, "workspace.conversions"),
        ({"fees": [{"provider": "stripe", "percent": 101}]}, "workspace.fees"),
        ({"fees": [{"provider": "stripe", "percent": 1, "fixed": 1}]}, "workspace.fees"),
    ],
)
async def test_invalid_setting_is_refused_and_changes_nothing(workspace_api, fields, field):
    assert (await change(workspace_api, **fields)).refusal == (422, "invalid_field", field)
    assert await settings_of(workspace_api) == INITIAL


@pytest.mark.parametrize("fields", [{"currency": "XXQ"}, {"name": " "}, {"name": None}, {"plan": "scale"}])
async def test_value_that_no_setting_has_is_refused_by_the_schema(workspace_api, fields):
    assert (await change(workspace_api, **fields)).status == 400
    assert await settings_of(workspace_api) == INITIAL


async def test_only_the_scope_of_rules_changes_settings(workspace_api):
    for key in ("shop reader", "shop links", "shop scripts"):
        refused = await change(workspace_api, key=key, name="Mine")
        assert (refused.status, refused.json["required_scope"]) == (403, "service:write:rules")
    assert await settings_of(workspace_api) == INITIAL


async def test_no_program_changes_when_events_are_deleted(workspace_api):
    refused = await change(workspace_api, event_retention_days=30)
    assert refused.refusal == (403, "role_required", "workspace.event_retention_days")
    planned = await change(workspace_api, event_retention_days=30, dry_run=True)
    assert planned.status == 403
    assert await settings_of(workspace_api) == INITIAL


async def test_tool_changes_settings_after_a_dry_run(workspace_api):
    shop = workspace_api.workspaces["shop"]
    program = await connect_client(
        workspace_api.service, shop, workspace_api.now, scopes={Scope.READ, Scope.WRITE_RULES}
    )
    planned = await program.call("update_workspace", workspace={"name": "Corner shop"})
    assert (planned["dry_run"], planned["data"]["name"]) == (True, "Corner shop")
    assert (await program.call("get_workspace_settings"))["name"] == "shop"
    await program.call("update_workspace", workspace={"name": "Corner shop"}, dry_run=False)
    assert (await program.call("get_workspace_settings"))["name"] == "Corner shop"
