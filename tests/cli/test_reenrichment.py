"""``touchpoint workspace reenrich``: stored events take the present rules, and reports follow."""

import asyncio
import json
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from hosts.cli.reenrichment import _reenrich_here_or_in_service
from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.store_copy.copy_events import build_scope_of_all_events
from hosts.worker import reenrichment, reenrichment_lease
from hosts.worker.reenrichment import (
    REQUESTS_FILE,
    ReenrichmentProgress,
    ReenrichmentRequests,
    reenrich_workspace,
    run_requested_reenrichments,
)
from hosts.worker.reenrichment_lease import ReenrichmentLease, ReenrichmentRunning
from service_core.analytics.ports import EventPageQuery, StoreUnavailable
from service_core.changes.audit_log import AuditFilter
from service_core.kernel.time_ranges import TimeRange
from tests.fixtures.waiting import GUARD_SECONDS

WHOLE = TimeRange(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC))


@pytest.fixture
def config(touchpoint, deployment, tmp_path):
    """A deployment with events of three days: two visits by a newsletter, one goes on after midnight."""
    config, file = Path(deployment["config"]), tmp_path / "events.ndjson"
    news = {
        "url": "https://shop.example/?utm_source=letter&utm_medium=crm",
        "utm_source": "letter",
        "utm_medium": "crm",
    }
    visits = [
        ("2026-07-01T10:00:00Z", "u1", "s1", "page_view", news),
        ("2026-07-02T23:58:00Z", "u2", "s2", "page_view", news),
        ("2026-07-03T00:02:00Z", "u2", "s2", "purchase", {"value": 10, "currency": "USD"}),
        ("2026-07-03T12:00:00Z", "u3", "s3", "page_view", {"url": "https://shop.example/"}),
    ]
    lines = [
        json.dumps(
            {
                "event": name,
                "user_id": user,
                "timestamp": at,
                "properties": sent,
                "context": {"session_id": session},
            }
        )
        for at, user, session, name, sent in visits
    ]
    file.write_text("\n".join(lines))
    touchpoint("import", "events", file, "--config", config)
    touchpoint("workspace", "set", "--channel", "custom:crm medium=crm", "--config", config)
    return config


async def read_channels_and_audit(config):
    ports = load_ports(config)
    async with start_adapters([ports.workspace, ports.events]):
        (workspace,) = await ports.workspace.credentials.list_workspaces()
        page = await ports.events.list_events(
            EventPageQuery(build_scope_of_all_events(workspace, WHOLE), limit=100)
        )
        touches = await ports.events.list_latest_person_touches(
            build_scope_of_all_events(workspace, WHOLE), "u:u2"
        )
        async with ports.workspace.transactions.read(workspace.id) as unit:
            entries = await unit.audit.list_entries(
                AuditFilter(until=datetime.max.replace(tzinfo=UTC)), 10, 0
            )
    return [event.channel for event in reversed(page.events)], [touch.channel for touch in touches], entries


def test_channels_of_stored_events_touches_and_audit_log_follow(touchpoint, config):
    before, _, _ = asyncio.run(read_channels_and_audit(config))
    assert "custom:crm" not in before
    done = touchpoint("workspace", "reenrich", "--config", config)
    assert "3 events have another" in done.stdout
    assert f"Settings: {config}" in done.stderr
    channels, touches, (entry, *_) = asyncio.run(read_channels_and_audit(config))
    assert channels == ["custom:crm"] * 3 + ["direct"]
    assert touches == ["custom:crm"]
    assert (entry.resource.type, entry.new_state["changed_events"], entry.undoable) == (
        "event_history",
        3,
        False,
    )
    assert "0 events have another" in touchpoint("workspace", "reenrich", "--config", config).stdout


