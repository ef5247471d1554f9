"""F2: PostgreSQL hangs: its connections stay open and nothing is answered, until it goes on."""

import asyncio
import json
import re
from contextlib import contextmanager

import pytest

from hosts.composition.compose import installed
from plugins.workspace_sql import polled
from service_core.gateway.exchange import Request
from service_core.gateway.readiness import PATIENCE_SECONDS
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Entry, Surface
from tests.faults.test_malformed_writes import GOOD, Door
from tests.faults.waiting import Stopwatch
from tests.workspace.conftest import Office

pytestmark = pytest.mark.faults

BOUND_SECONDS = 3.0
EVENTS_SECONDS = 3.0
STOPPING_SECONDS = 2.0
"""What the event store takes to give a connection up, after its own bound."""
MARGIN_SECONDS = 5.0
QUERY = "start_date=2026-07-01&end_date=2026-07-08&q=shop&dimension=country&steps=page_view,purchase"
ELSEWHERE = {"GET /metrics/catalog", "GET /docs/search", "GET /ledger"}
"""Answers that stand on no store, or on the queue."""


@contextmanager
def hung(server):
    server.hang()
    try:
        yield
    finally:
        server.go_on()


@pytest.fixture
async def office(tmp_path, postgres_server, monkeypatch):
    monkeypatch.setattr(polled, "TRUSTED_SECONDS", 3.0)
    url = postgres_server.url
    events = f"{url}?schema=events&connect_seconds=1&timeout_seconds={EVENTS_SECONDS}"
    made = Office(tmp_path, storage={"workspace": f"{url}?timeout_seconds={BOUND_SECONDS}", "events": events})
    Door(made)
    async with made.service:
        yield await made.open()


async def asked(office, operation):
    """Status of an answer, and how long it took."""
    body = GOOD.get(operation.path) or GOOD.get(re.sub(r"/\{.*", "", operation.path), {})
    content = b"" if operation.body is None else json.dumps(body).encode()
    path = re.sub(r"\{\w+\}", str(new_id()), operation.path)
    headers = {"authorization": f"Bearer {office.keys['shop']}"}
    watch = Stopwatch()
    answer = await office.service.dispatch(Request(operation.method, f"/v1{path}", QUERY, headers, content))
    return answer.status, watch.seconds()


def operations():
    """Those that take a key, by their names."""
    found = [each for each in installed().operations if (each.surface, each.entry) == (Surface.V1, Entry.KEY)]
    return {f"{each.method} {each.path}": each for each in found}


async def one_by_one(office, method=""):
    """Name of an operation -> status of its answer."""
    office.later(minutes=1)
    some = {name: each for name, each in operations().items() if name.startswith(method)}
    return {name: (await asked(office, each))[0] for name, each in some.items()}


async def at_once(office):
    """Name of an operation -> status of its answer; none takes longer than is promised."""
    office.later(minutes=1)
    answers = await asyncio.gather(*(asked(office, each) for each in operations().values()))
    assert max(took for _, took in answers) < EVENTS_SECONDS + STOPPING_SECONDS + MARGIN_SECONDS
    return dict(zip(operations(), (status for status, _ in answers), strict=True))


async def is_ready(office):
    office.later(seconds=2)  # a reading serves those who ask within a second
    watch = Stopwatch()
    answer = await office.service.dispatch(Request("GET", "/ready", "", {}, b""))
    assert watch.seconds() < PATIENCE_SECONDS + MARGIN_SECONDS
    return answer.status == 200


async def test_while_it_hangs_every_route_is_unknown_in_time_and_afterwards_all_is_as_before(
    office, postgres_server
):
    before = await one_by_one(office)
    assert await is_ready(office)
    with hung(postgres_server):
        for _ in range(2):  # the second time, nobody believes a key any more
            during = await at_once(office)
            told = {name for name, status in during.items() if status != 503}
            refused = {name for name in told if 400 <= during[name] == before[name]}
            assert told - refused <= ELSEWHERE
            assert not await is_ready(office)
        status, took = await asked(office, operations()["POST /links"])
        assert (status, took < BOUND_SECONDS + MARGIN_SECONDS) == (503, True)
        assert during["GET /workspace"] == during["POST /links"] == 503
    assert (await one_by_one(office, "GET")).items() <= before.items()
    await office.link()
    async with asyncio.timeout(100):
        while not await is_ready(office):
            await asyncio.sleep(0.05)
