"""Bodies of published libraries, sent as they send them: accepted, and every field they carry is used."""

import asyncio
import gzip
import json
from functools import reduce

import pytest

from service_core.access.api_keys import create_write_or_agent_key
from service_core.access.models import CredentialKind
from tests.analytics.deployment import run_deployment
from tests.hosts.ingest.published_clients import CLIENTS, WEB_EVENT
from tests.hosts.ingest.test_batch import BatchHost, page_view

TODAY = {"start_date": "2026-07-08", "end_date": "2026-07-08"}


@pytest.fixture
async def host(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield BatchHost(served, await served.workspace(timezone="UTC"))


async def send(host, client):
    """Sends a recorded request; returns status and answer."""
    key = await create_write_or_agent_key(
        host.ports.workspace.credentials, host.client.workspace, CredentialKind.WRITE, host.served.now
    )
    body = json.dumps(client.body).replace("{workspace}", host.client.workspace.public_id).encode()
    headers = [(name, value.replace("{key}", key.secret)) for name, value in client.headers.items()]
    sent = gzip.compress(body) if client.gzip else body
    status, answer, _ = await host.ask(
        sent, path=client.path, headers=headers, origin=None, user_agent=client.headers["user-agent"]
    )
    return status, answer


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
async def test_published_client_is_accepted_and_its_fields_are_columns(host, client):
    status, answer = await send(host, client)
    assert status == 200
    assert answer["success"] is True
    assert answer.get("rejected", []) == []
    (row,) = await host.events()
    assert {name: row[name] for name in client.columns} == client.columns


async def test_events_of_another_workspace_than_the_first_are_rejected_one_by_one(host):
    own, other = host.client.workspace.public_id, "k3Jx9QmZ2aPr"
    events = [page_view("a", workspace_id=own), page_view("b", workspace_id=other), page_view("c")]
    status, result, _ = await host.ask(json.dumps({"events": events}).encode())
    assert (status, result["accepted"]) == (200, 2)
    error = "The event names another workspace than the first one of the batch"
    assert result["rejected"] == [{"index": 1, "event_id": "b", "error": error}]
    assert {row["event_id"] for row in await host.events()} == {"a", "c"}
    assert (await host.ledger_rows(3))["rejected_by_reason"] == {"other_workspace": 1}


async def test_batch_whose_events_name_no_known_workspace_is_refused(host):
    status, result, _ = await host.ask(json.dumps({"events": [WEB_EVENT]}).encode())
    assert (status, result) == (401, {"error": "Invalid API key"})


@pytest.mark.parametrize("path", ["/batch", "/track"])
async def test_inflating_stops_at_the_limit(host, path):
    bomb = gzip.compress(b'{"event":"x","user_id":"' + b"a" * 300_000 + b'"}')
    assert len(bomb) < 1_000
    status, result, _ = await host.ask(bomb, path=path, headers=[("content-encoding", "gzip")])
    assert (status, result) == (413, {"error": "Payload too large. Maximum size is 256KB."})


@pytest.mark.parametrize("path", ["/batch", "/track", "/container-scripts", "/"])
async def test_unknown_encoding_is_415(host, path):
    status, result, _ = await host.ask(b"x", path=path, headers=[("content-encoding", "br")])
    assert (status, result) == (415, {"error": "Unsupported content encoding"})


@pytest.mark.parametrize("path", ["/batch", "/"])
async def test_unknown_encoding_of_a_readable_batch_is_counted_in_the_ledger_of_its_workspace(host, path):
    events = [page_view(event_id) for event_id in ("a", "b")]
    body = json.dumps({"workspace_id": host.client.workspace.public_id, "events": events}).encode()
    status, result, _ = await host.ask(body, path=path, headers=[("content-encoding", "utf-8")])
    assert (status, result) == (415, {"error": "Unsupported content encoding"})
    totals = await host.ledger_rows(2)
    assert (totals["rejected_by_reason"], totals["stored"]) == ({"unsupported_encoding": 2}, 0)


async def test_unknown_encoding_is_counted_in_the_ledger_of_the_key(host):
    key = await create_write_or_agent_key(
        host.ports.workspace.credentials, host.client.workspace, CredentialKind.WRITE, host.served.now
    )
    headers = [("content-encoding", "br"), ("x-api-key", key.secret)]
    status, result, _ = await host.ask(b"x", path="/track", headers=headers)
    assert (status, result) == (415, {"error": "Unsupported content encoding"})
    async with asyncio.timeout(30):
        while not (ledger := await host.client.get("/ledger", **TODAY))["rows"]:
            await asyncio.sleep(0.01)
    assert ledger["totals"]["rejected_by_reason"] == {"unsupported_encoding": 1}
    assert (ledger["totals"]["received"], ledger["balanced"]) == (1, True)


async def test_guessed_order_id_does_not_keep_the_servers_purchase_out(host):
    order = {"value": 50, "currency": "USD", "order_id": "1001"}
    guess = page_view("order_1001", event="purchase", properties=order | {"value": 0.01})
    assert (await host.batch(guess))[1]["accepted"] == 1
    assert len(await host.events()) == 1
    key = await create_write_or_agent_key(
        host.ports.workspace.credentials, host.client.workspace, CredentialKind.WRITE, host.served.now
    )
    body = {"event": "purchase", "event_id": "order_1001", "user_id": "u_42", "properties": order}

    async def track():
        return await host.ask(
            json.dumps(body).encode(),
            path="/track",
            origin=None,
            user_agent="x",
            headers=[("x-api-key", key.secret)],
        )

    status, result, _ = await track()
    assert (status, result["success"]) == (200, True)
    (row,) = await host.events()
    assert (row["revenue"], row["user_id"], row["source"]) == (50, "u_42", "api")
    assert (await track())[1]["success"] is False
    assert (await host.batch(guess))[1]["duplicates"] == 1
    ledger = await host.client.get("/ledger", start_date="2026-07-08", end_date="2026-07-08")
    assert ledger["balanced"]


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"properties": {"value": "a lot"}}, {"money_ignored": 1}),
        ({"properties": {"value": [1]}}, {"money_ignored": 1}),
        ({"properties": {"value": 5, "currency": "dollars"}}, {"currency_ignored": 1, "money_not_paid": 1}),
        ({"properties": {"clickId": "1", "clickIdType": "own"}}, {"click_id_type_unknown": 1}),
        ({"properties": "text"}, {"properties_ignored": 1}),
        ({"external_ids": ["1"]}, {"external_ids_ignored": 1}),
        ({"timestamp": "yesterday"}, {"timestamp_replaced": 1}),
        ({"user_id": "u" * 256}, {"id_cut": 1}),
        ({"utm_source": "google"}, {"top_level_attribution_dropped": 1}),
        ({"ip": "nowhere"}, {"ip_ignored": 1}),
        ({"user_id": "u", "properties": {"order_id": "o" * 256}}, {"id_cut": 1}),
        ({"external_ids": {"crm": {"id": 1}}}, {"external_ids_ignored": 1}),
        ({"properties": reduce(lambda inner, _: {"in": inner}, range(40), {})}, {"property_dropped": 1}),
        ({"properties": {"value": "5", "currency": "usd"}}, {"money_not_paid": 1}),
        ({"properties": {"value": "5", "currency": "XYZ"}}, {"money_ignored": 1, "currency_ignored": 1}),
        (
            {
                "event": "purchase",
                "properties": {"value": "5", "currency": "usd"},
                "ip": "0",
                "timestamp": 1783504800,
            },
            {},
        ),
    ],
)
async def test_parts_that_cannot_be_used_are_shown_in_the_ledger(host, fields, reasons):
    assert (await host.batch(page_view(**fields)))[1]["accepted"] == 1
    assert len(await host.events()) == 1
    ledger = await host.client.get("/ledger", start_date="2026-07-08", end_date="2026-07-08")
    assert ledger["rows"][0]["ignored_by_reason"] == ledger["totals"]["ignored_by_reason"] == reasons
    assert (ledger["totals"]["stored"], ledger["balanced"]) == (1, True)
