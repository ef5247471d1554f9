"""Enriches the stored events of workspaces again, by the present rules; a run that was stopped goes on where it was.

The requests and their progress stand in a file of the data folder. A command writes a request there while the service
owns the event store, and the scheduler runs it.
"""

import asyncio
import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from hosts.composition.ports import Ports
from hosts.store_copy.copy_events import build_scope_of_all_events, count_events
from hosts.store_copy.spans import DAY, split_into_utc_days
from hosts.worker.reenrichment_lease import ReenrichmentLease, ReenrichmentRunning, name_this_process
from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Workspace
from service_core.analytics.ports import EventPageQuery
from service_core.changes.actor import build_named_actor
from service_core.changes.audit_log import EVENT_HISTORY_TYPE, AuditEntry
from service_core.changes.models import Action, FieldChange, ResourceRef
from service_core.ingestion.channel_rules import RULES_VERSION
from service_core.ingestion.models import Event
from service_core.ingestion.reenrichment import EventReenricher
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.kernel.ids import new_id
from service_core.kernel.time_ranges import TimeRange

REQUESTS_FILE: Final = "reenrichment.json"
LOCK_FILE: Final = ".reenrichment.lock"
_EVENTS_PER_PAGE: Final = 5_000
_MAX_EVENTS_AT_ONCE: Final = 50_000
"""Events of a span that is read at once; a day with more is read by the hour."""

OnDays = Callable[[int, int], None]
"""Called with the number of days that are done and of all days."""


@dataclass(frozen=True, slots=True)
class ReenrichmentProgress:
    """Progress of the re-enrichment of a workspace.

    Attributes:
        rules: digest of the rules it applies; under other rules it begins anew.
        next_day: the first day that is not done, as an ISO date and time; empty before the first.
        done_days, days: the number of days that are done, and of all.
        changed_events: the number of events that have other columns now.
        is_complete: whether it is done.
        holder: the process that runs it, or ran it last.
    """

    rules: str = ""
    next_day: str = ""
    done_days: int = 0
    days: int = 0
    changed_events: int = 0
    is_complete: bool = False
    holder: str = ""


