"""What active rules change: conversions, deliveries, and warnings of triggers that were never seen."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from service_core.access.analytics_settings import AnalyticsSettings
from service_core.delivery.postbacks.postback import (
    Postback,
    SkipReason,
    mark_failed,
    mark_sent,
    mark_skipped,
)
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import EventBuilder
from tests.workspace.conftest import NOW
from tests.workspace.rule_requests import MAIN, RULE, connect_platform, create_rule


@pytest.fixture
async def meta_workspace(workspace_api):
    """A workspace with one pixel of Meta."""
    await connect_platform(workspace_api, "meta", MAIN)
    return workspace_api


async def list_conversion_events(workspace_api, key="shop"):
    parameters = {"metrics": ["conversions"], "start_date": "2026-07-01", "end_date": "2026-07-08"}
    answer = await workspace_api.ask("POST", "/metrics", parameters, key=key)
    return answer.json["metrics"][0]["value"]


async def test_events_of_active_rules_count_as_conversions(meta_workspace):
    for name in ("shop", "other"):
        story = EventBuilder(meta_workspace.workspaces[name].id)
        demo = story.add_event("demo_booked", at=NOW - timedelta(days=1), visitor="v")
        await meta_workspace.service.ports.events.append([demo])
    assert await list_conversion_events(meta_workspace) == 0
    planned = {"rule": RULE | {"trigger_event": "demo_booked"}, "dry_run": True}
    assert (await meta_workspace.ask("POST", "/rules", planned)).status == 200
    assert await list_conversion_events(meta_workspace) == 0
    rule = (await create_rule(meta_workspace, trigger_event="demo_booked"))["data"]
    assert (
        await list_conversion_events(meta_workspace),
        await list_conversion_events(meta_workspace, "other"),
    ) == (1, 0)
    await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", {"rule": {"active": False}})
    assert await list_conversion_events(meta_workspace) == 0
    await meta_workspace.ask("PATCH", f"/rules/{rule['id']}", {"rule": {"active": True}})
    gone = (await meta_workspace.ask("DELETE", f"/rules/{rule['id']}")).json
    assert await list_conversion_events(meta_workspace) == 0
    await meta_workspace.ask("POST", f"/audit/{gone['audit_id']}/undo")
    assert await list_conversion_events(meta_workspace) == 1
    owner = next(
        one
        for one in await meta_workspace.service.ports.workspace.credentials.list_workspaces()
        if one.name == "shop"
    )
    assert owner.triggers == {"demo_booked"}
    await meta_workspace.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(
        replace(owner, triggers=frozenset(), name="Shop")
    )
    assert await list_conversion_events(meta_workspace) == 1
    own = replace(owner, rules=AnalyticsSettings(conversions=frozenset({"purchase"})))
    await meta_workspace.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(own)
    assert await list_conversion_events(meta_workspace) == 0


async def test_deliveries_of_a_rule_name_what_was_not_sent_and_why(meta_workspace):
    rule = (await create_rule(meta_workspace))["data"]
    workspace, outbox = meta_workspace.workspaces["shop"], meta_workspace.service.ports.workspace
    postbacks = [
        Postback(
            id=new_id(), workspace_id=workspace.id, rule_id=UUID(rule["id"]), event_id=f"e{number}", event_at=NOW,
            platform="meta", account_id="act_1", asset_id="1234", platform_event="Purchase",
            platform_event_id=f"o{number}", created_at=NOW, next_attempt_at=NOW,
        )
        for number in range(4)
    ]  # fmt: skip
    windows = {UUID(rule["id"]): timedelta(hours=48)}
    await outbox.postback_outbox.add_postbacks_skipping_duplicates(postbacks, windows)
    await outbox.postback_queues.save_results_unless_finished(
        [
            mark_sent(postbacks[0], 200, NOW),
            mark_failed(postbacks[1], "invalid_token", 400, NOW),
            *(mark_skipped(one, SkipReason.NO_MATCH_KEY, NOW) for one in postbacks[2:]),
        ]
    )
    answer = (await meta_workspace.ask("GET", "/rules/deliveries")).json
    assert answer["rules"] == [
        {
            "rule_id": rule["id"],
            "sent": 1,
            "failed": 1,
            "skipped": 2,
            "reasons": [
                {"status": "skipped", "reason": "no_match_key", "count": 2},
                {"status": "failed", "reason": "invalid_token", "count": 1},
            ],
        }
    ]
    before = "/rules/deliveries?start_date=2026-01-01&end_date=2026-01-31"
    assert (await meta_workspace.ask("GET", before)).json["rules"] == []
    assert (await meta_workspace.ask("GET", "/rules/deliveries", key="other")).json["rules"] == []


async def test_effects_say_that_the_trigger_was_never_seen_and_offer_similar_names(meta_workspace):
    shop = (await meta_workspace.service.ports.workspace.credentials.list_workspaces())[0]
    story = EventBuilder(shop.id)
    story.add_event("newsletter_joined", at=meta_workspace.now - timedelta(days=2), visitor="A")
    await meta_workspace.service.ports.events.append(story.events)

    async def warnings_of(**fields):
        planned = await meta_workspace.ask("POST", "/rules", {"rule": RULE | fields, "dry_run": True})
        return [each for each in planned.json["diff"]["effects"] if each["type"] == "never_seen"]

    assert await warnings_of(trigger_event="newsleter_joined") == [
        {
            "type": "never_seen",
            "summary": "No event named newsleter_joined was seen in the last 90 days. "
            "Did you mean newsletter_joined?",
            "trigger_event": "newsleter_joined",
        }
    ]
    assert await warnings_of(trigger_event="newsletter_joined") == []
    assert await warnings_of(trigger_event="newsleter_joined", active=False) == []
