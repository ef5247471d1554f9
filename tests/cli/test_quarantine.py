"""``touchpoint quarantine``: what could not be stored is shown with its reason, and put back."""

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from service_core.ingestion.models import IngestEndpoint, QuarantinedEvent, ReceivedEvent
from service_core.ingestion.ports import TransformGap
from service_core.kernel.clock import system_clock

HOUR = datetime(2026, 7, 1, 12, tzinfo=UTC)


@asynccontextmanager
async def open_queue(config):
    ports = Ports(
        load_settings_with_environment(Path(config)),
        Path(config).parent,
        load_installed_registry_once(),
        system_clock,
    )
    async with start_adapters([ports.workspace, ports.queue]):
        (workspace,) = await ports.workspace.credentials.list_workspaces()
        yield ports, workspace.id


@pytest.fixture
def deployment_with_quarantined_event(deployment):
    """The deployment, with one event set aside."""

    async def set_aside():
        async with open_queue(deployment["config"]) as (ports, workspace_id):
            queue, gaps = ports.queue, ports.workspace.transform_gaps
            await gaps.add_gaps({TransformGap(workspace_id, HOUR, held) for held in (True, False)})
            await gaps.add_gaps({TransformGap(workspace_id, HOUR + timedelta(hours=1), is_held=True)})
            await queue.offer(
                ReceivedEvent(
                    workspace_id=workspace_id, key_id=UUID(int=1), channel=IngestEndpoint.TRACK, event_id="order_1",
                    claimed=True, received_at=datetime(2026, 7, 1, 12, tzinfo=UTC), body=b'{"event":"\xc3\xa4"}',
                    user_agent=None, address=None, headers={},
                )
            )  # fmt: skip
            await queue.acknowledge(
                [], [QuarantinedEvent(each, "ValueError: no number") for each in await queue.take(9)]
            )

    asyncio.run(set_aside())
    return deployment["config"]


def test_quarantined_events_are_listed_with_their_reason(touchpoint, deployment_with_quarantined_event):
    shown = touchpoint("quarantine", "list", "--config", deployment_with_quarantined_event).stdout
    assert "order_1" in shown
    assert "ValueError: no number" in shown
    (line,) = touchpoint(
        "quarantine", "list", "--json", "--config", deployment_with_quarantined_event
    ).stdout.splitlines()
    assert json.loads(line) == {
        "seq": 1024,
        "event_id": "order_1",
        "received_at": "2026-07-01T12:00:00+00:00",
        "reason": "ValueError: no number",
        "body": '{"event":"ä"}',
    }


def test_quarantined_events_are_requeued(touchpoint, deployment_with_quarantined_event):
    assert (
        "1 events are back in the queue"
        in touchpoint("quarantine", "replay", "--config", deployment_with_quarantined_event).stdout
    )
    assert (
        "The quarantine is empty"
        in touchpoint("quarantine", "list", "--config", deployment_with_quarantined_event).stdout
    )

    async def waiting():
        async with open_queue(deployment_with_quarantined_event) as (ports, workspace_id):
            gaps = await ports.workspace.transform_gaps.list_gap_hours(workspace_id)
            return [queued.arrival.event_id for queued in await ports.queue.take(9)], gaps

    assert asyncio.run(waiting()) == (["order_1"], [HOUR])


def test_a_failed_replay_keeps_the_hours_incomplete(touchpoint, deployment_with_quarantined_event):
    (spool,) = Path(deployment_with_quarantined_event).parent.rglob("spool.db")
    with closing(sqlite3.connect(spool)) as connection:
        connection.execute(
            "CREATE TRIGGER broken BEFORE DELETE ON quarantine BEGIN SELECT RAISE(ABORT, 'broken'); END"
        )
    touchpoint("quarantine", "replay", "--config", deployment_with_quarantined_event, code=1)

    async def incomplete_hours():
        async with open_queue(deployment_with_quarantined_event) as (ports, workspace_id):
            return await ports.workspace.transform_gaps.list_gap_hours(workspace_id)

    assert asyncio.run(incomplete_hours()) == [HOUR, HOUR + timedelta(hours=1)]
