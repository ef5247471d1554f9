"""Readiness as the contract has it (12): degraded when something cannot be relied on, unknown or not."""

import asyncio
import errno
import json
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from hosts.composition.compose import compose
from service_core.access.ports import RateLimiterUnavailable
from service_core.api.http_messages import ApiRequest
from service_core.api.operations import get_health, get_ready
from service_core.api.readiness import (
    Probe,
    ProbeResult,
    ReadinessChecker,
    build_change_version_probe,
    build_limiter_probe_by_consuming,
    build_queue_age_and_ledger_probe,
    build_queue_answers_probe,
    build_store_probe_with_newest_event,
)
from service_core.ingestion.ports import QueueState
from service_core.kernel.settings import Settings

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)


@dataclass
class LedgerRow:
    is_balanced: bool = True


@dataclass
class StubWorkspace:
    id: int


class StubPorts:
    """Event store, directory, queue and limiter in one, each told how it is."""

    def __init__(self):
        self.now = NOW
        self.oldest = None
        self.rows = [LedgerRow()]
        self.asked = 0
        self.listed = 0
        self.workspace_count = 2
        self.unbalanced_ids = set()
        self.ledgers_read = 0
        self.limiter_down = False
        self.spans = {1: (NOW - timedelta(days=2), NOW - timedelta(hours=1)), 2: None}

    def change_version(self):
        return 1

    async def list_workspaces(self):
        self.listed += 1
        return [StubWorkspace(id_) for id_ in range(1, self.workspace_count + 1)]

    async def first_and_last_event_time(self, workspace_id):
        self.asked += 1
        return self.spans[workspace_id]

    async def state(self):
        return QueueState(0 if self.oldest is None else 3, self.oldest)

    async def ledger_rows(self, workspace_id, start, end):
        assert start < self.now < end
        self.ledgers_read += 1
        return [LedgerRow(is_balanced=False)] if workspace_id in self.unbalanced_ids else self.rows

    async def consume(self, key, limit, window_seconds):
        if self.limiter_down:
            raise RateLimiterUnavailable

    async def ready(self, *more):
        probes = [
            build_store_probe_with_newest_event(self, self), build_queue_age_and_ledger_probe(self, self, lambda: self.now), build_limiter_probe_by_consuming(self), build_change_version_probe(self), *more,
        ]  # fmt: skip
        reply = await get_ready(checker=ReadinessChecker(probes, lambda: self.now))
        return reply.status, reply.body


@pytest.fixture
def stub_ports():
    return StubPorts()


async def test_health_reads_no_store():
    assert (await get_health()).status == "ok"
    assert not get_health.dependencies


async def test_ready_when_every_probe_succeeds(stub_ports):
    status, answer = await stub_ports.ready()
    assert (status, answer.status) == (200, "ok")
    assert answer.checks == dict.fromkeys(["store", "queue", "limiter", "cache"], "ok")
    assert (answer.queue_age_seconds, answer.newest_event_at) == (0, NOW - timedelta(hours=1))


async def test_ready_with_a_short_queue(stub_ports):
    stub_ports.oldest = NOW - timedelta(seconds=90)
    status, answer = await stub_ports.ready()
    assert (status, answer.queue_age_seconds) == (200, 90)


async def test_degraded_when_an_event_waits_for_five_minutes(stub_ports):
    stub_ports.oldest = NOW - timedelta(minutes=5)
    status, answer = await stub_ports.ready()
    assert (status, answer.status, answer.checks["queue"]) == (503, "degraded", "degraded")
    assert answer.checks["store"] == "ok"


async def test_degraded_when_the_ledger_does_not_balance(stub_ports):
    stub_ports.rows = [LedgerRow(), LedgerRow(is_balanced=False)]
    assert (await stub_ports.ready())[1].checks["queue"] == "degraded"


async def test_degraded_when_the_limit_store_is_unavailable(stub_ports):
    stub_ports.limiter_down = True
    assert (await stub_ports.ready())[1].checks["limiter"] == "degraded"


async def test_degraded_with_null_facts_when_a_store_fails_or_hangs(stub_ports, monkeypatch):
    async def hang():
        await asyncio.Event().wait()

    monkeypatch.setattr("service_core.api.readiness.PROBE_TIMEOUT_SECONDS", 0.01)
    stub_ports.spans = {}
    status, answer = await stub_ports.ready(Probe("model", hang))
    assert status == 503
    assert (answer.checks["store"], answer.checks["model"]) == ("degraded", "degraded")
    assert answer.newest_event_at is None


