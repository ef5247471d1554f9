"""`GET /onboarding` and the limits of `GET /usage` through the door."""

from dataclasses import replace
from datetime import timedelta

import pytest

from service_core.access.billing_plans import BillingPlan
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.analytics.ports import StoreUnavailable
from service_core.analytics.reads import usage
from service_core.testing.event_builder import EventBuilder

STEPS = [
    "Install the tracking script or send a server event.",
    "Identify your users.",
    "Connect an ad platform.",
    "Connect a revenue provider.",
    "Create a conversion rule.",
    "Create a trackable link.",
]


class OnboardingClient:
    """A workspace that is set up step by step."""

    def __init__(self, workspace_api):
        self.office = workspace_api
        self.workspace = workspace_api.workspaces["shop"]
        self.store = workspace_api.service.ports.workspace
        self.story = EventBuilder(self.workspace.id)

    async def happens(self, name, *, ago=timedelta(), **columns):
        event = self.story.add_event(name, at=self.office.now - ago, visitor="v", **columns)
        await self.office.service.ports.events.append([event])
        return event

    async def connects(self, provider, kind, *accounts, **fields):
        standing = {"status": ConnectionStatus.CONNECTED, "created_at": self.office.now, **fields}
        await self.store.connections.save_connection_keeping_created_at(
            Connection(self.workspace.id, provider, kind, accounts=accounts, **standing)
        )

    async def asks(self, path="/onboarding"):
        answer = await self.office.ask("GET", path)
        assert answer.status == 200, answer.json
        return answer.json

    async def steps(self):
        return (await self.asks())["next_steps"]


@pytest.fixture
def onboarding(workspace_api):
    return OnboardingClient(workspace_api)


async def test_new_workspace_has_every_setup_step_open(onboarding):
    created = onboarding.workspace
    assert await onboarding.asks() == {
        "workspace": {
            "id": created.public_id,
            "name": "shop",
            "created": True,
            "created_at": "2026-07-08T15:00:00.000Z",
            "active": True,
            "plan": "unlimited",
        },
        "tracking": {
            "first_event_seen_at": None,
            "last_event_seen_at": None,
            "sdk_detected": [],
            "events_last_30d": 0,
        },
        "connections": [],
        "next_steps": STEPS,
        "complete": True,
    }


async def test_setup_steps_complete_in_order(onboarding):
    left = list(STEPS)
    await onboarding.happens("page_view", source="web")
    assert await onboarding.steps() == left[1:]
    await onboarding.happens("purchase", user_id="u1")
    assert await onboarding.steps() == left[2:]
    await onboarding.connects("meta", ProviderKind.ADS, ConnectedAccount("act_1", None, (Asset("1234"),)))
    assert await onboarding.steps() == left[3:]
    await onboarding.connects("stripe", ProviderKind.REVENUE)
    assert await onboarding.steps() == left[4:]
    rule = {"name": "R", "trigger_event": "purchase", "platform": "meta", "platform_event": "Purchase"}
    assert (await onboarding.office.ask("POST", "/rules", {"rule": rule})).status == 200
    assert await onboarding.steps() == left[5:]
    await onboarding.office.link()
    assert await onboarding.steps() == ["Nothing outstanding."]


async def test_provider_events_do_not_complete_the_tracking_step(onboarding):
    await onboarding.happens("subscription_renewed", source="revenuecat", strong_id="u1")
    status = await onboarding.asks()
    assert status["tracking"]["sdk_detected"] == ["revenuecat"]
    assert status["next_steps"] == STEPS
    await onboarding.happens("page_view", ago=timedelta(days=40))
    assert await onboarding.steps() == STEPS[1:]


async def test_every_integration_is_listed_and_a_broken_one_is_not_done(onboarding):
    synced = onboarding.office.now
    await onboarding.connects(
        "meta",
        ProviderKind.ADS,
        status=ConnectionStatus.ERROR,
        error="token expired",
        last_synced_at=synced,
    )
    await onboarding.connects("stripe", ProviderKind.REVENUE, error="an old complaint")
    answer = await onboarding.asks()
    assert answer["connections"] == [
        {
            "platform": "meta",
            "status": "error",
            "error": "token expired",
            "last_synced_at": "2026-07-08T15:00:00.000Z",
        },
        {"platform": "stripe", "status": "connected", "error": None, "last_synced_at": None},
    ]
    assert "Connect an ad platform." in answer["next_steps"]
    assert "Connect a revenue provider." not in answer["next_steps"]


async def test_senders_are_named_by_what_delivered_most_events_of_the_last_30_days(onboarding):
    first = await onboarding.happens("page_view", source="web", ago=timedelta(days=90))
    for source, library, times in (
        ("web", "browser", 2),
        ("browser", "http", 1),
        ("mobile_app", "touchpoint-ios", 2),
        ("api", "http", 1),
        ("stripe", "http", 1),
    ):
        for _ in range(times):
            await onboarding.happens("seen", source=source, sdk_name=library)
    await onboarding.happens("seen", source="api", sdk_name="old", ago=timedelta(days=40))
    tracking = (await onboarding.asks())["tracking"]
    assert tracking["sdk_detected"] == ["web", "touchpoint-ios", "http", "stripe"]
    assert tracking["events_last_30d"] == 7
    assert tracking["first_event_seen_at"] == first.timestamp.isoformat(timespec="milliseconds").replace(
        "+00:00", "Z"
    )
    assert tracking["last_event_seen_at"] == "2026-07-08T15:00:00.000Z"


async def test_users_identified_long_ago_are_identified(onboarding):
    await onboarding.happens("signup", user_id="u1", ago=timedelta(days=200))
    await onboarding.happens("page_view")
    assert STEPS[1] not in await onboarding.steps()


async def test_unreadable_connections_are_incomplete_and_unreadable_events_an_error(onboarding, monkeypatch):
    async def down(*_):
        raise StoreUnavailable

    await onboarding.connects("stripe", ProviderKind.REVENUE)
    monkeypatch.setattr(onboarding.store.connections, "list_connections_oldest_first", down)
    answer = await onboarding.asks()
    assert (answer["complete"], answer["connections"]) == (False, [])
    assert answer["next_steps"] == STEPS
    monkeypatch.setattr(onboarding.office.service.ports.events, "first_and_last_event_time", down)
    refused = await onboarding.office.ask("GET", "/onboarding")
    assert (refused.status, refused.json["code"]) == (503, "data_unverified")


async def test_inactive_workspace_is_reported(onboarding):
    await onboarding.store.workspace_settings.replace_workspace_keeping_triggers(
        replace(onboarding.workspace, active=False, plan="growth")
    )
    workspace = (await onboarding.asks())["workspace"]
    assert (workspace["active"], workspace["plan"]) == (False, "growth")


async def test_exceeded_limits_are_shown_and_not_enforced(onboarding, monkeypatch):
    monkeypatch.setattr(usage, "BILLING_PLANS", {"tiny": BillingPlan("tiny", 2, 1, 100)})
    await onboarding.store.workspace_settings.replace_workspace_keeping_triggers(
        replace(onboarding.workspace, plan="tiny")
    )
    for _ in range(3):
        await onboarding.happens("purchase")
    answer = await onboarding.asks("/usage")
    assert (answer["events_used"], answer["events_limit"]) == (3, 2)
    assert (answer["postbacks_used"], answer["postbacks_limit"]) == (0, 1)
    await onboarding.happens("purchase")
    assert (await onboarding.asks("/usage"))["events_used"] == 4
