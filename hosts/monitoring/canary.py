"""A canary: now and then one event of a reserved workspace walks the real path, and is looked for at its end.

Queue, consumer and store are its path; when it does not arrive, neither does anybody's event. The
workspace is in no directory, so no credential reads it and no list shows it.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from uuid import UUID, uuid4

from hosts.waiting import waited
from service_core.access.model import Workspace
from service_core.gateway.readiness import Finding, Probe
from service_core.insight.ports import EventLog
from service_core.intake.model import Arrival, Channel
from service_core.intake.ports import Offer
from service_core.kernel.clock import Clock

LATE: Final = timedelta(seconds=60)
"""A canary that took so long is an alarm."""

LOOK_SECONDS: Final = 0.25

WORKSPACE: Final = Workspace(
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


class Offers(Protocol):
    """Where the canary starts."""

    async def offer(self, arrival: Arrival) -> Offer:
        """Claim the event id and enqueue."""


class Canary:
    """One canary after the other.

    Attributes:
        lag: how long the latest took, or takes so far; None before the first.
    """

    def __init__(self) -> None:
        self.lag: timedelta | None = None

    def probe(self) -> Probe:
        """For readiness: the latest canary arrived, or is not late yet."""

        async def check() -> Finding:
            return Finding(ok=self.lag is None or self.lag < LATE)

        return Probe("canary", check)

    async def sing(
        self,
        queue: Offers,
        events: EventLog,
        clock: Clock,
        *,
        seconds: float,
        stop: asyncio.Event,
        told: Callable[[timedelta, bool], None] = lambda _lag, _seen: None,
    ) -> None:
        """Send a canary every so many seconds until ``stop`` is set.

        Args:
            queue: where it starts.
            events: where it is looked for.
            clock: gives the present.
            seconds: between two; 0 for none at all.
            stop: ends it.
            told: hears the lag whenever it is looked at, and whether the canary has arrived.
        """
        while seconds and await waited(stop, seconds):
            sent = clock()
            offered = await _offered(queue, sent)
            while True:
                seen = offered and await _seen(events, sent)
                self.lag = clock() - sent
                told(self.lag, seen)
                if seen or self.lag > LATE or not await waited(stop, LOOK_SECONDS):
                    break


async def _offered(queue: Offers, sent: datetime) -> bool:
    try:
        await queue.offer(_arrival(sent))
    except Exception:  # noqa: BLE001 - whatever refuses it, it will not arrive: that is what is told
        return False
    return True


async def _seen(events: EventLog, sent: datetime) -> bool:
    try:
        span = await events.bounds(WORKSPACE.id)
    except Exception:  # noqa: BLE001 - a store that does not answer has not shown it
        return False
    return span is not None and span[1] >= sent - timedelta(milliseconds=1)


def _arrival(sent: datetime) -> Arrival:
    return Arrival(
        workspace_id=WORKSPACE.id,
        key_id=WORKSPACE.id,
        channel=Channel.TRACK,
        event_id=f"canary-{uuid4()}",
        claimed=False,
        received_at=sent,
        body=b'{"event_name":"canary","anonymous_id":"canary","session_id":"canary"}',
        user_agent=None,
        address=None,
        headers={},
    )