def test_stopped_run_goes_on_and_counts_what_it_had_done(touchpoint, config, monkeypatch):
    real, days = reenrichment._reenrich_day, []

    async def fail_on_third_day(ports, workspace, day, reenricher, *, writes):
        days.append((day.start.day, writes))
        if len(days) == 3:
            raise KeyboardInterrupt
        return await real(ports, workspace, day, reenricher, writes=writes)

    monkeypatch.setattr(reenrichment, "_reenrich_day", fail_on_third_day)
    touchpoint("workspace", "reenrich", "--config", config, code=130)
    done = touchpoint("workspace", "reenrich", "--config", config)
    assert "3 events have another" in done.stdout
    assert days == [(1, True), (2, True), (3, True), (2, False), (3, True)]
    channels, touches, _ = asyncio.run(read_channels_and_audit(config))
    assert channels == ["custom:crm"] * 3 + ["direct"]
    assert touches == ["custom:crm"]


async def test_running_service_does_the_work_where_it_owns_the_event_store(config):
    ports, shown = load_ports(config), []
    with try_consumer_lock(config.parent) as is_free:
        assert is_free
        waiting = asyncio.create_task(
            _reenrich_here_or_in_service(config, None, lambda done, days: shown.append((done, days)))
        )
        async with start_adapters([ports.workspace, ports.events, ports.geo, ports.domains]):
            async with asyncio.timeout(GUARD_SECONDS):
                while not (config.parent / REQUESTS_FILE).exists():
                    await asyncio.sleep(0.01)
            await run_requested_reenrichments(ports)
        assert await waiting == 3
    assert shown
    channels, _, _ = await read_channels_and_audit(config)
    assert channels == ["custom:crm"] * 3 + ["direct"]


@pytest.fixture
async def opened(config):
    """The stores of the deployment, its requests and its workspace."""
    ports = load_ports(config)
    async with start_adapters([ports.workspace, ports.events, ports.geo, ports.domains]):
        (workspace,) = await ports.workspace.credentials.list_workspaces()
        yield ports, workspace, ReenrichmentRequests(config.parent)


async def test_second_run_at_the_same_time_is_refused_and_names_the_process(opened, monkeypatch):
    ports, workspace, requests = opened
    real, refusals = reenrichment._reenrich_day, []

    async def start_second_run(*arguments, **options):
        with pytest.raises(ReenrichmentRunning) as refused:
            await reenrich_workspace(ports, workspace, requests)
        refusals.append(str(refused.value))
        return await real(*arguments, **options)

    monkeypatch.setattr(reenrichment, "_reenrich_day", start_second_run)
    assert await reenrich_workspace(ports, workspace, requests) == 3
    assert len(refusals) == 3
    assert all(
        f"by process {os.getpid()} on {socket.gethostname()} at the moment" in result for result in refusals
    )
    monkeypatch.undo()
    assert await reenrich_workspace(ports, workspace, requests) == 0


async def test_request_waits_while_a_process_with_another_folder_holds_the_lease(opened):
    ports, workspace, requests = opened
    requests.save(workspace.id, ReenrichmentProgress())
    other = ReenrichmentLease(ports.workspace.sync_leases, workspace.id, ports.clock, str)
    async with other.hold():
        await run_requested_reenrichments(ports)
        assert not requests.load()[workspace.id].is_complete
        with pytest.raises(ReenrichmentRunning, match="by a process with another data folder"):
            await reenrich_workspace(ports, workspace, requests)
    await run_requested_reenrichments(ports)
    assert requests.load()[workspace.id].changed_events == 3


async def test_lease_ends_a_minute_after_a_crash(opened):
    ports, workspace, _ = opened
    now = datetime(2026, 8, 1, tzinfo=UTC)
    crashed, other = (
        ReenrichmentLease(ports.workspace.sync_leases, workspace.id, lambda: now, str) for _ in range(2)
    )
    await crashed.acquire_or_renew()
    now += timedelta(seconds=59)
    with pytest.raises(ReenrichmentRunning):
        await other.acquire_or_renew()
    now += timedelta(seconds=1)
    await other.acquire_or_renew()
    with pytest.raises(ReenrichmentRunning):
        await crashed.acquire_or_renew()


