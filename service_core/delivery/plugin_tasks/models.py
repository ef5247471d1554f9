"""Event reactions and scheduled jobs, and the outbox entry of one run."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypeVar
from uuid import UUID, uuid5

from service_core.kernel.errors import StartupError
from service_core.kernel.timestamps import format_timestamp
from service_core.kernel.unique_index import index_unique_or_startup_error
from service_core.workspace.notifications.models import (
    JOB_TYPE,
    REACTION_TYPE,
    Channel,
    Notification,
)

TASK_CHANNEL: Final = Channel.WEBHOOK
"""Channel of these entries. It tells nothing about them: their source type says what runs them."""

MAX_RUN_TIME: Final = timedelta(minutes=8)
"""Longest run; the claim of an outbox entry lasts 10 minutes."""
MIN_JOB_INTERVAL: Final = timedelta(minutes=1)

_ID_PATTERN: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class EventReaction:
    """An async function that is called with stored events, once each; after a failure again, up to seven times in two days.

    It may be called twice for an event when the process dies while it runs.

    Attributes:
        id: unique id in lower case.
        label: name that people read.
        event_names: names of the events, as sent; or a function that returns them from the settings of the plugin, None
            without a model.
        react: async function with the keyword-only parameters ``workspace`` and ``event``; every other one is supplied
            by its type, such as the protocol of a port or the settings of the plugin.
        limit: longest time of a call; at most 8 minutes.
    """

    id: str
    label: str
    event_names: tuple[str, ...] | Callable[[Any], Iterable[str]]
    react: Callable[..., Awaitable[None]]
    limit: timedelta = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class ScheduledJob:
    """An async function that is called at an interval, once for each workspace.

    A failed call is tried again until the next one is due.

    Attributes:
        id: unique id in lower case.
        label: name that people read.
        every: the interval, a minute or more; runs are due at its multiples since 1970 in UTC.
        run: async function with the keyword-only parameter ``workspace``; every other one is supplied by its type.
        limit: longest time of a call; at most 8 minutes.
    """

    id: str
    label: str
    every: timedelta
    run: Callable[..., Awaitable[None]]
    limit: timedelta = timedelta(minutes=5)

    def due_at(self, now: datetime) -> datetime:
        """Returns when the latest run was due."""
        return now - (now - _EPOCH) % self.every


_Task = TypeVar("_Task", EventReaction, ScheduledJob)


def index_tasks_by_id(tasks: Iterable[_Task], noun: str) -> Mapping[str, _Task]:
    """Returns reactions or jobs by id.

    Args:
        tasks: all of one kind.
        noun: what one is, for messages.

    Raises:
        StartupError: two have the same id, or one has a limit, an interval or a name that is not possible.
    """
    by_id = index_unique_or_startup_error(tasks, lambda task: task.id, lambda task: f"the {noun} {task.id!r}")
    for task in by_id.values():
        if problem := _describe_problem(task):
            raise StartupError(f"The {noun} {task.id!r} {problem}.")
    return MappingProxyType(dict(by_id))


def _describe_problem(task: EventReaction | ScheduledJob) -> str | None:
    if not _ID_PATTERN.fullmatch(task.id):
        return "has no id such as send_receipts"
    if not timedelta() < task.limit <= MAX_RUN_TIME:
        return "has a limit that is not between 0 and 8 minutes"
    if isinstance(task, ScheduledJob):
        return "runs more often than once a minute" if task.every < MIN_JOB_INTERVAL else None
    return None if task.event_names else "names no events"


def event_names_of(reaction: EventReaction, settings: Any) -> frozenset[str]:
    """Returns the names of the events that a reaction is for, under the settings of its plugin."""
    names = reaction.event_names
    return frozenset(names(settings) if callable(names) else names)


def task_source_id(workspace_id: UUID, task_type: str, task_id: str) -> UUID:
    """Returns the source of the outbox entries of a task in a workspace."""
    return uuid5(workspace_id, f"{task_type}:{task_id}")


def build_task_entry(
    workspace_id: UUID,
    task: EventReaction | ScheduledJob,
    occurrence: str,
    due_at: datetime,
    now: datetime,
) -> Notification:
    """Returns the outbox entry of one run of a task.

    Args:
        workspace_id: the workspace it runs for.
        task: what runs.
        occurrence: id of the event, or when the job is due: no two entries have the same one.
        due_at: time of the event, or when the job is due.
        now: the current time.
    """
    task_type = REACTION_TYPE if isinstance(task, EventReaction) else JOB_TYPE
    return Notification(
        workspace_id=workspace_id,
        source_type=task_type,
        source_id=task_source_id(workspace_id, task_type, task.id),
        occurrence=occurrence,
        channel=TASK_CHANNEL,
        target=task.id,
        subject=task.label,
        due_at=due_at,
        created_at=now,
        next_attempt_at=now,
    )


def job_occurrence(due_at: datetime) -> str:
    """Returns the occurrence of the run of a job."""
    return format_timestamp(due_at)


BoundTask = Callable[..., Awaitable[Any]]
"""A function of a task with its dependencies; it takes what differs in each run as keywords."""
