"""``touchpoint workspace reenrich``: stored events take the present rules, and reports follow."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hosts.cli.reenrichment import _reenrich_here_or_in_service
from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.store_copy.copy_events import build_scope_of_all_events
from hosts.worker import reenrichment
from hosts.worker.reenrichment import REQUESTS_FILE, run_requested_reenrichments
from service_core.analytics.ports import EventPageQuery
from service_core.changes.audit_log import AuditFilter
from service_core.kernel.time_ranges import TimeRange

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
    channels, touches, (entry,) = asyncio.run(read_channels_and_audit(config))
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
            async with asyncio.timeout(60):
                while not (config.parent / REQUESTS_FILE).exists():
                    await asyncio.sleep(0.01)
            await run_requested_reenrichments(ports)
        assert await waiting == 3
    assert shown
    channels, _, _ = await read_channels_and_audit(config)
    assert channels == ["custom:crm"] * 3 + ["direct"]
