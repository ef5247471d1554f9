"""Builds the background tasks of plugins: reactions to stored events, and scheduled jobs."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, get_type_hints

from hosts.composition.bindings import Bindings
from hosts.composition.plugin_grants import require_granted_dependencies
from hosts.composition.plugin_settings import validate_plugin_settings
from hosts.composition.ports import Ports
from hosts.worker.periodic import run_periodically_until_stopped
from hosts.worker.postbacks import DRAIN_TIMEOUT_SECONDS
from service_core.delivery.notifications.delivery_worker import NotificationWorker
from service_core.delivery.plugin_tasks.models import TASK_CHANNEL, BoundTask, EventReaction, event_names_of
from service_core.delivery.plugin_tasks.queue_tasks import JobScheduler, ReactionTrigger
from service_core.delivery.plugin_tasks.run_tasks import JobRunner, ReactionRunner
from service_core.extensions.registry import Registry
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PluginsSettings
from service_core.workspace.notifications.models import JOB_TYPE, REACTION_TYPE, DeliveryQueue

TASK_SECONDS: Final = 5
"""Interval of looking for due tasks."""

_GIVEN_TO_JOBS: Final = frozenset({"workspace"})
_GIVEN_TO_REACTIONS: Final = _GIVEN_TO_JOBS | {"event"}


def build_reaction_trigger(ports: Ports, settings: PluginsSettings) -> ReactionTrigger:
    """Returns what queues the reactions to stored events.

    Raises:
        StartupError: a table of settings does not fit its plugin.
    """
    return ReactionTrigger(
        [
            (reaction, names)
            for reaction, plugin_settings in _tasks_with_settings(ports.registry, settings, "event_reactions")
            if (names := event_names_of(reaction, plugin_settings))
        ],
        ports.workspace.notifications,
        ports.clock,
    )


@dataclass(frozen=True, slots=True)
class PluginTasks:
    """Queues due jobs, and runs what is in the outbox.

    Attributes:
        scheduler: queues due jobs.
        worker: runs jobs and reactions.
        clock: returns the current time.
    """

    scheduler: JobScheduler
    worker: NotificationWorker
    clock: Clock

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Queues due jobs, and runs what is due now.

        Args:
            is_stopping: whether to look no more.

        Raises:
            StoreUnavailable: something cannot be read or kept here; the next run continues.
        """
        await self.scheduler.queue_due_jobs(self.clock())
        await self.worker.send_all_due(is_stopping)


async def run_due_until_stopped(
    run: Callable[[Callable[[], bool]], Awaitable[None]], stop: asyncio.Event
) -> None:
    """Runs what is due until ``stop`` is set; what is under way then has some seconds to end, and runs again if it does not.

    Args:
        run: runs what is due; its argument returns whether to begin nothing more.
        stop: ends it.
    """
    running = asyncio.create_task(
        run_periodically_until_stopped(TASK_SECONDS, lambda: run(stop.is_set), stop)
    )
    try:
        await stop.wait()
        await asyncio.wait({running}, timeout=DRAIN_TIMEOUT_SECONDS)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def build_plugin_tasks(ports: Ports, settings: PluginsSettings) -> PluginTasks:
    """Returns the tasks of the installed plugins.

    Raises:
        StartupError: a table of settings does not fit its plugin, or a task asks for something that nothing provides or
            the operator has not granted.
    """
    registry = ports.registry
    require_granted_dependencies(registry, settings)
    bindings = ports.bindings_of_all_adapters()
    for model, value in validate_plugin_settings(registry, settings).items():
        bindings.bind(model, value)
    reactions = {
        id_: (reaction, _bind_dependencies(id_, reaction.react, _GIVEN_TO_REACTIONS, bindings))
        for id_, reaction in registry.event_reactions.items()
    }
    jobs = {
        id_: (job, _bind_dependencies(id_, job.run, _GIVEN_TO_JOBS, bindings))
        for id_, job in registry.scheduled_jobs.items()
    }
    senders = {
        (REACTION_TYPE, TASK_CHANNEL): ReactionRunner(reactions, ports.events).run,
        (JOB_TYPE, TASK_CHANNEL): JobRunner(jobs, ports.clock).run,
    }
    return PluginTasks(
        JobScheduler(registry.scheduled_jobs, ports.workspace.credentials, ports.workspace.notifications),
        ports.build_from_adapters(NotificationWorker, senders=senders, queue=DeliveryQueue.PLUGIN_TASKS),
        ports.clock,
    )


def _tasks_with_settings(
    registry: Registry, settings: PluginsSettings, hook: str
) -> Iterator[tuple[EventReaction, Any]]:
    values = validate_plugin_settings(registry, settings)
    for plugin in registry.loaded_plugins:
        for task in plugin.values.get(hook, ()):
            yield task, plugin.info.settings and values[plugin.info.settings]


def _bind_dependencies(
    id_: str, function: BoundTask, given: Collection[str], bindings: Bindings
) -> BoundTask:
    """Returns the function with everything it asks for, except what differs in each run.

    Raises:
        StartupError: it is no async function, has no parameter of these names, or asks for what nothing provides.
    """
    parameters = inspect.signature(function).parameters
    if not inspect.iscoroutinefunction(function) or given - parameters.keys():
        names = ", ".join(sorted(given))
        raise StartupError(f"The task {id_!r} is no async function with the keyword-only parameters {names}.")
    hints = get_type_hints(function)
    dependencies = {
        name: bindings.resolve_parameter(f"The task {id_!r}", name, hints.get(name))
        for name, parameter in parameters.items()
        if name not in given and parameter.default is parameter.empty
    }
    return partial(function, **dependencies)
