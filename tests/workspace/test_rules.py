"""Writing conversion rules over the API, on SQLite."""

import asyncio
import re
from collections import Counter

import pytest

from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    ConnectionStatus,
)
from tests.workspace.conftest import WorkspaceApi
from tests.workspace.rule_requests import MAIN, RULE, connect_platform, create_rule

SECOND = ConnectedAccount("act_2", "Second", (Asset("5678"), Asset("9999")))
ACTIONS = ConnectedAccount("777", None, (Asset("42", "Sale"), Asset("43", "Lead form")))


@pytest.fixture
async def meta_workspace(workspace_api):
    """A workspace with one pixel of Meta."""
    await connect_platform(workspace_api, "meta", MAIN)
    return workspace_api


async def refused_rule(workspace_api, **fields):
    return (await workspace_api.ask("POST", "/rules", {"rule": RULE | fields})).refusal


async def test_dry_run_names_platform_account_and_pixel(meta_workspace):
    planned = (await meta_workspace.ask("POST", "/rules", {"rule": RULE, "dry_run": True})).json
    assert (planned["dry_run"], planned["applied"], "audit_id" in planned) == (True, False, False)
    diff = planned["diff"]
    assert diff["resource"] == {"type": "conversion_rule", "id": None, "label": "Purchase to Meta"}
    assert (diff["action"], diff["prior_state"]) == ("create", None)
    values = {"name": "Purchase to Meta", "trigger_event": "purchase", "platform": "meta", "active": True}
    assert diff["new_state"].items() >= (values | {"platform_event": "Purchase"}).items()
    changes = {change["field"]: (change["from"], change["to"]) for change in diff["changes"]}
    assert list(changes) == sorted(changes)
    assert changes["active"] == (None, True)
    assert changes["name"] == (None, "Purchase to Meta")
    assert changes["platform"] == (None, "meta")
    assert diff["effects"] == [
        {
            "type": "postback_target",
            "summary": "purchase from any source is sent to Meta pixel 1234 as Purchase",
            "platform": "meta",
            "ad_account_id": "act_1",
            "asset_id": "1234",
            "asset_field": "pixel_id",
            "endpoint_url_masked": "https://graph.facebook.com/…/1234/events",
            "trigger_event": "purchase",
            "trigger_event_source": "any",
            "platform_event": "Purchase",
            "active": True,
        }
    ]
    assert planned["data"].items() >= {"id": None, "asset_id": "1234", "platform_event": "Purchase"}.items()
    assert (await meta_workspace.ask("GET", "/rules")).json == {"rules": []}


