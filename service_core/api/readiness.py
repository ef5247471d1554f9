"""Whether the service can do its work: probes of what it stands on (contract 12).

A probe is a value, so a wing or a host that adds something to stand on adds a probe. Anybody may
ask, so one reading serves every caller of the next second.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service_core.access.ports import CredentialStore, RateLimiter
from service_core.analytics.ports import EventReader
from service_core.ingestion.ports import IngestQueue
from service_core.kernel.clock import Clock

PROBE_TIMEOUT_SECONDS: Final = 2.0
REPORT_LIFETIME: Final = timedelta(seconds=1)
MAX_QUEUE_AGE: Final = timedelta(minutes=5)
LEDGER_WINDOW: Final = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe saw, and the facts it knows besides."""

    ok: bool
    queue_age_seconds: float | None = None
    newest_event_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing the service stands on. A check that raises or takes over 2 seconds has failed."""

    name: str
    check: Callable[[], Awaitable[ProbeResult]]


@dataclass(frozen=True, slots=True)
class ReadinessReport:
    """What all probes saw: name -> whether it holds, and the known facts."""

    checks: dict[str, bool]
    queue_age_seconds: float | None
    newest_event_at: datetime | None

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return all(self.checks.values())


class ReadinessChecker:
    """Asks the probes together, at most once a second.

    Args:
        probes: what to ask.
        clock: gives the present.
    """

    def __init__(self, probes: Sequence[Probe], clock: Clock) -> None:
        self._probes = tuple(probes)
        self._clock = clock
        self._latest: tuple[datetime, ReadinessReport] | None = None
        self._asking = asyncio.Lock()

    async def current_report(self) -> ReadinessReport:
        """The latest reading, or a new one when it is older than a second."""
        async with self._asking:
            now = self._clock()
            if self._latest is None or not timedelta() <= now - self._latest[0] < REPORT_LIFETIME:
                self._latest = now, await self._run_probes()
            return self._latest[1]

    async def _run_probes(self) -> ReadinessReport:
        findings = await asyncio.gather(*(_run_probe(probe) for probe in self._probes))
        ages = [found.queue_age_seconds for found in findings if found.queue_age_seconds is not None]
        newest = [found.newest_event_at for found in findings if found.newest_event_at is not None]
        return ReadinessReport(
            checks={probe.name: found.ok for probe, found in zip(self._probes, findings, strict=True)},
            queue_age_seconds=max(ages, default=None),
            newest_event_at=max(newest, default=None),
        )


async def _run_probe(probe: Probe) -> ProbeResult:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            return await probe.check()
    except Exception:  # noqa: BLE001 - whatever keeps a probe from an answer, what it stands for is not ready
        return ProbeResult(ok=False)


def store_probe(events: EventReader, directory: CredentialStore) -> Probe:
    """The event store answers; knows the newest event."""

    async def check() -> ProbeResult:
        spans = [
            await events.event_time_range(workspace.id) for workspace in await directory.list_workspaces()
        ]
        return ProbeResult(ok=True, newest_event_at=max((span[1] for span in spans if span), default=None))

    return Probe("store", check)


def queue_probe(queue: IngestQueue, directory: CredentialStore, clock: Clock) -> Probe:
    """The queue answers, is not more than 5 minutes behind, and every recent ledger row balances."""

    async def check() -> ProbeResult:
        now, state = clock(), await queue.state()
        oldest = state.oldest_received_at
        age = max(timedelta(), now - oldest) if oldest else timedelta()
        balanced = True
        for workspace in await directory.list_workspaces():
            rows = await queue.ledger_rows(workspace.id, now - LEDGER_WINDOW, now + LEDGER_WINDOW)
            balanced = balanced and all(row.is_balanced for row in rows)
        return ProbeResult(
            ok=balanced and age < MAX_QUEUE_AGE, queue_age_seconds=round(age.total_seconds(), 3)
        )

    return Probe("queue", check)


def limiter_probe(limiter: RateLimiter) -> Probe:
    """The limit store counts."""

    async def check() -> ProbeResult:
        await limiter.consume("ready", 1_000_000, 60)
        return ProbeResult(ok=True)

    return Probe("limiter", check)


def cache_probe(directory: CredentialStore) -> Probe:
    """The directory tells its generation, so remembered look-ups can be trusted."""

    async def check() -> ProbeResult:
        return ProbeResult(ok=directory.change_version() is not None)

    return Probe("cache", check)