async def test_readiness_is_cached_for_one_second(stub_ports):
    readiness = ReadinessChecker(
        [build_store_probe_with_newest_event(stub_ports, stub_ports)], lambda: stub_ports.now
    )
    await asyncio.gather(*(readiness.report_at_most_one_second_old() for _ in range(5)))
    stub_ports.now += timedelta(seconds=0.9)
    await readiness.report_at_most_one_second_old()
    assert stub_ports.asked == 2  # one question per workspace
    stub_ports.now += timedelta(seconds=0.2)
    await readiness.report_at_most_one_second_old()
    assert stub_ports.asked == 4


async def test_additional_probe_is_included(stub_ports):
    async def low():
        return ProbeResult(ok=False)

    assert (await stub_ports.ready(Probe("disk", low)))[1].checks["disk"] == "degraded"


async def run_times(stub_ports, count):
    """Reports of a checker that ran so often, one in two seconds."""
    readiness = ReadinessChecker(
        [
            build_store_probe_with_newest_event(stub_ports, stub_ports),
            build_queue_age_and_ledger_probe(stub_ports, stub_ports, lambda: stub_ports.now),
        ],
        lambda: stub_ports.now,
    )
    reports = []
    for _ in range(count):
        reports.append(await readiness.report_at_most_one_second_old())
        stub_ports.now += timedelta(seconds=2)
    return reports


@pytest.mark.parametrize("workspace_count", [10, 10_000])
async def test_report_costs_the_same_with_few_and_many_workspaces(stub_ports, workspace_count):
    stub_ports.workspace_count = workspace_count
    stub_ports.spans = dict.fromkeys(range(1, workspace_count + 1))
    await run_times(stub_ports, 3)
    assert (stub_ports.listed, stub_ports.asked <= 24, stub_ports.ledgers_read <= 24) == (2, True, True)


async def test_every_workspace_is_read_in_turn(stub_ports):
    stub_ports.workspace_count = 20
    stub_ports.spans = dict.fromkeys(range(1, 21)) | {1: (NOW, NOW - timedelta(hours=2)), 20: (NOW, NOW)}
    stub_ports.unbalanced_ids = {20}
    reports = await run_times(stub_ports, 5)
    assert [report.checks["queue"] for report in reports] == [True, True, False, False, False]
    assert [report.newest_event_at for report in reports] == [NOW - timedelta(hours=2)] * 2 + [NOW] * 3
    stub_ports.unbalanced_ids = set()
    assert (await run_times(stub_ports, 3))[-1].checks["queue"]


async def test_processes_that_take_events_stay_ready_while_events_wait(stub_ports):
    stub_ports.oldest = NOW - timedelta(hours=5)

    async def ledger_rows(*_):
        if stub_ports.limiter_down:
            raise RateLimiterUnavailable
        return []

    stub_ports.ledger_rows = ledger_rows
    readiness = ReadinessChecker(
        [build_queue_answers_probe(stub_ports, lambda: stub_ports.now)], lambda: stub_ports.now
    )
    assert (await readiness.report_at_most_one_second_old()).ok
    stub_ports.limiter_down = True
    stub_ports.now += timedelta(seconds=2)
    assert not (await readiness.report_at_most_one_second_old()).ok


async def test_full_or_missing_disk_is_degraded(tmp_path, monkeypatch):
    settings = Settings.model_validate({"storage": {"events": "memory://"}})
    folder = tmp_path / "data"
    folder.mkdir()
    now = NOW

    async def ready():
        nonlocal now
        now += timedelta(minutes=1)
        answer = await service.dispatch(ApiRequest("GET", "/ready"))
        return answer.status, json.loads(answer.body)["checks"]["disk"]

    async with compose(settings, folder, clock=lambda: now) as service:
        assert await ready() == (200, "ok")
        with monkeypatch.context() as patched:
            usage = shutil.disk_usage(folder)
            patched.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
            assert await ready() == (503, "degraded")
        with monkeypatch.context() as patched:
            patched.setattr(tempfile, "TemporaryFile", read_only)
            assert await ready() == (503, "degraded")
        assert await ready() == (200, "ok")
        assert not [path for path in folder.iterdir() if path.name.startswith(".ready")]


def read_only(**_):
    raise OSError(errno.EROFS, "Read-only file system")
