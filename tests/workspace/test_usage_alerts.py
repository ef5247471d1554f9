"""Owners are told of 75, 90 and 100 percent of their plan, each once."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hosts.roles.tasks import build_usage_alerts
from service_core.access.billing_plans import BillingPlan
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.members.membership import add_member_with_password_link_if_needed
from service_core.access.roles import Role
from service_core.testing.event_builder import EventBuilder
from service_core.workspace.usage_alerts import send_alerts
from tests.fixtures.port_stubs import RecordingMailer

AUGUST = datetime(2026, 8, 2, tzinfo=UTC)


def read_sent_alerts(limited_workspace):
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
    await store.workspace_settings.replace_workspace_keeping_triggers(workspace)
    for email, role in (("ann@shop.example", Role.OWNER), ("bob@shop.example", Role.ADMIN)):
        await add_member_with_password_link_if_needed(
            store.accounts, store.members, workspace, email=email, role=role, now=workspace_api.now
        )
    workspace_api.story = EventBuilder(workspace.id)
    workspace_api.mailer = RecordingMailer()
    workspace_api.watch = replace(
        build_usage_alerts(workspace_api.service.ports), email_sender=workspace_api.mailer
    )
    return workspace_api


async def append_usage_events(limited_workspace, times, *, at=None):
    """Events of a workspace, and then a look at its usage."""
    when = at or limited_workspace.now
    made = [limited_workspace.story.add_event("purchase", at=when, visitor="v") for _ in range(times)]
    await limited_workspace.service.ports.events.append(made)
    await limited_workspace.watch.send_due_alerts(when)


async def test_owner_is_mailed_once_per_threshold(limited_workspace):
    await append_usage_events(limited_workspace, 14)
    assert read_sent_alerts(limited_workspace) == []
    await append_usage_events(limited_workspace, 1)
    await append_usage_events(limited_workspace, 1)
    assert read_sent_alerts(limited_workspace) == [("ann@shop.example", "75 percent of its events")]
    await append_usage_events(limited_workspace, 2)
    await append_usage_events(limited_workspace, 2)
    await append_usage_events(limited_workspace, 5)
    assert [subject for _, subject in read_sent_alerts(limited_workspace)] == [
        "75 percent of its events",
        "90 percent of its events",
        "100 percent of its events",
    ]
    assert "used 20 of the 20 events" in limited_workspace.mailer.messages[-1].text
    assert "2026-07-01 to 2026-08-01" in limited_workspace.mailer.messages[-1].text


async def test_highest_of_several_thresholds_is_mailed(limited_workspace):
    await append_usage_events(limited_workspace, 19)
    assert [subject for _, subject in read_sent_alerts(limited_workspace)] == ["90 percent of its events"]


async def test_new_period_resets_the_alerts(limited_workspace):
    await append_usage_events(limited_workspace, 15)
    await append_usage_events(limited_workspace, 14, at=AUGUST)
    assert len(read_sent_alerts(limited_workspace)) == 1
    await append_usage_events(limited_workspace, 1, at=AUGUST)
    assert len(read_sent_alerts(limited_workspace)) == 2


async def test_refused_mail_does_not_block_other_recipients(limited_workspace):
    store = limited_workspace.service.ports.workspace
    other = replace(limited_workspace.workspaces["other"], plan="tiny")
    await store.workspace_settings.replace_workspace_keeping_triggers(other)
    await add_member_with_password_link_if_needed(
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
        await append_usage_events(limited_workspace, 15)
    assert [to for to, _ in read_sent_alerts(limited_workspace)] == ["eve@other.example"]


async def test_failed_mail_is_retried(limited_workspace):
    limited_workspace.mailer.down = True
    with pytest.raises(EmailSenderUnavailable):
        await append_usage_events(limited_workspace, 15)
    limited_workspace.mailer.down = False
    await limited_workspace.watch.send_due_alerts(limited_workspace.now)
    assert len(read_sent_alerts(limited_workspace)) == 1


async def test_twenty_concurrent_checks_mail_once(limited_workspace):
    limited_workspace.mailer.down = True
    with pytest.raises(EmailSenderUnavailable):
        await append_usage_events(limited_workspace, 20)
    limited_workspace.mailer.down = False
    await asyncio.gather(*(limited_workspace.watch.send_due_alerts(limited_workspace.now) for _ in range(20)))
    assert len(read_sent_alerts(limited_workspace)) == 1


async def test_workspace_without_limit_or_subscription_gets_no_alert(limited_workspace):
    store = limited_workspace.service.ports.workspace
    workspace = next(one for one in await store.credentials.list_workspaces() if one.plan == "tiny")
    for other in (replace(workspace, plan="enterprise"), replace(workspace, active=False)):
        await store.workspace_settings.replace_workspace_keeping_triggers(other)
        await append_usage_events(limited_workspace, 20)
    assert read_sent_alerts(limited_workspace) == []
