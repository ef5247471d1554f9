"""Owners are told of 75, 90 and 100 percent of their plan, each once."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hosts.roles.tasks import build_usage_alerts
from service_core.access.billing_plans import BillingPlan
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.members.membership import add_member
from service_core.access.roles import Role
from service_core.testing.event_builder import EventBuilder
from service_core.workspace.usage_alerts import send_alerts
from tests.fixtures.port_stubs import RecordingMailer

AUGUST = datetime(2026, 8, 2, tzinfo=UTC)


def sent_alerts(shop):
    """Recipient and subject of each alert, without the common start of the subject."""
    return [(message.to, message.subject.removeprefix("shop has used ")) for message in shop.mailer.messages]


@pytest.fixture
async def shop(workspace_api, monkeypatch):
    """A workspace whose plan covers 20 events, with an owner and an admin."""
    monkeypatch.setattr(send_alerts, "BILLING_PLANS", {"tiny": BillingPlan("tiny", 20, 1, 100)})
    store = workspace_api.service.ports.workspace
    workspace = replace(workspace_api.workspaces["shop"], plan="tiny")
    await store.workspace_settings.save_workspace(workspace)
    for email, role in (("ann@shop.example", Role.OWNER), ("bob@shop.example", Role.ADMIN)):
        await add_member(
            store.accounts, store.members, workspace, email=email, role=role, now=workspace_api.now
        )
    workspace_api.story = EventBuilder(workspace.id)
    workspace_api.mailer = RecordingMailer()
    workspace_api.watch = replace(
        build_usage_alerts(workspace_api.service.ports), email_sender=workspace_api.mailer
    )
    return workspace_api


async def happen(shop, times, *, at=None):
    """Events of a workspace, and then a look at its usage."""
    when = at or shop.now
    made = [shop.story.add_event("purchase", at=when, visitor="v") for _ in range(times)]
    await shop.service.ports.events.append(made)
    await shop.watch.send_due_alerts(when)


async def test_the_owner_is_told_at_each_step_once(shop):
    await happen(shop, 14)
    assert sent_alerts(shop) == []
    await happen(shop, 1)
    await happen(shop, 1)
    assert sent_alerts(shop) == [("ann@shop.example", "75 percent of its events")]
    await happen(shop, 2)
    await happen(shop, 2)
    await happen(shop, 5)
    assert [subject for _, subject in sent_alerts(shop)] == [
        "75 percent of its events",
        "90 percent of its events",
        "100 percent of its events",
    ]
    assert "used 20 of the 20 events" in shop.mailer.messages[-1].text
    assert "2026-07-01 to 2026-08-01" in shop.mailer.messages[-1].text


async def test_who_reaches_several_steps_at_once_is_told_the_highest(shop):
    await happen(shop, 19)
    assert [subject for _, subject in sent_alerts(shop)] == ["90 percent of its events"]


async def test_a_new_period_begins_anew(shop):
    await happen(shop, 15)
    await happen(shop, 14, at=AUGUST)
    assert len(sent_alerts(shop)) == 1
    await happen(shop, 1, at=AUGUST)
    assert len(sent_alerts(shop)) == 2


async def test_an_address_that_takes_no_mail_keeps_nobody_else_from_theirs(shop):
    store = shop.service.ports.workspace
    other = replace(shop.workspaces["other"], plan="tiny")
    await store.workspace_settings.save_workspace(other)
    await add_member(
        store.accounts, store.members, other, email="eve@other.example", role=Role.OWNER, now=shop.now
    )
    story = EventBuilder(other.id)
    theirs = [story.add_event("purchase", at=shop.now, visitor="v") for _ in range(15)]
    await shop.service.ports.events.append(theirs)
    shop.mailer.refused = {"ann@shop.example"}
    with pytest.raises(EmailSenderUnavailable):
        await happen(shop, 15)
    assert [to for to, _ in sent_alerts(shop)] == ["eve@other.example"]


async def test_mail_that_cannot_leave_is_tried_again(shop):
    shop.mailer.down = True
    with pytest.raises(EmailSenderUnavailable):
        await happen(shop, 15)
    shop.mailer.down = False
    await shop.watch.send_due_alerts(shop.now)
    assert len(sent_alerts(shop)) == 1


async def test_twenty_looks_at_once_tell_once(shop):
    shop.mailer.down = True
    with pytest.raises(EmailSenderUnavailable):
        await happen(shop, 20)
    shop.mailer.down = False
    await asyncio.gather(*(shop.watch.send_due_alerts(shop.now) for _ in range(20)))
    assert len(sent_alerts(shop)) == 1


async def test_a_workspace_without_a_limit_or_a_subscription_is_told_nothing(shop):
    store = shop.service.ports.workspace
    workspace = next(one for one in await store.credentials.list_workspaces() if one.plan == "tiny")
    for other in (replace(workspace, plan="enterprise"), replace(workspace, active=False)):
        await store.workspace_settings.save_workspace(other)
        await happen(shop, 20)
    assert sent_alerts(shop) == []