async def test_rule_has_the_defaults_of_the_contract(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    assert re.fullmatch("[0-9a-f-]{36}", rule["id"])
    usual = {
        "trigger_event_source": "any", "ad_account_id": "act_1", "asset_id": "1234", "custom_event_name": None,
        "value_type": "dynamic", "value_path": None, "static_value": None, "currency_path": None, "currency": None,
        "conditions": [], "dedup_window_hours": 48, "test_mode": False, "test_event_code": None, "active": True,
        "created_via": "api",
    }  # fmt: skip
    assert {name: rule[name] for name in usual} == usual
    later = (await create_rule(meta_workspace, name="Leads", trigger_event="lead", platform_event="Lead"))[
        "data"
    ]
    assert (await meta_workspace.ask("GET", "/rules")).json == {"rules": [later, rule]}


async def test_hours_are_clamped(meta_workspace):
    assert (await create_rule(meta_workspace, dedup_window_hours=1000))["data"]["dedup_window_hours"] == 168
    lead = await create_rule(meta_workspace, trigger_event="lead", dedup_window_hours=-3)
    assert lead["data"]["dedup_window_hours"] == 1


async def test_patch_changes_only_sent_fields(meta_workspace):
    rule = (await create_rule(meta_workspace, test_event_code="T1", value_path="cart.total"))["data"]
    patch = {"rule": {"name": "Sales", "test_event_code": "", "active": False}}
    changed = (await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", patch)).json
    sent = {"name": "Sales", "test_event_code": None, "active": False}
    assert changed["data"] == rule | sent | {"updated_at": changed["data"]["updated_at"]}
    assert changed["diff"]["new_state"] == sent
    (effect,) = changed["diff"]["effects"]
    assert effect["active"] is False
    assert effect["summary"] == (
        "purchase from any source is not sent to Meta pixel 1234 as Purchase while the rule is inactive"
    )


async def test_two_changes_in_one_instant_have_different_versions(meta_workspace):
    made = (await create_rule(meta_workspace))["data"]
    sent = [{"rule": {"name": name}} for name in ("One", "Two")]
    changed = [(await meta_workspace.send("PATCH", f"/rules/{made['id']}", body)).json for body in sent]
    dates = [made["updated_at"], *(one["data"]["updated_at"] for one in changed)]
    assert dates == sorted(set(dates))


async def test_patch_of_the_platform_needs_a_new_target(meta_workspace):
    await connect_platform(meta_workspace, "tiktok", ConnectedAccount("tt", None, (Asset("C1"),)))
    rule = (await create_rule(meta_workspace))["data"]
    refusal = await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", {"rule": {"platform": "tiktok"}})
    assert refusal.refusal == (422, "invalid_platform_event", "rule.platform_event")
    assert "CompletePayment" in refusal.json["hint"]
    patch = {"rule": {"platform": "tiktok", "platform_event": "CompletePayment"}}
    changed = (await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", patch)).json
    (effect,) = changed["diff"]["effects"]
    assert (effect["platform"], effect["ad_account_id"], effect["asset_id"]) == ("tiktok", "tt", "C1")
    assert effect["endpoint_url_masked"] == "https://business-api.tiktok.com/open_api/…/event/track/"
    assert effect["summary"] == "purchase from any source is sent to TikTok pixel C1 as CompletePayment"
    undone = (await meta_workspace.ask("POST", f"/audit/{changed['audit_id']}/undo")).json
    assert undone["data"] == rule | {"updated_at": undone["data"]["updated_at"]}
    assert undone["diff"]["effects"][0]["asset_id"] == "1234"


async def test_patch_of_the_asset_finds_its_account(meta_workspace):
    await connect_platform(meta_workspace, "meta", MAIN, SECOND)
    rule = (await create_rule(meta_workspace, asset_id="1234"))["data"]
    patch = {"rule": {"asset_id": "9999"}}
    changed = (await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", patch)).json
    assert (changed["data"]["ad_account_id"], changed["data"]["asset_id"]) == ("act_2", "9999")


async def test_delete_is_undone_under_the_same_id(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    gone = (await meta_workspace.ask("DELETE", f"/rules/{rule['id']}")).json
    assert "data" not in gone
    (effect,) = gone["diff"]["effects"]
    assert (effect["type"], effect["active"]) == ("postback_target", False)
    assert (await meta_workspace.ask("GET", "/rules")).json == {"rules": []}
    undone = (await meta_workspace.ask("POST", f"/audit/{gone['audit_id']}/undo")).json
    assert undone["data"] == rule | {"updated_at": undone["data"]["updated_at"]}
    assert (await meta_workspace.ask("POST", f"/audit/{gone['audit_id']}/undo")).refusal[
        1
    ] == "already_undone"


async def test_duplicate_rule_for_one_event_and_target_is_refused(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    assert await refused_rule(meta_workspace, name="Again") == (409, "duplicate_rule", "rule")
    again = await meta_workspace.ask("POST", "/rules", {"rule": RULE, "dry_run": True})
    assert again.refusal == (409, "duplicate_rule", "rule")
    other = (await create_rule(meta_workspace, trigger_event_source="stripe"))["data"]
    patch = {"rule": {"trigger_event_source": "any"}}
    assert (await meta_workspace.ask("PATCH", f"/rules/{other['id']}", patch)).refusal[:2] == (
        409,
        "duplicate_rule",
    )
    gone = (await meta_workspace.ask("DELETE", f"/rules/{rule['id']}")).json
    assert (await meta_workspace.ask("PATCH", f"/rules/{other['id']}", patch)).status == 200
    undone = await meta_workspace.ask("POST", f"/audit/{gone['audit_id']}/undo")
    assert undone.refusal[:2] == (409, "duplicate_rule")


async def test_one_of_twenty_concurrent_creates_succeeds(workspace_url, tmp_path):
    workspace_api = WorkspaceApi(tmp_path, storage={"events": "memory://", "workspace": workspace_url})
    async with workspace_api.service:
        await connect_platform(await workspace_api.open(), "meta", MAIN)
        answers = await asyncio.gather(
            *(workspace_api.send("POST", "/rules", {"rule": RULE}) for _ in range(20))
        )
        assert Counter(answer.status for answer in answers) == {200: 1, 409: 19}
        assert len((await workspace_api.ask("GET", "/rules")).json["rules"]) == 1


async def test_custom_events_are_distinguished_by_name(meta_workspace):
    for name in ("Demo", "Trial"):
        made = await create_rule(meta_workspace, platform_event="custom", custom_event_name=name)
        assert made["diff"]["effects"][0]["summary"].endswith(f"Meta pixel 1234 as {name}")
    own = {"platform_event": "custom", "custom_event_name": "Demo"}
    assert (await refused_rule(meta_workspace, **own))[:2] == (409, "duplicate_rule")


async def test_rules_are_isolated_by_workspace(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    assert (await meta_workspace.ask("GET", "/rules", key="other")).json == {"rules": []}
    for method, body in (("PATCH", {"rule": {"name": "y"}}), ("DELETE", None)):
        theirs = await meta_workspace.ask(method, f"/rules/{rule['id']}", body, key="other")
        random = await meta_workspace.ask(
            method, "/rules/01890000-0000-7000-8000-000000000000", body, key="other"
        )
        assert theirs.status == 404
        assert theirs.bytes == random.bytes


@pytest.mark.parametrize("status", [status for status in ConnectionStatus if status != "connected"])
async def test_rule_needs_a_platform_that_is_connected(workspace_api, status):
    assert await refused_rule(workspace_api) == (422, "platform_not_connected", "rule.platform")
    await connect_platform(workspace_api, "meta", MAIN, status=status)
    assert await refused_rule(workspace_api) == (422, "platform_not_connected", "rule.platform")


async def test_account_without_a_pixel_is_no_target(workspace_api):
    await connect_platform(workspace_api, "meta", ConnectedAccount("act_1"))
    assert await refused_rule(workspace_api) == (422, "platform_not_connected", "rule.platform")


async def test_rule_is_paused_while_its_platform_is_not_connected(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    await connect_platform(meta_workspace, "meta", MAIN, status=ConnectionStatus.EXPIRED)
    paused = await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", {"rule": {"active": False}})
    assert paused.json["data"]["active"] is False


async def test_target_must_be_named_when_there_are_several(workspace_api):
    await connect_platform(workspace_api, "meta", MAIN, SECOND)
    assert await refused_rule(workspace_api) == (400, "missing_field", "rule.asset_id")
    assert await refused_rule(workspace_api, ad_account_id="act_2") == (400, "missing_field", "rule.asset_id")
    assert (await create_rule(workspace_api, ad_account_id="act_1"))["data"]["asset_id"] == "1234"
    assert (await create_rule(workspace_api, asset_id="5678"))["data"]["ad_account_id"] == "act_2"


async def test_pixel_shared_by_two_accounts_needs_its_account(workspace_api):
    await connect_platform(workspace_api, "meta", MAIN, ConnectedAccount("act_3", None, MAIN.assets))
    assert await refused_rule(workspace_api, asset_id="1234") == (400, "missing_field", "rule.ad_account_id")
    assert (await create_rule(workspace_api, asset_id="1234", ad_account_id="act_3"))["data"][
        "ad_account_id"
    ] == "act_3"


@pytest.mark.parametrize(
    ("named", "field"),
    [
        ({"asset_id": "1"}, "rule.asset_id"),
        ({"asset_id": "1234", "ad_account_id": "act_9"}, "rule.asset_id"),
        ({"ad_account_id": "act_9"}, "rule.ad_account_id"),
    ],
)
async def test_unconnected_asset_is_unknown(meta_workspace, named, field):
    assert await refused_rule(meta_workspace, **named) == (422, "unknown_asset", field)


async def test_event_names_are_limited_by_platform(meta_workspace):
    refusal = await meta_workspace.ask("POST", "/rules", {"rule": RULE | {"platform_event": "purchase"}})
    assert refusal.refusal == (422, "invalid_platform_event", "rule.platform_event")
    assert refusal.json["hint"].startswith("It takes Purchase, AddToCart")


async def test_events_of_google_are_the_conversion_actions_of_the_account(meta_workspace):
    await connect_platform(meta_workspace, "google", ACTIONS)
    google = {"platform": "google", "asset_id": "42"}
    for name in ("Purchase", "custom"):
        refusal = await refused_rule(meta_workspace, **google, platform_event=name, custom_event_name="x")
        assert refusal == (422, "invalid_platform_event", "rule.platform_event")
    made = await create_rule(meta_workspace, **google, platform_event="Sale")
    (effect,) = made["diff"]["effects"]
    assert effect["asset_field"] == "conversion_action_id"
    assert effect["summary"] == "purchase from any source is sent to Google conversion action 42 as Sale"
    assert effect["endpoint_url_masked"] == (
        "https://googleads.googleapis.com/…/customers/777:uploadClickConversions"
    )
    assert (await create_rule(meta_workspace, **google, platform_event="42"))["applied"]


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"platform": "myspace"}, (400, "invalid_parameter", "rule.platform")),
        ({"trigger_event_source": "fax"}, (400, "invalid_parameter", "rule.trigger_event_source")),
        ({"value_type": "guess"}, (400, "invalid_parameter", "rule.value_type")),
        ({"x": 1}, (400, "unknown_field", "rule.x")),
        ({"active": "yes"}, (400, "invalid_parameter", "rule.active")),
        ({"name": " "}, (422, "invalid_field", "rule.name")),
        ({"name": "x" * 121}, (422, "invalid_field", "rule.name")),
        ({"trigger_event": ""}, (422, "invalid_field", "rule.trigger_event")),
        ({"platform_event": "custom"}, (422, "invalid_field", "rule.custom_event_name")),
        ({"value_path": "a..b"}, (422, "invalid_field", "rule.value_path")),
        ({"currency_path": "."}, (422, "invalid_field", "rule.currency_path")),
        ({"currency": "dollar"}, (422, "invalid_field", "rule.currency")),
        ({"value_type": "static"}, (422, "invalid_field", "rule.static_value")),
        ({"value_type": "static", "static_value": 5}, (422, "invalid_field", "rule.currency")),
        ({"static_value": 1.5, "currency": "JPY"}, (422, "invalid_field", "rule.static_value")),
        ({"static_value": -1, "currency": "USD"}, (422, "invalid_field", "rule.static_value")),
        ({"conditions": [{"property": "plan"}] * 11}, (422, "invalid_field", "rule.conditions")),
        ({"conditions": [{"property": "", "value": 1}]}, (422, "invalid_field", "rule.conditions[0].property")),
        ({"conditions": [{"property": "a", "op": "regex"}]}, (400, "invalid_parameter", "rule.conditions[0].op")),
        (
            {"conditions": [{"property": "a", "op": "in", "value": 1}]},
            (422, "invalid_filter", "rule.conditions[0].value"),
        ),
    ],
)  # fmt: skip
async def test_invalid_rules_are_refused(meta_workspace, fields, refusal):
    assert await refused_rule(meta_workspace, **fields) == refusal


async def test_static_value_is_an_amount_of_its_currency(meta_workspace):
    rule = (await create_rule(meta_workspace, value_type="static", static_value=12.5, currency="usd"))["data"]
    assert (rule["static_value"], rule["currency"]) == (12.5, "USD")
    conditions = [
        {"property": "plan.tier", "op": "in", "value": ["pro", 2]},
        {"property": "country", "op": "is_set"},
    ]
    patch = {"rule": {"conditions": conditions, "value_type": None}}
    changed = (await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", patch)).json["data"]
    assert (changed["value_type"], changed["static_value"]) == ("dynamic", 12.5)
    assert changed["conditions"] == [conditions[0], conditions[1] | {"value": None}]


@pytest.mark.parametrize("missing", ["name", "trigger_event", "platform", "platform_event"])
async def test_rule_describes_its_purpose(meta_workspace, missing):
    body = {"rule": {name: value for name, value in RULE.items() if name != missing}}
    assert (await meta_workspace.ask("POST", "/rules", body)).refusal == (
        400,
        "missing_field",
        f"rule.{missing}",
    )


async def test_writing_rules_needs_its_scope(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    writes = (("POST", "/rules", {"rule": RULE}), ("PATCH", f"/rules/{rule['id']}", {"rule": {}}))
    for method, path, body in (*writes, ("DELETE", f"/rules/{rule['id']}", None)):
        refusal = await meta_workspace.ask(method, path, body, key="shop links")
        assert (refusal.status, refusal.json["required_scope"]) == (403, "service:write:rules")
    assert (await meta_workspace.ask("GET", "/rules", key="shop reader")).status == 200


async def test_retry_with_idempotency_key_creates_one_rule(meta_workspace):
    first = await meta_workspace.send("POST", "/rules", {"rule": RULE}, once="k")
    again = await meta_workspace.send("POST", "/rules", {"rule": RULE}, once="k")
    assert (again.headers["Idempotent-Replay"], again.json) == ("true", first.json)
    assert len((await meta_workspace.ask("GET", "/rules")).json["rules"]) == 1
