"""F2: PostgreSQL hangs: its connections stay open and nothing is answered, until it goes on."""

import asyncio
import json
import re
from contextlib import contextmanager

import pytest

from hosts.composition.compose import load_installed_registry_once
from plugins.workspace_sql import change_counter_poller
from service_core.api.http_messages import ApiRequest
from service_core.api.readiness import PROBE_TIMEOUT_SECONDS
from service_core.kernel.ids import new_id
from service_core.kernel.operations import CredentialRequirement, RoutePrefix
from tests.fault_injection.test_malformed_writes import GOOD, WriteRouteClient
from tests.fixtures.cpu_wait import Stopwatch
from tests.workspace.conftest import WorkspaceApi

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
def suspend_server(server):
    server.suspend()
    try:
        yield
    finally:
        server.resume()


@pytest.fixture
async def workspace_api(tmp_path, postgres_server, monkeypatch):
    monkeypatch.setattr(change_counter_poller, "MAX_AGE_SECONDS", 3.0)
    url = postgres_server.url
    events = f"{url}?schema=events&connect_seconds=1&timeout_seconds={EVENTS_SECONDS}"
    made = WorkspaceApi(
        tmp_path, storage={"workspace": f"{url}?timeout_seconds={BOUND_SECONDS}", "events": events}
    )
    WriteRouteClient(made)
    async with made.service:
        yield await made.open()


async def request_operation(workspace_api, operation):
    """Status of an answer, and how long it took."""
    body = GOOD.get(operation.path) or GOOD.get(re.sub(r"/\{.*", "", operation.path), {})
    content = b"" if operation.body is None else json.dumps(body).encode()
    path = re.sub(r"\{\w+\}", str(new_id()), operation.path)
    headers = {"authorization": f"Bearer {workspace_api.keys['shop']}"}
    watch = Stopwatch()
    answer = await workspace_api.service.dispatch(
        ApiRequest(operation.method, f"/v1{path}", QUERY, headers, content)
    )
    return answer.status, watch.seconds()


def all_operations():
    """Those that take a key, by their names."""
    found = [
        each
        for each in load_installed_registry_once().operations
        if (each.prefix, each.credential) == (RoutePrefix.V1, CredentialRequirement.KEY)
    ]
    return {f"{each.method} {each.path}": each for each in found}


async def request_sequentially(workspace_api, method=""):
    """Name of an operation -> status of its answer."""
    workspace_api.later(minutes=1)
    some = {name: each for name, each in all_operations().items() if name.startswith(method)}
    return {name: (await request_operation(workspace_api, each))[0] for name, each in some.items()}


async def request_concurrently(workspace_api):
    """Name of an operation -> status of its answer; none takes longer than is promised."""
    workspace_api.later(minutes=1)
    answers = await asyncio.gather(
        *(request_operation(workspace_api, each) for each in all_operations().values())
    )
    assert max(took for _, took in answers) < EVENTS_SECONDS + STOPPING_SECONDS + MARGIN_SECONDS
    return dict(zip(all_operations(), (status for status, _ in answers), strict=True))


async def service_is_ready(workspace_api):
    workspace_api.later(seconds=2)  # a reading serves those who ask within a second
    watch = Stopwatch()
    answer = await workspace_api.service.dispatch(ApiRequest("GET", "/ready", "", {}, b""))
    assert watch.seconds() < PROBE_TIMEOUT_SECONDS + MARGIN_SECONDS
    return answer.status == 200


async def test_suspended_database_returns_503_in_time_and_recovers(workspace_api, postgres_server):
    before = await request_sequentially(workspace_api)
    assert await service_is_ready(workspace_api)
    with suspend_server(postgres_server):
        for _ in range(2):  # the second time, nobody believes a key any more
            during = await request_concurrently(workspace_api)
            values = {name for name, status in during.items() if status != 503}
            refused = {name for name in values if 400 <= during[name] == before[name]}
            assert values - refused <= ELSEWHERE
            assert not await service_is_ready(workspace_api)
        status, took = await request_operation(workspace_api, all_operations()["POST /links"])
        assert (status, took < BOUND_SECONDS + MARGIN_SECONDS) == (503, True)
        assert during["GET /workspace"] == during["POST /links"] == 503
    assert (await request_sequentially(workspace_api, "GET")).items() <= before.items()
    await workspace_api.link()
    async with asyncio.timeout(100):
        while not await service_is_ready(workspace_api):
            await asyncio.sleep(0.05)
