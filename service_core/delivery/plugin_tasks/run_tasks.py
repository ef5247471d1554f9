"""Runs the tasks of plugins that wait in the outbox."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from service_core.access.models import Workspace
from service_core.analytics.measures import FilterOperator, Predicate
from service_core.analytics.ports import EventPageQuery, EventReader
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.delivery.notifications.delivery_worker import NotificationObsolete, NotificationRefused
from service_core.delivery.plugin_tasks.models import BoundTask, EventReaction, ScheduledJob
from service_core.ingestion.models import Event
from service_core.kernel.clock import Clock
from service_core.kernel.time_ranges import TimeRange
from service_core.workspace.notifications.models import Notification

_MARGIN: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ReactionRunner:
    """Calls reactions with their events.

    Attributes:
        reactions: id -> the reaction and its function.
        events: the stored events.
    """

    reactions: Mapping[str, tuple[EventReaction, BoundTask]]
    events: EventReader

    async def run(self, workspace: Workspace, entry: Notification) -> None:
        """Calls a reaction with the event of an entry, as it is stored now.

        Raises:
            NotificationObsolete: the plugin is not installed any more, or the event was deleted.
            NotificationRefused: it took too long.
        """
        if entry.target not in self.reactions:
            raise NotificationObsolete("No installed plugin reacts any more")
        reaction, function = self.reactions[entry.target]
        event = await load_event_of_entry(self.events, workspace, entry)
        await _call_within(reaction, function, workspace=workspace, event=event)


async def load_event_of_entry(events: EventReader, workspace: Workspace, entry: Notification) -> Event:
    """Returns the event that an entry of the outbox is about, as it is stored now.

    Raises:
        NotificationObsolete: the event was deleted.
    """
    span = TimeRange(entry.due_at - _MARGIN, entry.due_at + _MARGIN)
    condition = Predicate("event_id", FilterOperator.EQ, entry.occurrence)
    scope = replace(scope_for_workspace_without_bots(workspace, span), filters=(condition,))
    page = await events.list_events(EventPageQuery(scope, limit=1, count_total=False))
    if not page.events:
        raise NotificationObsolete("The event is not stored any more")
    return page.events[0]


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Calls scheduled jobs.

    Attributes:
        jobs: id -> the job and its function.
        clock: returns the current time.
    """

    jobs: Mapping[str, tuple[ScheduledJob, BoundTask]]
    clock: Clock

    async def run(self, workspace: Workspace, entry: Notification) -> None:
        """Calls a job for a workspace.

        Raises:
            NotificationObsolete: the plugin is not installed any more, or a later run is due.
            NotificationRefused: it took too long.
        """
        if entry.target not in self.jobs:
            raise NotificationObsolete("No installed plugin has the job any more")
        job, function = self.jobs[entry.target]
        if job.due_at(self.clock()) > entry.due_at:
            raise NotificationObsolete("A later run is due")
        await _call_within(job, function, workspace=workspace)


async def _call_within(task: EventReaction | ScheduledJob, function: BoundTask, **given: object) -> None:
    try:
        async with asyncio.timeout(task.limit.total_seconds()) as limit:
            await function(**given)
    except TimeoutError:
        if not limit.expired():
            raise
        raise NotificationRefused(f"It took more than {task.limit.total_seconds():g} seconds") from None
