"""Reads when the background tasks of plugins ran last, and with what result."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.delivery.plugin_tasks.models import task_source_id
from service_core.extensions.registry import Registry
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.workspace.notifications.models import JOB_TYPE, REACTION_TYPE, Notification

TASK_TYPE_BY_HOOK: Final[Mapping[str, str]] = {"event_reactions": REACTION_TYPE, "scheduled_jobs": JOB_TYPE}

_MAX_RUNS: Final = 100
"""Latest runs of a task in a workspace that are looked at."""


@dataclass(frozen=True, slots=True)
class TaskRuns:
    """The latest runs of a task over all workspaces.

    Attributes:
        last_run_at: when the latest run ended; None for never.
        last_status: ``sent`` for one that worked, ``failed`` or ``skipped``; None without one.
        last_error: what the latest run that failed said, also one that is tried again; None without one.
        waiting: runs that are due or are tried again, up to 100 a workspace.
    """

    last_run_at: datetime | None
    last_status: str | None
    last_error: str | None
    waiting: int


async def read_task_runs(store: WorkspaceStore, registry: Registry) -> dict[tuple[str, str], TaskRuns]:
    """Returns the latest runs of the tasks of all plugins, by hook and id."""
    ids = [(hook, id_) for hook in TASK_TYPE_BY_HOOK for id_ in getattr(registry, hook)]
    workspaces = [workspace.id for workspace in await store.credentials.list_workspaces()] if ids else []
    return {
        (hook, id_): _latest_outcome_and_waiting_count(
            [
                run
                for workspace_id in workspaces
                for run in await _list_runs(store, workspace_id, TASK_TYPE_BY_HOOK[hook], id_)
            ]
        )
        for hook, id_ in ids
    }


async def _list_runs(
    store: WorkspaceStore, workspace_id: UUID, task_type: str, id_: str
) -> list[Notification]:
    source_id = task_source_id(workspace_id, task_type, id_)
    return [*await store.notifications.list_notifications_of_source(workspace_id, source_id, _MAX_RUNS)]


def _latest_outcome_and_waiting_count(runs: list[Notification]) -> TaskRuns:
    ended = {run.done_at: run for run in runs if run.done_at is not None}
    latest = ended[max(ended)] if ended else None
    failed = [run for run in runs if run.error is not None and run.attempts]
    return TaskRuns(
        last_run_at=None if latest is None else latest.done_at,
        last_status=None if latest is None else latest.status.value,
        last_error=max(failed, key=lambda run: run.created_at).error if failed else None,
        waiting=sum(run.next_attempt_at is not None for run in runs),
    )
