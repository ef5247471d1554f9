"""The scheduler removes personal data whose retention is over."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from hosts.roles.tasks import age_personal_data, build_data_ageing
from service_core.access.analytics_settings import AnalyticsSettings
from service_core.ingestion.models import (
    IngestEndpoint,
    QuarantinedEvent,
    ReceivedEvent,
    SupersededEvent,
)
from service_core.privacy.received_events import truncate_addresses
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from tests.commerce.providers.webhook_client import open_webhook_client

SPAN = whole_utc_days("2026-01-01", "2026-12-31")


@pytest.fixture
async def deployment(tmp_path):
    async with open_webhook_client(tmp_path) as client:
        yield client


async def stored_addresses(deployment, builder):
    events = await deployment.ports.events.list_latest_person_events(builder.query_scope(SPAN), "u:U1")
    return [event.ip for event in events]


async def test_addresses_of_stored_events_are_cut_after_seven_days(deployment):
    workspace = (await deployment.served.workspace(timezone="UTC")).workspace
    builder = EventBuilder(workspace.id)
    now = deployment.served.now
    for age in (timedelta(days=7, seconds=1), timedelta(days=6, hours=23)):
        builder.add_event("page_view", at=now - age, visitor="A1", strong_id="U1", ip="203.0.113.9")
    await deployment.ports.events.append(builder.events)
    ageing = build_data_ageing(deployment.ports)
    await age_personal_data(ageing)
    assert await stored_addresses(deployment, builder) == ["203.0.113.0/24", "203.0.113.9"]
    deployment.served.now += timedelta(hours=2)
    await age_personal_data(ageing)
    assert await stored_addresses(deployment, builder) == ["203.0.113.0/24", "203.0.113.0/24"]


def received_event(workspace, body, received_at, **fields):
    values = {
        "workspace_id": workspace.id,
        "key_id": workspace.id,
        "channel": IngestEndpoint.TRACK,
        "event_id": "e1",
        "claimed": True,
        "received_at": received_at,
        "body": body,
        "user_agent": None,
        "address": "203.0.113.9",
        "headers": {},
    }
    return ReceivedEvent(**values | fields)


async def test_addresses_of_events_that_wait_in_the_queue_are_cut_after_seven_days(deployment):
    workspace = (await deployment.served.workspace(timezone="UTC")).workspace
    queue, now = deployment.ports.queue, deployment.served.now
    body = b'{"event":"x","visitor_id":"A1","properties":{"a":[{"Client_IP":"198.51.100.7"}]}}'
    old, young = now - timedelta(days=7, seconds=1), now - timedelta(days=6, hours=23)
    await queue.offer(received_event(workspace, body, old, headers={"x-forwarded-for": "198.51.100.8"}))
    await queue.offer(received_event(workspace, body, young, event_id="e2"))
    aged = await build_data_ageing(deployment.ports).run()
    assert aged.cut_waiting == 1
    cut, whole = [queued.arrival for queued in await queue.take(10)]
    assert (cut.address, cut.headers) == ("203.0.113.0", {"x-forwarded-for": "198.51.100.0"})
    assert b'"198.51.100.0"' in cut.body
    assert (whole.address, whole.body) == ("203.0.113.9", body)
    assert (await build_data_ageing(deployment.ports).run()).cut_waiting == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"topic=order&browser_ip=198.51.100.7&id=1", b"topic=order&browser_ip=198.51.100.0&id=1"),
        (b'<a>"ip":"198.51.100.7"</a> \xff', b'<a>"ip":"198.51.100.0/24"</a> \xff'),
        (b"[" * 5000 + b'{"ip":"198.51.100.7"}', b"[" * 5000 + b'{"ip":"198.51.100.0/24"}'),
        (b"ip=unknown&n=1.2.3.4", b"ip=unknown&n=1.2.3.4"),
    ],
    ids=["form", "text", "nested", "no address"],
)
def test_addresses_of_a_message_kept_raw_are_cut_also_if_it_is_no_json(body, expected):
    event = received_event(SimpleNamespace(id=None), body, None)
    assert truncate_addresses(event).body == expected
    assert truncate_addresses(truncate_addresses(event)).body == expected


async def test_addresses_of_quarantined_events_are_cut_at_every_depth(deployment):
    workspace = (await deployment.served.workspace(timezone="UTC")).workspace
    queue = deployment.ports.queue
    await queue.offer(
        received_event(
            workspace,
            b'{"event":"x","ip":"2001:db8:1:2::3","context":{"device":[{"ip":"198.51.100.7"}]},"note":"1.2.3.4"}',
            deployment.served.now,
        )
    )
    await queue.acknowledge([], [QuarantinedEvent(queued, "unread") for queued in await queue.take(10)])
    ageing = build_data_ageing(deployment.ports)
    for days, address in ((6, "203.0.113.9"), (2, "203.0.113.0")):
        deployment.served.now += timedelta(days=days)
        await age_personal_data(ageing)
        (row,) = await queue.list_quarantined(workspace.id, 10)
        assert row.queued.arrival.address == address
    body = row.queued.arrival.body.decode()
    assert '"2001:db8:1::"' in body
    assert '"198.51.100.0"' in body
    assert '"1.2.3.4"' in body


async def test_superseded_events_past_the_age_of_their_workspace_are_deleted(deployment):
    workspace = (await deployment.served.workspace(timezone="UTC")).workspace
    settings = replace(workspace, rules=AnalyticsSettings(event_retention_days=30))
    await deployment.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(settings)
    builder = EventBuilder(workspace.id)
    for days in (32, 29):
        at = deployment.served.now - timedelta(days=days)
        claimed = builder.add_event("purchase", at=at, visitor="A1", source="web")
        await deployment.ports.events.store_superseded_events([SupersededEvent(claimed, claimed.seq + 100)])
    await age_personal_data(build_data_ageing(deployment.ports))
    pieces = deployment.ports.events.stream_superseded_events(workspace.id)
    assert [each.event async for piece in pieces for each in piece] == [claimed]


async def test_events_past_the_age_of_their_workspace_are_deleted(deployment):
    aged, unlimited = [(await deployment.served.workspace(timezone="UTC")).workspace for _ in range(2)]
    settings = replace(aged, rules=AnalyticsSettings(event_retention_days=30))
    await deployment.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(settings)
    now = deployment.served.now
    counts = []
    for workspace in (aged, unlimited):
        builder = EventBuilder(workspace.id)
        for days in (32, 29):
            builder.add_event(
                "page_view", at=now - timedelta(days=days), visitor="A1", session=f"s{days}", strong_id="U1"
            )
        await deployment.ports.events.append(builder.events)
    await age_personal_data(build_data_ageing(deployment.ports))
    for workspace in (aged, unlimited):
        scope = EventBuilder(workspace.id).query_scope(SPAN)
        counts.append(len(await deployment.ports.events.list_latest_person_events(scope, "u:U1")))
    assert counts == [1, 2]
