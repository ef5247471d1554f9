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


def sent_alerts(limited_workspace):
    """Recipient and subject of each alert, without the common start of the subject."""
    return [
        (message.to, message.subject.removeprefix("shop has used "))
        for message in limited_workspace.mailer.messages
    ]


@pytest.fixture
async def limited_workspace(workspace_api, monkeypatch):
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


async def happen(limited_workspace, times, *, at=None):
    """Events of a workspace, and then a look at its usage."""
    when = at or limited_workspace.now
    made = [limited_workspace.story.add_event("purchase", at=when, visitor="v") for _ in range(times)]
    await limited_workspace.service.ports.events.append(made)
    await limited_workspace.watch.send_due_alerts(when)


async def test_the_owner_is_told_at_each_step_once(limited_workspace):
    await happen(limited_workspace, 14)
    assert sent_alerts(limited_workspace) == []
    await happen(limited_workspace, 1)
    await happen(limited_workspace, 1)
    assert sent_alerts(limited_workspace) == [("ann@shop.example", "75 percent of its events")]
    await happen(limited_workspace, 2)
    await happen(limited_workspace, 2)
    await happen(limited_workspace, 5)
    assert [subject for _, subject in sent_alerts(limited_workspace)] == [
        "75 percent of its events",
        "90 percent of its events",
        "100 percent of its events",
    ]
    assert "used 20 of the 20 events" in limited_workspace.mailer.messages[-1].text
    assert "2026-07-01 to 2026-08-01" in limited_workspace.mailer.messages[-1].text


async def test_who_reaches_several_steps_at_once_is_told_the_highest(limited_workspace):
    await happen(limited_workspace, 19)
    assert [subject for _, subject in sent_alerts(limited_workspace)] == ["90 percent of its events"]


async def test_a_new_period_begins_anew(limited_workspace):
    await happen(limited_workspace, 15)
    await happen(limited_workspace, 14, at=AUGUST)
    assert len(sent_alerts(limited_workspace)) == 1
    await happen(limited_workspace, 1, at=AUGUST)
    assert len(sent_alerts(limited_workspace)) == 2


async def test_an_address_that_takes_no_mail_keeps_nobody_else_from_theirs(limited_workspace):
    store = limited_workspace.service.ports.workspace
    other = replace(limited_workspace.workspaces["other"], plan="tiny")
    await store.workspace_settings.save_workspace(other)
    await add_member(
        store.accounts,
        store.members,
        other,
        email="eve@other.example",
        role=Role.OWNER,
        now=limited_workspace.now,
    )
    story = EventBuilder(other.id)
    theirs = [story.add_event("purchase", at=limited_workspace.now, visitor="v") for _ in range(15)]
    await limited_workspace.service.ports.events.append(theirs)
    limited_workspace.mailer.refused = {"ann@shop.example"}
    with pytest.raises(EmailSenderUnavailable):
        await happen(limited_workspace, 15)
    assert [to for to, _ in sent_alerts(limited_workspace)] == ["eve@other.example"]


async def test_mail_that_cannot_leave_is_tried_again(limited_workspace):
    limited_workspace.mailer.down = True
    with pytest.raises(EmailSenderUnavailable):
        await happen(limited_workspace, 15)
    limited_workspace.mailer.down = False
    await limited_workspace.watch.send_due_alerts(limited_workspace.now)
    assert len(sent_alerts(limited_workspace)) == 1


async def test_twenty_looks_at_once_tell_once(limited_workspace):
    limited_workspace.mailer.down = True
    with pytest.raises(EmailSenderUnavailable):
        await happen(limited_workspace, 20)
    limited_workspace.mailer.down = False
    await asyncio.gather(*(limited_workspace.watch.send_due_alerts(limited_workspace.now) for _ in range(20)))
    assert len(sent_alerts(limited_workspace)) == 1


async def test_a_workspace_without_a_limit_or_a_subscription_is_told_nothing(limited_workspace):
    store = limited_workspace.service.ports.workspace
    workspace = next(one for one in await store.credentials.list_workspaces() if one.plan == "tiny")
    for other in (replace(workspace, plan="enterprise"), replace(workspace, active=False)):
        await store.workspace_settings.save_workspace(other)
        await happen(limited_workspace, 20)
    assert sent_alerts(limited_workspace) == []
