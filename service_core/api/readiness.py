"""Readiness of the service: probes of its stores, queue and limits.

A probe is a value, so each package or host can add one. The endpoint is public, so a result is reused for one second.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.access.ports import CredentialStore, RateLimiter
from service_core.analytics.ports import EventReader, StoreUnavailable
from service_core.ingestion.ports import IngestQueue
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError

PROBE_TIMEOUT_SECONDS: Final = 2.0
REPORT_LIFETIME: Final = timedelta(seconds=1)
MAX_QUEUE_AGE: Final = timedelta(minutes=5)
LEDGER_WINDOW: Final = timedelta(hours=2)
MAX_WORKSPACES_PER_RUN: Final = 8
"""A run of a probe reads so many workspaces, the next run the next ones: its cost does not grow with their number."""

_NO_WORKSPACE: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a probe, with optional facts; ``problems`` are sentences for the operator."""

    ok: bool
    queue_age_seconds: float | None = None
    newest_event_at: datetime | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """A readiness check. It fails if it raises or takes more than 2 seconds."""

    name: str
    check: Callable[[], Awaitable[ProbeResult]]


@dataclass(frozen=True, slots=True)
class ReadinessReport:
    """Results of all probes by name, and the collected facts."""

    checks: dict[str, bool]
    queue_age_seconds: float | None
    newest_event_at: datetime | None
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all probes succeeded."""
        return all(self.checks.values())


class ReadinessChecker:
    """Runs all probes concurrently, at most once a second.

    Args:
        probes: the probes to run.
        clock: current time.
    """

    def __init__(self, probes: Sequence[Probe], clock: Clock) -> None:
        self._probes = tuple(probes)
        self._clock = clock
        self._latest: tuple[datetime, ReadinessReport] | None = None
        self._run_lock = asyncio.Lock()

    async def report_at_most_one_second_old(self) -> ReadinessReport:
        """Returns the latest report, or a new one if it is older than a second."""
        async with self._run_lock:
            now = self._clock()
            if self._latest is None or not timedelta() <= now - self._latest[0] < REPORT_LIFETIME:
                self._latest = now, await self._run_probes_concurrently()
            return self._latest[1]

    async def _run_probes_concurrently(self) -> ReadinessReport:
        results = await asyncio.gather(*(_run_probe_or_fail_after_2_seconds(probe) for probe in self._probes))
        ages = [result.queue_age_seconds for result in results if result.queue_age_seconds is not None]
        newest = [result.newest_event_at for result in results if result.newest_event_at is not None]
        return ReadinessReport(
            checks={probe.name: result.ok for probe, result in zip(self._probes, results, strict=True)},
            queue_age_seconds=max(ages, default=None),
            newest_event_at=max(newest, default=None),
            problems=tuple(problem for result in results for problem in result.problems),
        )


async def _run_probe_or_fail_after_2_seconds(probe: Probe) -> ProbeResult:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            return await probe.check()
    except Exception:  # noqa: BLE001 - any failure of a probe means that its component is not ready
        return ProbeResult(ok=False)


class WorkspaceRotation:
    """Selects the workspaces that a run of a probe reads, all of them in turn.

    Args:
        credential_store: the store of workspaces; it is read again after a change only.
    """

    def __init__(self, credential_store: CredentialStore) -> None:
        self._credential_store = credential_store
        self._version: int | None = None
        self._ids: list[UUID] = []
        self._position = 0

    async def next_workspace_ids(self, watched: Collection[UUID]) -> list[UUID]:
        """Returns the ids of the next workspaces, and of some of the watched ones that still exist."""
        version = self._credential_store.change_version()
        if version is None or version != self._version:
            self._ids = [workspace.id for workspace in await self._credential_store.list_workspaces()]
            self._version = version
        start = self._position if self._position < len(self._ids) else 0
        ids = self._ids[start : start + MAX_WORKSPACES_PER_RUN]
        self._position = start + len(ids)
        existing = set(self._ids) if watched else set()
        again = [id_ for id_ in watched if id_ in existing and id_ not in ids]
        return [*ids, *again[:MAX_WORKSPACES_PER_RUN]]


def build_store_probe_with_newest_event(events: EventReader, credential_store: CredentialStore) -> Probe:
    """Returns the probe of the event store, which reports the newest event of the workspaces read so far."""
    rotation = WorkspaceRotation(credential_store)
    newest: dict[UUID, datetime] = {}

    async def read_newest_event_time() -> ProbeResult:
        latest = max(newest, key=lambda id_: newest[id_], default=None)
        ids = await rotation.next_workspace_ids([] if latest is None else [latest])
        if latest is not None and latest not in ids:
            del newest[latest]  # its workspace was deleted
        for id_ in ids or [_NO_WORKSPACE]:
            if span := await events.first_and_last_event_time(id_):
                newest[id_] = span[1]
            else:
                newest.pop(id_, None)
        return ProbeResult(ok=True, newest_event_at=max(newest.values(), default=None))

    return Probe("store", read_newest_event_time)


def build_queue_age_and_ledger_probe(
    queue: IngestQueue, credential_store: CredentialStore, clock: Clock
) -> Probe:
    """Returns the probe of the queue: it answers, is at most 5 minutes behind, and all recent ledger rows balance.

    A workspace whose ledger does not balance is read in every run until it does.
    """
    rotation = WorkspaceRotation(credential_store)
    unbalanced: set[UUID] = set()

    async def check_queue_age_and_ledger() -> ProbeResult:
        now, state = clock(), await queue.state()
        oldest = state.oldest_received_at
        age = max(timedelta(), now - oldest) if oldest else timedelta()
        ids = await rotation.next_workspace_ids(unbalanced)
        if len(unbalanced) <= MAX_WORKSPACES_PER_RUN:
            unbalanced.intersection_update(ids)  # others were deleted
        for id_ in ids:
            rows = await queue.ledger_rows(id_, now - LEDGER_WINDOW, now + LEDGER_WINDOW)
            if all(row.is_balanced for row in rows):
                unbalanced.discard(id_)
            else:
                unbalanced.add(id_)
        return ProbeResult(
            ok=not unbalanced and age < MAX_QUEUE_AGE, queue_age_seconds=round(age.total_seconds(), 3)
        )

    return Probe("queue", check_queue_age_and_ledger)


def build_queue_answers_probe(queue: IngestQueue, clock: Clock) -> Probe:
    """Returns the probe of the queue for processes that only put events into it: it succeeds while the queue answers.

    A process that can take events durably stays ready while the consumer is down and events wait.
    """

    async def read_empty_ledger() -> ProbeResult:
        now = clock()
        await queue.ledger_rows(_NO_WORKSPACE, now - timedelta(hours=1), now)
        return ProbeResult(ok=True)

    return Probe("queue", read_empty_ledger)


def build_stored_version_probe(stores: Iterable[object]) -> Probe:
    """Returns the probe that fails while a store holds data of another version of Touchpoint.

    Its problems are the sentences with which a start would be refused. A store that does not answer is left to its own
    probe.

    Args:
        stores: adapters; those without a method ``check_stored_version`` have no version.
    """
    checks = [check for store in stores if callable(check := getattr(store, "check_stored_version", None))]

    async def check_stored_versions() -> ProbeResult:
        problems = []
        for check in checks:
            try:
                await check()
            except StartupError as refusal:
                problems.append(str(refusal))
            except StoreUnavailable:
                continue
        return ProbeResult(ok=not problems, problems=tuple(problems))

    return Probe("versions", check_stored_versions)


def with_write_check(probe: Probe, store: object, setting: str) -> Probe:
    """Returns a probe of a store that fails also while the store takes no writes, with a sentence for the operator.

    Args:
        probe: the probe of the store.
        store: an adapter; one without a method ``takes_writes`` is not checked.
        setting: the setting that names the store.
    """
    takes_writes = getattr(store, "takes_writes", None)
    if not callable(takes_writes):
        return probe

    async def check_store_and_writes() -> ProbeResult:
        result = await probe.check()
        if await takes_writes():
            return result
        problem = f"The server of {setting} takes no writes: it is a standby, or default_transaction_read_only is on."
        return replace(result, ok=False, problems=(*result.problems, problem))

    return Probe(probe.name, check_store_and_writes)


def build_limiter_probe_by_consuming(limiter: RateLimiter) -> Probe:
    """Returns the probe that counts one request against a test limit of the limit store."""

    async def consume_test_limit() -> ProbeResult:
        await limiter.consume("ready", 1_000_000, 60)
        return ProbeResult(ok=True)

    return Probe("limiter", consume_test_limit)


def build_change_version_probe(credential_store: CredentialStore) -> Probe:
    """Returns the probe of the credential store's change version, on which caches rely."""

    async def check_change_version() -> ProbeResult:
        return ProbeResult(ok=credential_store.change_version() is not None)

    return Probe("cache", check_change_version)
