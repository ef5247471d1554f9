"""Events to the webhooks of a workspace: signed, once, with retries, and as they are stored."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
import time_machine
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from hosts.worker.event_webhooks import build_event_webhook_worker
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.delivery.notifications.signed_webhooks import WebhookUnavailable
from service_core.ingestion.models import IMPORT_HEADER, IngestEndpoint, ReceivedEvent
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.workspace.notifications.models import EVENT_WEBHOOK_TYPE, Channel
from service_core.workspace.webhooks import resource
from tests.analytics.deployment import HIGH_RATE_LIMIT, NOW, WorkspaceClient, run_deployment
from tests.fixtures.waiting import GUARD_SECONDS
from tests.hosts.ingest.test_batch import BatchHost, page_view

LEADS = {"name": "Leads", "url": "https://hooks.example.com/leads", "event_names": ["lead", "trial"]}


class Hooks:
    """A deployment with a workspace whose webhooks are recorded."""

    def __init__(self, served, client):
        self.served, self.client = served, client
        self.requests, self.status, self.fault = [], 200, None
        self.host = BatchHost(served, client)
        self.worker = build_event_webhook_worker(served.service.ports, served.service.settings, self)

    async def post(self, url, headers, body):
        self.requests.append((url, headers, body))
        if self.fault:
            raise WebhookUnavailable(self.fault)
        return self.status

    async def write(self, method, path, **fields):
        body = json.dumps({"webhook": fields} if fields else {}).encode()
        status, answer = await self.client.ask(method, path, body=body)
        assert status == 200, answer
        return answer["data"]

    async def store(self, *events):
        """Stores events and sends what is due; returns the events that were sent so far."""
        await self.host.batch(*events)
        await self.host.drain()
        return await self.run()

    async def run(self, **later):
        self.served.now += timedelta(**later)
        await self.worker.send_all_due()
        return [json.loads(body)["data"]["event"]["event_id"] for _, _, body in self.requests]

    async def deliveries(self, id_):
        answer = await self.client.get(f"/webhooks/{id_}/deliveries")
        return [(one["status"], one["subject"], one["error"]) for one in answer["deliveries"]]


@pytest.fixture
async def hooks(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        client = await served.workspace(timezone="UTC")
        minted = await create_named_key_clamping_rate_limit_to_plan(
            served.service.ports.workspace.credentials,
            client.workspace,
            NOW,
            name="Writer",
            scopes=(Scope.READ, Scope.WRITE_RULES),
            requested_rate_limit=HIGH_RATE_LIMIT,
        )
        yield Hooks(served, WorkspaceClient(served.service, client.workspace, minted.secret))


def lead(event_id, **fields):
    return page_view(event_id) | {"event": "lead"} | fields


async def test_event_is_sent_once_signed_with_the_secret_that_was_shown(hooks):
    webhook = await hooks.write("POST", "/webhooks", **LEADS)
    secret = (await hooks.write("POST", f"/webhooks/{webhook['id']}/secret"))["secret"]
    assert await hooks.store(lead("e1", properties={"plan": "gold"}), page_view("e2"), lead("e1")) == ["e1"]
    assert await hooks.store(lead("e1")) == ["e1"]
    [(url, headers, body)] = hooks.requests
    assert url == LEADS["url"]
    with time_machine.travel(NOW, tick=False):
        sent = Webhook(secret).verify(body, headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body + b" ", headers)
    assert (sent["type"], sent["data"]["workspace"]) == (
        "event.stored",
        hooks.client.workspace.public_id,
    )
    assert sent["data"]["event"]["event_data"] == {"plan": "gold"}
    assert await hooks.deliveries(webhook["id"]) == [("sent", "lead", None)]
    assert secret not in json.dumps(await hooks.client.get(f"/webhooks/{webhook['id']}"))


async def test_event_on_the_wire_is_the_event_of_the_list(hooks):
    await hooks.write("POST", "/webhooks", **LEADS)
    await hooks.store(lead("e1", page_url="https://shop.example/a?utm_source=news"))
    [listed] = (await hooks.client.get("/events", start_date="2026-07-08", end_date="2026-07-08"))["events"]
    assert json.loads(hooks.requests[0][2])["data"]["event"] == listed


async def test_refused_event_is_sent_again_with_its_id(hooks):
    webhook = await hooks.write("POST", "/webhooks", **LEADS)
    hooks.status = 500
    assert await hooks.store(lead("e1")) == ["e1"]
    assert await hooks.deliveries(webhook["id"]) == [("retrying", "lead", "The endpoint answered 500")]
    hooks.status, hooks.fault = 200, "its host has no public address"
    await hooks.run(minutes=1)
    hooks.fault = None
    assert await hooks.run(minutes=5) == ["e1"] * 3
    assert len({headers["webhook-id"] for _, headers, _ in hooks.requests}) == 1
    assert await hooks.deliveries(webhook["id"]) == [("sent", "lead", None)]


async def test_events_of_bots_imports_and_the_past_are_not_sent(hooks):
    await hooks.write("POST", "/webhooks", **LEADS)
    id_ = hooks.client.workspace.id
    imported = (id_, id_, IngestEndpoint.BATCH, "e2", True, NOW, json.dumps(lead("e2")).encode())
    await hooks.host.ports.queue.offer(ReceivedEvent(*imported, None, None, {IMPORT_HEADER: "i"}))
    old = (NOW - timedelta(days=3)).isoformat()
    assert await hooks.store(lead("e1", properties={"bot": True}), lead("e3", timestamp=old)) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"active": False}, "The webhook is paused"),
        ({"url": "https://hooks.example.com/other"}, "The webhook has another address now"),
    ],
)
async def test_changed_webhook_does_not_get_what_waits_for_the_former_one(hooks, changes, reason):
    webhook = await hooks.write("POST", "/webhooks", **LEADS)
    await hooks.host.batch(lead("e1"))
    await hooks.host.drain()
    await hooks.write("PATCH", f"/webhooks/{webhook['id']}", **changes)
    assert await hooks.run() == []
    assert await hooks.deliveries(webhook["id"]) == [("skipped", "lead", reason)]


async def test_paused_webhook_gets_no_events_and_another_workspace_none_of_these(hooks):
    await hooks.write("POST", "/webhooks", **LEADS | {"active": False})
    assert await hooks.store(lead("e1")) == []
    other = await hooks.served.workspace(timezone="UTC")
    hooks.host.client = other
    assert await hooks.store(lead("e2")) == []


async def test_webhook_is_paused_when_its_host_answers_410_until_it_is_resumed(hooks):
    webhook = await hooks.write("POST", "/webhooks", **LEADS)
    hooks.status = 410
    assert await hooks.store(lead("e1")) == ["e1"]
    assert await hooks.deliveries(webhook["id"]) == [
        ("skipped", "lead", "The endpoint answered 410: it takes no more webhooks")
    ]
    assert not (await hooks.client.get(f"/webhooks/{webhook['id']}"))["active"]
    paused = (await hooks.client.get("/audit"))["entries"][0]
    assert (paused["actor"]["type"], paused["actor"]["name"]) == ("system", "Webhook delivery")
    await hooks.run(minutes=1)
    assert await hooks.store(lead("e2")) == ["e1"]
    status, _ = await hooks.client.ask("POST", f"/audit/{paused['id']}/undo", body=b"{}")
    hooks.status = 200
    await hooks.run(minutes=1)
    assert (status, await hooks.store(lead("e3"))) == (200, ["e1", "e3"])


@pytest.mark.parametrize("meanwhile", ["changed", "deleted"])
async def test_410_of_a_former_address_pauses_nothing(hooks, meanwhile):
    webhook = await hooks.write("POST", "/webhooks", **LEADS)
    path = f"/webhooks/{webhook['id']}"

    async def answer_410(url, headers, body):
        if meanwhile == "changed":
            await hooks.write("PATCH", path, url="https://hooks.example.com/new")
        else:
            await hooks.write("DELETE", path)
        return 410

    hooks.post = answer_410
    await hooks.store(lead("e1"))
    status, answer = await hooks.client.ask("GET", path)
    assert (status, answer.get("active")) == ((200, True) if meanwhile == "changed" else (404, None))


async def test_new_webhook_gets_events_after_some_seconds(hooks):
    assert await hooks.store(lead("e1")) == []
    await hooks.write("POST", "/webhooks", **LEADS)
    hooks.served.now += timedelta(seconds=5)
    assert await hooks.store(lead("e2")) == ["e2"]


async def test_replaced_secret_does_not_come_back_by_undo(hooks):
    webhook = await hooks.write("POST", "/webhooks", **LEADS)
    _, rotated = await hooks.client.ask("POST", f"/webhooks/{webhook['id']}/secret", body=b"{}")
    refused = await hooks.client.refused("POST", f"/audit/{rotated['audit_id']}/undo", {})
    assert refused == (409, "not_undoable")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"url": "http://hooks.example.com/"}, "invalid_url"),
        ({"url": "https://10.0.0.8/"}, "invalid_url"),
        ({"url": "https://localhost/"}, "invalid_url"),
        ({"event_names": []}, "invalid_field"),
        ({"event_names": [" "]}, "invalid_field"),
        ({"name": " "}, "invalid_field"),
    ],
)
async def test_impossible_webhook_is_refused(hooks, fields, code):
    assert await hooks.client.refused("POST", "/webhooks", {"webhook": LEADS | fields}) == (422, code)


async def test_private_address_is_taken_where_the_operator_allows_it(hooks, monkeypatch):
    settings = hooks.served.service.settings.webhooks
    monkeypatch.setitem(settings.__dict__, "allow_private_addresses", True)
    webhook = await hooks.write("POST", "/webhooks", **LEADS | {"url": "https://10.0.0.8/"})
    assert webhook["url"] == "https://10.0.0.8/"


async def test_test_message_is_sent_signed_also_to_a_paused_webhook(hooks):
    webhook = await hooks.write("POST", "/webhooks", **LEADS | {"active": False})
    path = f"/webhooks/{webhook['id']}"
    _, rotated = await hooks.client.ask("POST", f"{path}/secret", body=b"{}")
    _, shown = await hooks.client.ask("POST", f"{path}/test", body=b'{"dry_run": true}')
    _, queued = await hooks.client.ask("POST", f"{path}/test", body=b"{}")
    assert [shown["status"], queued["status"]] == [None, "queued"]
    hooks.status = 500
    await hooks.worker.send_all_due()
    assert await hooks.deliveries(webhook["id"]) == [
        ("retrying", "Test message", "The endpoint answered 500")
    ]
    [(url, headers, body)] = hooks.requests
    with time_machine.travel(NOW, tick=False):
        sent = Webhook(rotated["data"]["secret"]).verify(body, headers)
    assert (url, sent["type"], sent["data"]["webhook"]["name"]) == (LEADS["url"], "webhook.test", "Leads")


async def test_event_with_the_id_of_a_test_message_is_sent_as_event(hooks):
    await hooks.write("POST", "/webhooks", **LEADS)
    assert await hooks.store(lead("test:1")) == ["test:1"]


async def test_workspace_has_a_limit_of_webhooks(hooks, monkeypatch):
    monkeypatch.setattr(resource, "MAX_WEBHOOKS", 2)
    for name in ("A", "B"):
        await hooks.write("POST", "/webhooks", **LEADS | {"name": name})
    assert await hooks.client.refused("POST", "/webhooks", {"webhook": LEADS}) == (422, "too_many_webhooks")


async def test_hanging_host_of_a_workspace_leaves_slots_and_turns_to_another(hooks):
    """40 events wait for a host that does not answer, and 12 events of another workspace came later."""
    slow = await hooks.write("POST", "/webhooks", **LEADS)
    other = await hooks.served.workspace(timezone="UTC")
    await hooks.host.batch(*(lead(f"slow{number}") for number in range(40)))
    await hooks.host.drain()
    outbox = hooks.worker.outbox
    (entry,) = await outbox.list_notifications_of_source(hooks.client.workspace.id, UUID(slow["id"]), 1)
    later = replace(entry, workspace_id=other.workspace.id, source_id=new_id())
    await outbox.add_notifications_if_absent(
        [replace(later, id=new_id(), occurrence=str(number)) for number in range(12)]
    )
    hanging, answered, is_settled, may_answer = 0, 0, asyncio.Event(), asyncio.Event()

    async def send(workspace, notification):
        nonlocal hanging, answered
        is_other = workspace.id == other.workspace.id
        answered, hanging = answered + is_other, hanging + (not is_other)
        if answered == 12 and hanging == 4:
            is_settled.set()
        if not is_other:
            await may_answer.wait()
        return 200

    worker = replace(hooks.worker, senders={(EVENT_WEBHOOK_TYPE, Channel.WEBHOOK): send})
    run = asyncio.create_task(worker.send_due_notifications())
    async with asyncio.timeout(GUARD_SECONDS):
        await is_settled.wait()
        hooks.served.now += timedelta(seconds=10)
        may_answer.set()
        assert await run == 16
