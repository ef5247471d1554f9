"""An owner erases a person: everywhere, with a certificate, and again in a restored backup."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hosts.composition.ports import start_adapters
from hosts.roles.tasks import build_person_erasure, complete_requested_erasures
from service_core.ingestion.models import (
    IngestEndpoint,
    QuarantinedEvent,
    ReceivedEvent,
    SupersededEvent,
)
from service_core.privacy.erase_person import digest_certificate
from service_core.privacy.models import digest_id, request_erasure
from service_core.testing.event_builder import EventBuilder
from tests.fixtures.composed_deployment import running_deployment

STORES = ["memory://", "duckdb:///events.duckdb"]


@pytest.fixture(params=STORES)
async def deployment(request, tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": request.param}}) as deployment:
        ports = deployment.service.ports
        async with start_adapters([ports.events, ports.queue, ports.export_storage]):
            builder = EventBuilder(deployment.workspace.id)
            builder.add_event("page_view", at="2026-07-02T05:00", visitor="device-ada", ip="203.0.113.9")
            builder.add_event(
                "$identify",
                at="2026-07-02T05:01",
                visitor="device-ada",
                strong_id="user-ada",
                event_data={"traits": {"email": "ada@example.com"}},
            )
            builder.add_event(
                "purchase", at="2026-07-02T05:02", visitor="device-ada", strong_id="user-ada", revenue=700
            )
            builder.add_event("page_view", at="2026-07-02T06:00", visitor="device-bob", strong_id="user-bob")
            await ports.events.append(builder.events)
            deployment.page = f"{deployment.settings}/privacy"
            yield deployment


async def supersede_event_of(deployment, visitor):
    """Stores a purchase of a page that its server reports again, for another visitor."""
    builder = EventBuilder(deployment.workspace.id)
    view = builder.add_event("purchase", at="2026-07-02T07:00", visitor=visitor, source="web", revenue=1)
    claimed = replace(view, seq=view.seq + sum(visitor.encode()) * 10, event_id=f"order-{visitor}")
    real = replace(claimed, seq=claimed.seq + 1, source="api", visitor_id="device-bob", strong_id="user-bob")
    for event in (claimed, real):
        await deployment.service.ports.events.append([event])
    return claimed


async def list_superseded_events(deployment):
    pieces = deployment.service.ports.events.stream_superseded_events(deployment.workspace.id)
    return [each.event async for piece in pieces for each in piece]


async def quarantine_body(deployment, body):
    queue, workspace_id = deployment.service.ports.queue, deployment.workspace.id
    await queue.offer(
        ReceivedEvent(
            workspace_id=workspace_id,
            key_id=workspace_id,
            channel=IngestEndpoint.TRACK,
            event_id=body["id"],
            claimed=True,
            received_at=deployment.service.ports.clock(),
            body=json.dumps(body).encode(),
            user_agent=None,
            address=None,
            headers={},
        )
    )
    await queue.acknowledge([], [QuarantinedEvent(event, "unread") for event in await queue.take(10)])


async def find_person(deployment, any_id):
    return await deployment.service.ports.events.find_person_of_any_id(deployment.workspace.id, any_id)


@pytest.mark.parametrize("person", ["user-ada", "device-ada", "ada@example.com"])
async def test_owner_erases_a_person_and_gets_a_certificate(deployment, person):
    for number, user in enumerate(("user-ada", "user-bob")):
        await quarantine_body(deployment, {"id": f"q{number}", "context": {"ids": [{"user": user}]}})
    ann = await deployment.signed_in("ann", "owner")
    page = await ann.get(f"{deployment.page}?person={person}")
    assert "3 events carry these IDs" in page.text
    refused = await ann.send(
        f"{deployment.page}?person={person}", deployment.page, person=person, confirmation="x"
    )
    assert "confirm the erasure" in refused.text
    answer = await ann.send(
        f"{deployment.page}?person={person}", deployment.page, person=person, confirmation=person
    )
    assert answer.location == f"{deployment.page}?done=erasing"
    ports = deployment.service.ports
    await complete_requested_erasures(build_person_erasure(ports))
    assert [await find_person(deployment, id_) for id_ in ("user-ada", "device-ada")] == [None, None]
    assert await find_person(deployment, "user-bob") == "u:user-bob"
    (left,) = await ports.queue.list_quarantined(deployment.workspace.id, 10)
    assert left.queued.arrival.event_id == "q1"
    (erasure,) = await ports.workspace.erasures.list_erasures(deployment.workspace.id)
    assert erasure.person_id is None
    content = json.dumps(erasure.certificate)
    assert not [id_ for id_ in ("user-ada", "device-ada", "ada@example") if id_ in content]
    certificate = json.loads((await ann.get(f"{deployment.page}/erasures/{erasure.id}")).body)
    assert certificate["removed"]["event_store"]["events"] == 3
    assert certificate["removed"]["quarantine"] == {"events": 1}
    assert certificate["digest"] == digest_certificate(certificate)
    changed = {row["metric"]: (row["before"], row["after"]) for row in certificate["numbers_changed"]}
    assert changed["events"] == (4, 1)
    assert changed["persons"] == (2, 1)
    assert changed["revenue"] == (700, 0)
    assert "refunds" in certificate["numbers_unchanged"]


async def test_access_request_has_everything_about_the_person_and_nobody_else(deployment):
    await quarantine_body(deployment, {"id": "q1", "user_id": "user-ada"})
    ann = await deployment.signed_in("ann", "owner")
    answer = await ann.get(f"{deployment.page}/person?person=ada@example.com")
    found = json.loads(answer.body)
    assert [event["event_name"] for event in found["events"]] == ["page_view", "$identify", "purchase"]
    assert found["ids"] == ["ada@example.com", "device-ada", "user-ada"]
    assert found["quarantined_events"] == [{"id": "q1", "user_id": "user-ada"}]
    assert "-bob" not in answer.body
    assert "attachment" in answer.headers["Content-Disposition"]


async def test_superseded_events_of_the_person_are_exported_and_erased(deployment):
    await supersede_event_of(deployment, "device-ada")
    other = await supersede_event_of(deployment, "device-eve")
    ann = await deployment.signed_in("ann", "owner")
    found = json.loads((await ann.get(f"{deployment.page}/person?person=user-ada")).body)
    assert [event["visitor_id"] for event in found["superseded_events"]] == ["device-ada"]
    fields = {"person": "user-ada", "confirmation": "user-ada"}
    await ann.send(f"{deployment.page}?person=user-ada", deployment.page, **fields)
    (erasure,) = await build_person_erasure(deployment.service.ports).complete_requested_removals()
    assert erasure.certificate["removed"]["event_store"]["superseded_events"] == 1
    assert await list_superseded_events(deployment) == [other]


async def test_tombstone_erases_superseded_events_of_a_visitor_without_other_events(deployment):
    ports = deployment.service.ports
    claimed = await supersede_event_of(deployment, "device-eve")
    requested = claimed.received_at + timedelta(days=1)
    erasure = request_erasure(deployment.workspace.id, "device-eve", "command line", requested)
    tombstone = replace(erasure, person_id=None, id_digests=(digest_id(erasure.salt, "device-eve"),))
    later = replace(claimed, seq=claimed.seq + 900, received_at=requested + timedelta(days=1))
    await ports.events.store_superseded_events([SupersededEvent(later, claimed.seq + 901)])
    await ports.workspace.erasures.save_erasure(tombstone)
    await build_person_erasure(ports).complete_requested_removals()
    assert await list_superseded_events(deployment) == [later]


async def test_only_an_owner_sees_the_page(deployment):
    for role in ("admin", "member", "viewer"):
        person = await deployment.signed_in(role, role)
        for path in ("", "/person?person=user-ada"):
            assert (await person.get(f"{deployment.page}{path}")).status == 403


async def test_erasure_waits_for_events_received_before_its_request(deployment):
    ann, ports = await deployment.signed_in("ann", "owner"), deployment.service.ports
    await ports.queue.offer(
        ReceivedEvent(
            workspace_id=deployment.workspace.id,
            key_id=deployment.workspace.id,
            channel=IngestEndpoint.TRACK,
            event_id="late",
            claimed=True,
            received_at=ports.clock(),
            body=b'{"event":"x","user_id":"user-ada"}',
            user_agent=None,
            address=None,
            headers={},
        )
    )
    fields = {"person": "user-ada", "confirmation": "user-ada"}
    await ann.send(f"{deployment.page}?person=user-ada", deployment.page, **fields)
    await complete_requested_erasures(build_person_erasure(ports))
    assert await find_person(deployment, "user-ada") == "u:user-ada"
    await ports.queue.acknowledge([], [QuarantinedEvent(event, "x") for event in await ports.queue.take(10)])
    await complete_requested_erasures(build_person_erasure(ports))
    assert await find_person(deployment, "user-ada") is None
    assert await ports.queue.list_quarantined(deployment.workspace.id, 10) == []


async def test_owner_sets_the_age_of_events(deployment):
    ann = await deployment.signed_in("ann", "owner")
    for days, stored in (("90", 90), ("", None)):
        await ann.send(deployment.page, f"{deployment.page}/retention", days=days)
        (workspace,) = [
            workspace
            for workspace in await deployment.service.ports.workspace.credentials.list_workspaces()
            if workspace.id == deployment.workspace.id
        ]
        assert workspace.rules.event_retention_days == stored
    refused = await ann.send(deployment.page, f"{deployment.page}/retention", days="-4")
    assert "1 to 36500 days" in refused.text
