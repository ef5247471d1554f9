"""Puts the runs of plugin tasks into the outbox: after events are stored, and when jobs are due."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from service_core.access.ports import CredentialStore
from service_core.delivery.plugin_tasks.models import (
    EventReaction,
    ScheduledJob,
    build_task_entry,
    job_occurrence,
)
from service_core.ingestion.models import IMPORT_PROPERTY, Event
from service_core.ingestion.pipeline import RuleCandidate
from service_core.kernel.clock import Clock
from service_core.workspace.notifications.ports import NotificationOutbox

MAX_EVENT_AGE: Final = timedelta(days=2)
"""Events that were received later than this after they happened have no reactions."""


MAX_JOB_LATENESS: Final = timedelta(days=7)
"""A run that was due earlier is not made up for. The results of runs are kept longer, so that none is repeated."""


@dataclass(frozen=True, slots=True)
class ReactionTrigger:
    """Puts the reactions to stored events into the outbox.

    Attributes:
        names_by_reaction: the installed reactions, each with the names of its events.
        outbox: keeps them; an event that comes again adds nothing.
        clock: returns the current time.
    """

    names_by_reaction: Sequence[tuple[EventReaction, frozenset[str]]]
    outbox: NotificationOutbox
    clock: Clock

    @property
    def event_names(self) -> frozenset[str]:
        """Names of the events that a reaction is for."""
        return frozenset(name for _, names in self.names_by_reaction for name in names)

    async def queue_reactions(self, candidates: Iterable[RuleCandidate]) -> None:
        """Queues the reactions to stored events; repeating it has no effect.

        Events of bots, of imports, and from two days before their receipt or earlier have no reactions.

        Raises:
            StoreUnavailable: nothing can be kept; the same events come again.
        """
        now = self.clock()
        entries = [
            build_task_entry(event.workspace_id, reaction, event.event_id, event.timestamp, now)
            for event, _ in candidates
            for reaction, names in self.names_by_reaction
            if event.event_name in names and is_news(event)
        ]
        if entries:
            await self.outbox.add_notifications_if_absent(entries)


def is_news(event: Event) -> bool:
    """Returns whether an event has reactions: it is of no bot and no import, and was received within two days."""
    return (
        not event.is_bot
        and IMPORT_PROPERTY not in event.event_data
        and event.received_at - event.timestamp < MAX_EVENT_AGE
    )


@dataclass(frozen=True, slots=True)
class JobScheduler:
    """Puts due runs of jobs into the outbox, one for each workspace; two processes that add the same run add it once.

    Attributes:
        jobs: the installed jobs.
        workspaces: the workspaces.
        outbox: keeps the runs.
    """

    jobs: Mapping[str, ScheduledJob]
    workspaces: CredentialStore
    outbox: NotificationOutbox
    _queued: dict[str, datetime] = field(default_factory=dict)

    async def queue_due_jobs(self, now: datetime) -> None:
        """Queues the latest due run of each job, unless this process has queued it or it was due more than a week ago.

        Raises:
            StoreUnavailable: something cannot be read or kept here; the next call continues.
        """
        due = {job.id: job.due_at(now) for job in self.jobs.values()}
        new = [
            job
            for job in self.jobs.values()
            if self._queued.get(job.id) != due[job.id] and now - due[job.id] <= MAX_JOB_LATENESS
        ]
        if not new:
            return
        for workspace in await self.workspaces.list_workspaces():
            if workspace.active:
                await self.outbox.add_notifications_if_absent(
                    [
                        build_task_entry(workspace.id, job, job_occurrence(due[job.id]), due[job.id], now)
                        for job in new
                    ]
                )
        self._queued.update({job.id: due[job.id] for job in new})
