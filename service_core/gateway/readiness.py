"""Whether the service can do its work: probes of what it stands on (contract 12).

A probe is a value, so a wing or a host that adds something to stand on adds a probe. Anybody may
ask, so one reading serves every caller of the next second.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service_core.access.ports import Directory, RateLimiter
from service_core.insight.ports import EventLog
from service_core.intake.ports import IngestQueue
from service_core.kernel.clock import Clock

PATIENCE_SECONDS: Final = 2.0
LIFETIME: Final = timedelta(seconds=1)
OLDEST_QUEUED: Final = timedelta(minutes=5)
LEDGER_SPAN: Final = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe saw, and the facts it knows besides."""

    ok: bool
    queue_age_seconds: float | None = None
    newest_event_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing the service stands on. A check that raises or takes over 2 seconds has failed."""

    name: str
    check: Callable[[], Awaitable[Finding]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What all probes saw: name -> whether it holds, and the known facts."""

    checks: dict[str, bool]
    queue_age_seconds: float | None
    newest_event_at: datetime | None

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return all(self.checks.values())


class Readiness:
    """Asks the probes together, at most once a second.

    Args:
        probes: what to ask.
        clock: gives the present.
    """

    def __init__(self, probes: Sequence[Probe], clock: Clock) -> None:
        self._probes = tuple(probes)
        self._clock = clock
        self._latest: tuple[datetime, Reading] | None = None
        self._asking = asyncio.Lock()

    async def read(self) -> Reading:
        """The latest reading, or a new one when it is older than a second."""
        async with self._asking:
            now = self._clock()
            if self._latest is None or not timedelta() <= now - self._latest[0] < LIFETIME:
                self._latest = now, await self._ask()
            return self._latest[1]

    async def _ask(self) -> Reading:
        findings = await asyncio.gather(*(_finding(probe) for probe in self._probes))
        ages = [found.queue_age_seconds for found in findings if found.queue_age_seconds is not None]
        newest = [found.newest_event_at for found in findings if found.newest_event_at is not None]
        return Reading(
            checks={probe.name: found.ok for probe, found in zip(self._probes, findings, strict=True)},
            queue_age_seconds=max(ages, default=None),
            newest_event_at=max(newest, default=None),
        )


async def _finding(probe: Probe) -> Finding:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await probe.check()
    except Exception:  # noqa: BLE001 - whatever keeps a probe from an answer, what it stands for is not ready
        return Finding(ok=False)


def store_probe(events: EventLog, directory: Directory) -> Probe:
    """The event store answers; knows the newest event."""

    async def check() -> Finding:
        spans = [await events.bounds(workspace.id) for workspace in await directory.workspaces()]
        return Finding(ok=True, newest_event_at=max((span[1] for span in spans if span), default=None))

    return Probe("store", check)


def queue_probe(queue: IngestQueue, directory: Directory, clock: Clock) -> Probe:
    """The queue answers, is not more than 5 minutes behind, and every recent ledger row balances."""

    async def check() -> Finding:
        now, state = clock(), await queue.state()
        oldest = state.oldest_received_at
        age = max(timedelta(), now - oldest) if oldest else timedelta()
        balanced = True
        for workspace in await directory.workspaces():
            rows = await queue.ledger(workspace.id, now - LEDGER_SPAN, now + LEDGER_SPAN)
            balanced = balanced and all(row.balanced for row in rows)
        return Finding(ok=balanced and age < OLDEST_QUEUED, queue_age_seconds=round(age.total_seconds(), 3))

    return Probe("queue", check)


def limiter_probe(limiter: RateLimiter) -> Probe:
    """The limit store counts."""

    async def check() -> Finding:
        await limiter.spend("ready", 1_000_000, 60)
        return Finding(ok=True)

    return Probe("limiter", check)


def cache_probe(directory: Directory) -> Probe:
    """The directory tells its generation, so remembered look-ups can be trusted."""

    async def check() -> Finding:
        return Finding(ok=directory.generation() is not None)

    return Probe("cache", check)