async def test_lease_is_renewed_while_it_is_held(monkeypatch):
    class CountedLeases:
        def __init__(self):
            self.calls = []

        async def acquire_or_renew_lease(self, *_):
            self.calls.append("acquire")
            return True

        async def release_lease(self, *_):
            self.calls.append("release")

    monkeypatch.setattr(reenrichment_lease, "LEASE_DURATION", timedelta(milliseconds=8))
    leases = CountedLeases()
    async with ReenrichmentLease(leases, uuid4(), lambda: datetime.now(UTC), str).hold():
        async with asyncio.timeout(GUARD_SECONDS):
            while len(leases.calls) < 4:
                await asyncio.sleep(0.001)
    assert leases.calls[-1] == "release"
    assert set(leases.calls[:-1]) == {"acquire"}


async def test_failed_renewal_is_repeated_and_leaves_the_result_of_the_block(monkeypatch):
    class LeasesThatFailOnce:
        def __init__(self):
            self.calls = []

        async def acquire_or_renew_lease(self, *_):
            self.calls.append("acquire")
            if len(self.calls) == 2:
                raise StoreUnavailable("The database does not answer")
            return True

        async def release_lease(self, *_):
            self.calls.append("release")

    monkeypatch.setattr(reenrichment_lease, "LEASE_DURATION", timedelta(milliseconds=8))
    leases = LeasesThatFailOnce()
    async with ReenrichmentLease(leases, uuid4(), lambda: datetime.now(UTC), str).hold():
        async with asyncio.timeout(GUARD_SECONDS):
            while len(leases.calls) < 4:
                await asyncio.sleep(0.001)
    assert leases.calls[-1] == "release"


async def test_unexpected_error_of_a_renewal_leaves_the_result_of_the_block(monkeypatch):
    class FailingLeases:
        def __init__(self):
            self.calls = []

        async def acquire_or_renew_lease(self, *_):
            self.calls.append("acquire")
            if len(self.calls) > 1:
                raise ValueError
            return True

        async def release_lease(self, *_):
            self.calls.append("release")

    monkeypatch.setattr(reenrichment_lease, "LEASE_DURATION", timedelta(milliseconds=8))
    leases = FailingLeases()
    async with ReenrichmentLease(leases, uuid4(), lambda: datetime.now(UTC), str).hold():
        async with asyncio.timeout(GUARD_SECONDS):
            while len(leases.calls) < 2:
                await asyncio.sleep(0.001)
    assert leases.calls == ["acquire", "acquire", "release"]


@pytest.mark.parametrize("meanwhile", ["completed", "removed"])
async def test_request_that_another_process_ends_meanwhile_is_not_run_again(opened, monkeypatch, meanwhile):
    ports, workspace, requests = opened
    requests.save(workspace.id, ReenrichmentProgress())
    credentials, ran = ports.workspace.credentials, []
    list_workspaces = credentials.list_workspaces

    async def end_request_and_list_workspaces():
        if meanwhile == "completed":
            requests.save(workspace.id, ReenrichmentProgress(is_complete=True))
        else:
            requests.remove(workspace.id)
        return await list_workspaces()

    async def record_run(*_):
        ran.append(meanwhile)

    monkeypatch.setattr(credentials, "list_workspaces", end_request_and_list_workspaces)
    monkeypatch.setattr(reenrichment, "reenrich_workspace", record_run)
    await run_requested_reenrichments(ports)
    assert ran == []


async def test_two_commands_wait_for_one_run_of_the_service(config):
    ports = load_ports(config)
    with try_consumer_lock(config.parent):
        waiting = [
            asyncio.create_task(_reenrich_here_or_in_service(config, None, lambda *_: None)) for _ in range(2)
        ]
        async with start_adapters([ports.workspace, ports.events, ports.geo, ports.domains]):
            async with asyncio.timeout(GUARD_SECONDS):
                while not all(done.done() for done in waiting):
                    await run_requested_reenrichments(ports)
                    await asyncio.sleep(0.01)
    assert [done.result() for done in waiting].count(3) >= 1
