"""Scripts and pixels a workspace approved, as pages run them."""

import json
from uuid import UUID

from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes
from service_core.access.members.membership import add_member_with_password_link_if_needed
from service_core.access.roles import Role
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.clock import system_clock
from service_core.workspace.scripts.resource import SCRIPT_PROPOSALS
from service_core.workspace.scripts.review_proposal import plan_review_of_pending_proposal
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.tracked_site import QUEUE_STUB

pytestmark = IN_BROWSER


async def approve_script(tracked_site, **fields):
    browser_deployment, now = tracked_site.browser_deployment, system_clock()
    owner = await add_member_with_password_link_if_needed(
        browser_deployment.store.accounts,
        browser_deployment.store.members,
        tracked_site.workspace,
        email=browser_deployment.ann.email,
        role=Role.OWNER,
        now=now,
    )
    caller = build_dashboard_caller_with_role_scopes(owner.account, owner.member, tracked_site.workspace, now)
    changes, propose = (
        browser_deployment.service.component(ChangeExecutor),
        SCRIPT_PROPOSALS.operation("propose_script"),
    )
    body = propose.body.model_validate({"proposal": fields, "dry_run": False})
    proposed = (await propose(body, caller=caller, changes=changes)).body.data
    await changes.preview_or_apply_change(
        caller, plan_review_of_pending_proposal(caller, UUID(proposed["id"]), "approved", None), dry_run=False
    )


def approved_script(name, **fields):
    return {"name": name, "type": "inline", "content": f"(window.ran ??= []).push('{name}')"} | fields


async def test_approved_scripts_run_by_their_triggers_conditions_and_frequencies(tracked_site):
    tracked_site.policy = f"script-src 'nonce-abc' {tracked_site.ingest}; connect-src {tracked_site.ingest}; img-src {tracked_site.ingest}"
    tracked_site.attributes = 'nonce="abc"'
    cart = [{"type": "url_path", "operator": "starts_with", "value": "/cart"}]
    other = [
        {"type": "url_parameter", "operator": "equals", "value": "b", "parameter": "a"},
        {"type": "device_type", "operator": "not_equals", "value": "mobile"},
    ]
    for each in (
        approved_script("plain"), approved_script("loaded", trigger="window_load"), approved_script("ready", trigger="dom_ready"),
        approved_script("in cart", conditions=cart), approved_script("other", conditions=other),
        approved_script("session", frequency="once_per_session"), approved_script("clicked", trigger="custom"),
        approved_script("once", trigger="custom", frequency="once_per_page"),
        approved_script("broken", content="throw new Error('of its own')"),
        approved_script("seen", type="pixel", content="https://pixel.example/p.gif"),
    ):  # fmt: skip
        await approve_script(tracked_site, **each)
    tracked_site.stub = f'<script nonce="abc">{QUEUE_STUB.replace("<script>", "").replace("</script>", "")}touchpoint.track("once")</script>'
    seen = "() => window.ran?.includes('once') && [...ran].sort()"
    async with tracked_site.visitor() as context:
        page = await context.new_page()
        await page.goto(tracked_site.url("/?a=b"))
        first = await (await page.wait_for_function(seen)).json_value()
        assert first == ["loaded", "once", "other", "plain", "ready", "session"]
        await page.evaluate("touchpoint.track('once'); touchpoint.track('clicked')")
        await page.evaluate("touchpoint.track('clicked')")
        await page.evaluate("history.pushState({}, '', '/cart/1')")
        await page.wait_for_function("ran.includes('in cart')")
        assert sorted(await page.evaluate("ran")) == sorted([*first, "clicked", "clicked", "in cart"])
        await page.goto(tracked_site.url("/?a=c"))
        again = await (await page.wait_for_function(seen)).json_value()
        assert again == ["loaded", "once", "plain", "ready"]


async def test_pixels_receive_rule_events_with_the_platform_event_id(tracked_site):
    mapped = {"enabled": True, "event_mappings": {"purchase": "Purchase", "lead": "Lead"}}
    pixels = {"meta": {"pixel_id": "12", **mapped}, "tiktok": {"pixel_id": "C1", **mapped}, "other": mapped}
    tracked_site.stub = QUEUE_STUB + (
        "<script>window.told = []; window.fbq = (...given) => told.push(given);"
        "window.ttq = { instance: (id) => ({ track: (...given) => told.push([id, ...given]) }) };"
        "touchpoint.track('purchase', { value: 9.5, currency: 'EUR', order_id: 1001 })</script>"
    )
    async with tracked_site.visitor() as context:
        body = json.dumps({"scripts": [], "pixels": pixels, "config": {}})
        await context.route("**/container-scripts", lambda route: route.fulfill(body=body))
        page = await context.new_page()
        await page.goto(tracked_site.url())
        await page.wait_for_function("told.length === 2")
        lead = await page.evaluate("touchpoint.track('lead')")
        await page.evaluate("touchpoint.track('other')")
        result = await page.evaluate("told")
    money = {"value": 9.5, "currency": "EUR"}
    assert result == [
        ["trackSingle", "12", "Purchase", money, {"eventID": "1001"}],
        ["C1", "Purchase", money, {"event_id": "1001"}],
        ["trackSingle", "12", "Lead", {}, {"eventID": lead}],
        ["C1", "Lead", {}, {"event_id": lead}],
    ]
