"""The canary: events of a reserved workspace that are sent through queue and store to measure the lag.

Queue, consumer and store are its path; when it does not arrive, neither does anybody's event. The
workspace is in no directory, so no credential reads it and no list shows it.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from uuid import UUID, uuid4

from hosts.shutdown_sleep import sleep_unless_stopped
from service_core.access.models import Workspace
from service_core.analytics.ports import EventReader
from service_core.api.readiness import Probe, ProbeResult
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.ingestion.ports import EnqueueResult
from service_core.kernel.clock import Clock

MAX_LAG: Final = timedelta(seconds=60)
"""A canary that took so long is an alarm."""

POLL_SECONDS: Final = 0.25

CANARY_WORKSPACE: Final = Workspace(
    id=UUID("00000000-0000-7000-8000-000000ca9a57"),
    public_id="ws_canary",
    name="Canary",
    domain=None,
    timezone="UTC",
    currency="USD",
    plan="canary",
    active=True,
    created_at=datetime(2020, 1, 1, tzinfo=UTC),
    secret=b"the canary has no visitors",
)
"""The reserved workspace; consumers know it, whoever sends."""


class CanaryQueue(Protocol):
    """The queue that canary events are sent to."""

    async def offer(self, arrival: ReceivedEvent) -> EnqueueResult:
        """Claims the event id and enqueues the event."""


class Canary:
    """Sends one canary event after the other.

    Attributes:
        lag: how long the latest took, or takes so far; None before the first.
    """

    def __init__(self) -> None:
        self.lag: timedelta | None = None

    def arrival_probe(self) -> Probe:
        """Returns the readiness probe: the latest canary event arrived, or is not late yet."""

        async def check_lag() -> ProbeResult:
            return ProbeResult(ok=self.lag is None or self.lag < MAX_LAG)

        return Probe("canary", check_lag)

    async def send_and_time_until_stopped(
        self,
        queue: CanaryQueue,
        event_reader: EventReader,
        clock: Clock,
        *,
        interval_seconds: float,
        stop: asyncio.Event,
        on_lag_and_arrival: Callable[[timedelta, bool], None] = lambda _lag, _seen: None,
    ) -> None:
        """Sends a canary event at an interval until ``stop`` is set.

        Args:
            queue: where it starts.
            event_reader: where it is looked for.
            clock: gives the present.
            interval_seconds: between two; 0 for none at all.
            stop: ends it.
            on_lag_and_arrival: gets the lag and whether the event is visible, at every check.
        """
        while interval_seconds and await sleep_unless_stopped(stop, interval_seconds):
            sent = clock()
            offered = await _try_send_canary_event(queue, sent)
            while True:
                seen = offered and await _is_canary_event_visible(event_reader, sent)
                self.lag = clock() - sent
                on_lag_and_arrival(self.lag, seen)
                if seen or self.lag > MAX_LAG or not await sleep_unless_stopped(stop, POLL_SECONDS):
                    break


async def _try_send_canary_event(queue: CanaryQueue, received_at: datetime) -> bool:
    try:
        await queue.offer(_build_canary_event(received_at))
    except Exception:  # noqa: BLE001 - for any reason: the event will not arrive, and that is reported
        return False
    return True


async def _is_canary_event_visible(events: EventReader, sent_at: datetime) -> bool:
    try:
        span = await events.first_and_last_event_time(CANARY_WORKSPACE.id)
    except Exception:  # noqa: BLE001 - a store that does not answer has not shown it
        return False
    return span is not None and span[1] >= sent_at - timedelta(milliseconds=1)


def _build_canary_event(received_at: datetime) -> ReceivedEvent:
    return ReceivedEvent(
        workspace_id=CANARY_WORKSPACE.id,
        key_id=CANARY_WORKSPACE.id,
        channel=IngestEndpoint.TRACK,
        event_id=f"canary-{uuid4()}",
        claimed=False,
        received_at=received_at,
        body=b'{"event_name":"canary","anonymous_id":"canary","session_id":"canary"}',
        user_agent=None,
        address=None,
        headers={},
    )
