"""F14: the clock of the server is set back an hour while it serves: nobody is locked out, no age is negative."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest

from service_core.gateway.exchange import Request
from service_core.intake.model import Arrival, Channel
from service_core.intake.ports import Offer
from service_core.intake.track import INGEST_RATE, RateLimit
from tests.workspace.conftest import NOW, Office

HOUR = timedelta(hours=1)


@pytest.fixture
async def office(tmp_path):
    made = Office(tmp_path)
    made.service.ports.limits.__init__(100, clock=lambda: made.now)
    async with made.service:
        yield await made.open()


async def test_a_budget_that_is_used_up_is_no_lock_when_the_clock_goes_back(office):
    windows = office.service.ports.limits
    spent = [(await windows.spend("key", 3, 60)).allowed for _ in range(4)]
    office.now -= HOUR
    assert (spent, (await windows.spend("key", 3, 60)).allowed) == ([True] * 3 + [False], True)
    ingest, key = RateLimit(), uuid4()
    assert [ingest.spend(key, NOW) for _ in range(INGEST_RATE + 1)].count(True) == INGEST_RATE
    assert ingest.spend(key, NOW - HOUR)


async def test_what_was_received_later_than_now_has_no_negative_age_and_stays_a_duplicate(office):
    shop, queue = office.workspaces["shop"], office.service.ports.queue

    async def offered():
        arrival = Arrival(
            shop.id, shop.id, Channel.TRACK, "order_1", True, office.now, b'{"event":"a"}', None, None, {}
        )
        return await queue.offer(arrival)

    assert await offered() is Offer.QUEUED
    office.now -= HOUR
    assert await offered() is Offer.DUPLICATE
    ready = await office.service.dispatch(Request("GET", "/ready", "", {}, b""))
    assert json.loads(ready.body)["queue_age_seconds"] == 0
    told = (await office.ask("GET", "/ledger?start_date=2026-07-08&end_date=2026-07-08")).json
    assert (told["balanced"], told["totals"]["in_flight"], told["totals"]["duplicate"]) == (True, 1, 1)


async def test_a_write_is_still_performed_once_and_the_log_still_in_order(office):
    body = {"link": {"name": "Reel", "destination_url": "https://example.com/a"}}
    first = await office.ask("POST", "/links", body, once="k")
    office.now -= HOUR
    again = await office.ask("POST", "/links", body, once="k")
    assert (again.bytes, again.headers["Idempotent-Replay"]) == (first.bytes, "true")
    gone = await office.ask("DELETE", f"/links/{first.json['data']['id']}")
    undone = await office.ask("POST", f"/audit/{gone.json['audit_id']}/undo")
    assert undone.status == 200
    entries = (await office.ask("GET", "/audit")).json["entries"]
    assert sorted(entries, key=lambda entry: entry["created_at"], reverse=True) == entries
    assert len(await office.links()) == 1