class ReenrichmentRequests:
    """The requests of a deployment and their progress, in one file of its data folder.

    Processes that run for different workspaces change the file at the same time, one after the other under a lock.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / REQUESTS_FILE
        self._lock_path = folder / LOCK_FILE

    def load(self) -> dict[UUID, ReenrichmentProgress]:
        """Returns the progress of every request by workspace."""
        if not self._path.exists():
            return {}
        return {
            UUID(name): ReenrichmentProgress(**progress)
            for name, progress in json.loads(self._path.read_text()).items()
        }

    def save(self, workspace_id: UUID, progress: ReenrichmentProgress) -> None:
        """Replaces the progress of a request; the file is replaced as a whole."""
        with self._exclusive():
            self._replace_file(self.load() | {workspace_id: progress})

    def remove(self, workspace_id: UUID) -> None:
        """Removes a request; does nothing if there is none."""
        with self._exclusive():
            self._replace_file({id_: p for id_, p in self.load().items() if id_ != workspace_id})

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._lock_path.touch(mode=0o600)
        with self._lock_path.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _replace_file(self, requests: dict[UUID, ReenrichmentProgress]) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(json.dumps({id_.hex: asdict(progress) for id_, progress in requests.items()}))
        fresh.replace(self._path)


async def run_requested_reenrichments(ports: Ports) -> None:
    """Completes the requests of the data folder, one after the other; one that another process runs is left to it."""
    requests = ReenrichmentRequests(ports.folder)
    has_incomplete = any(not progress.is_complete for progress in requests.load().values())
    for workspace in await ports.workspace.credentials.list_workspaces() if has_incomplete else ():
        progress = requests.load().get(workspace.id)  # another process may have completed or removed it
        if progress is not None and not progress.is_complete:
            with suppress(ReenrichmentRunning):
                await reenrich_workspace(ports, workspace, requests)


async def reenrich_workspace(
    ports: Ports,
    workspace: Workspace,
    requests: ReenrichmentRequests,
    on_days: OnDays = lambda _done, _all: None,
) -> int:
    """Derives the enriched columns of all stored events again, rebuilds what follows from them, and records it.

    Args:
        ports: workspace store, event store, locations and domains of them are open.
        workspace: whose events.
        requests: keep the progress, so that a run that was stopped goes on.
        on_days: called after each day.

    Returns:
        How many events have other columns now, those of a stopped run included.

    Raises:
        ReenrichmentRunning: another run holds the lease of the workspace.
    """

    def find_holder() -> str:
        running = requests.load().get(workspace.id)
        return running.holder if running is not None and not running.is_complete else ""

    lease = ReenrichmentLease(ports.workspace.sync_leases, workspace.id, ports.clock, find_holder)
    async with lease.hold():
        return await _reenrich_leased_workspace(ports, workspace, requests, lease, on_days)


async def _reenrich_leased_workspace(
    ports: Ports,
    workspace: Workspace,
    requests: ReenrichmentRequests,
    lease: ReenrichmentLease,
    on_days: OnDays,
) -> int:
    """Returns how many events have other columns now; the lease is renewed before each day and before the rebuild."""
    progress = replace(_progress_under_present_rules(requests, workspace), holder=name_this_process())
    requests.save(workspace.id, progress)
    bounds = await ports.events.first_and_last_event_time(workspace.id)
    days = list(split_into_utc_days(*bounds)) if bounds else []
    reenricher = EventReenricher(workspace, TrafficClassifier(ports.domains), ports.geo)
    next_day = (
        datetime.fromisoformat(progress.next_day) if progress.next_day else datetime.min.replace(tzinfo=UTC)
    )
    for number, day in enumerate(days, start=1):
        await lease.acquire_or_renew()
        if day.end + DAY > next_day:  # the day before is read again: its sessions may go on
            changed = await _reenrich_day(ports, workspace, day, reenricher, writes=day.start >= next_day)
            progress = replace(
                progress,
                next_day=max(day.end, next_day).isoformat(),
                done_days=number,
                days=len(days),
                changed_events=progress.changed_events + changed,
            )
            requests.save(workspace.id, progress)
        on_days(number, len(days))
    await lease.acquire_or_renew()
    if progress.changed_events:
        await ports.events.rebuild_workspace(workspace.id)
    await _add_audit_entry(ports, workspace, progress)
    requests.save(workspace.id, replace(progress, is_complete=True))
    return progress.changed_events


def _progress_under_present_rules(
    requests: ReenrichmentRequests, workspace: Workspace
) -> ReenrichmentProgress:
    """Returns the progress of a stopped run under the same rules, or that of a new one."""
    channels = repr((RULES_VERSION, workspace.rules.channels, workspace.domain, workspace.allowed_origins))
    rules = hashlib.sha256(channels.encode()).hexdigest()
    stopped = requests.load().get(workspace.id)
    is_same = stopped is not None and stopped.rules == rules and not stopped.is_complete
    return stopped if stopped is not None and is_same else ReenrichmentProgress(rules=rules)


async def _reenrich_day(
    ports: Ports, workspace: Workspace, day: TimeRange, reenricher: EventReenricher, *, writes: bool
) -> int:
    """Enriches the events of a day again and returns how many changed; without ``writes`` it only learns the sessions."""
    count = 0
    total = await count_events(ports.events, build_scope_of_all_events(workspace, day))
    for span in _spans_of_day(day, by_hour=total > _MAX_EVENTS_AT_ONCE):
        events = await _list_events_oldest_first(ports, workspace, span)
        changed = await asyncio.to_thread(reenricher.reenriched_events_that_differ, events)
        for start in range(0, len(changed) if writes else 0, _EVENTS_PER_PAGE):
            batch = changed[start : start + _EVENTS_PER_PAGE]
            await ports.events.update_enriched_columns(workspace.id, batch)
            count += len(batch)
    return count


def _spans_of_day(day: TimeRange, *, by_hour: bool) -> Iterator[TimeRange]:
    hours = 24 if by_hour else 1
    length = (day.end - day.start) / hours
    for hour in range(hours):
        yield TimeRange(day.start + hour * length, day.start + (hour + 1) * length)


async def _list_events_oldest_first(ports: Ports, workspace: Workspace, span: TimeRange) -> list[Event]:
    scope, events = build_scope_of_all_events(workspace, span), []
    after: tuple[datetime, int] | None = None
    while True:
        page = await ports.events.list_events(
            EventPageQuery(scope, _EVENTS_PER_PAGE, count_total=False, after=after)
        )
        events += page.events
        if not page.has_more:
            return events[::-1]
        after = page.events[-1].timestamp, page.events[-1].seq


async def _add_audit_entry(ports: Ports, workspace: Workspace, progress: ReenrichmentProgress) -> None:
    now = ports.clock()
    caller = replace(
        build_unlimited_read_only_caller(workspace, now, "Re-enrichment"),
        is_system=True,
    )
    entry = AuditEntry(
        id=new_id(),
        action=Action.UPDATE,
        resource=ResourceRef(type=EVENT_HISTORY_TYPE, id=workspace.id, label="Stored events"),
        actor=build_named_actor(caller),
        via=caller.interface,
        prior_state=None,
        new_state={"changed_events": progress.changed_events, "rules_version": RULES_VERSION},
        changes=[
            FieldChange.model_validate(
                {"field": "changed_events", "from": None, "to": progress.changed_events}
            )
        ],
        effects=[],
        undo_of=None,
        created_at=now,
    )
    async with ports.workspace.transactions.write(workspace.id) as transaction:
        await transaction.audit.add(entry)
