"""Reactions and jobs of plugins from a stored event, or the clock, to their function: once, with retries, in time."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hosts.composition.plugin_descriptions import describe_plugins
from hosts.composition.plugin_task_runs import TaskRuns, read_task_runs
from hosts.worker import plugin_tasks
from hosts.worker.plugin_tasks import build_plugin_tasks
from service_core.delivery.plugin_tasks.models import (
    EventReaction,
    ScheduledJob,
    index_tasks_by_id,
    task_source_id,
)
from service_core.ingestion.models import IMPORT_HEADER, IngestEndpoint, ReceivedEvent
from service_core.kernel.errors import StartupError
from service_core.plugin import Clock, EventReader
from service_core.workspace.notifications.models import JOB_TYPE, REACTION_TYPE
from tests.analytics.deployment import NOW, run_deployment
from tests.hosts.ingest.test_batch import BatchHost, page_view


class Tasks:
    """A deployment with a reaction to `lead` and an hourly job, which record their calls."""

    def __init__(self, served, client):
        self.calls, self.fault = [], None
        self.served, self.client = served, client
        reaction = EventReaction(id="r", label="R", event_names=("lead",), react=self.react)
        job = ScheduledJob(id="j", label="J", every=timedelta(hours=1), run=self.run)
        ports = served.service.ports
        registry = replace(ports.registry, event_reactions={"r": reaction}, scheduled_jobs={"j": job})
        ports.registry = registry
        (plugin,) = [p for p in registry.loaded_plugins if p.installed.name == "reaction_email"]
        values = {**plugin.values, "event_reactions": [reaction]}
        others = [p for p in registry.loaded_plugins if p is not plugin]
        ports.registry = replace(registry, loaded_plugins=(*others, replace(plugin, values=values)))
        self.host = BatchHost(served, client)
        self.work = build_plugin_tasks(ports, served.service.settings.plugins)

    async def react(self, *, workspace, event, event_reader: EventReader, clock: Clock):
        self.calls.append((workspace.id, event.event_id, event.event_data))
        if self.fault:
            raise self.fault

    async def run(self, *, workspace, limit: timedelta = timedelta()):
        self.calls.append((workspace.id, "job"))
        if self.fault:
            raise self.fault

    async def store(self, *events):
        await self.host.batch(*events)
        await self.host.drain()

    async def results(self, task_type, task_id):
        source = task_source_id(self.client.workspace.id, task_type, task_id)
        entries = await self.served.service.ports.workspace.notifications.list_notifications_of_source(
            self.client.workspace.id, source, 9
        )
        return [(entry.status.value, entry.attempts, entry.error) for entry in entries]


@pytest.fixture
async def tasks(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        client = await served.workspace(timezone="UTC")
        original = served.service.ports.registry
        yield Tasks(served, client)
        served.service.ports.registry = original


def lead(event_id, **properties):
    return page_view(event_id) | {"event": "lead", "properties": properties}


async def run_reactions(tasks):
    await tasks.work.worker.send_due_notifications()
    return [call for call in tasks.calls if call[1] != "job"]


async def test_stored_event_has_one_reaction_with_the_event_as_stored(tasks):
    await tasks.store(lead("e1", plan="gold"), page_view("e2"), lead("e1"))
    await tasks.store(lead("e1"))
    assert await run_reactions(tasks) == [(tasks.client.workspace.id, "e1", {"plan": "gold"})]
    assert len(await run_reactions(tasks)) == 1
    assert await tasks.results(REACTION_TYPE, "r") == [("sent", 1, None)]


async def test_events_of_bots_imports_and_the_past_have_no_reactions(tasks):
    id_ = tasks.client.workspace.id
    imported = (id_, id_, IngestEndpoint.BATCH, "e2", True, NOW, json.dumps(lead("e2")).encode())
    await tasks.host.ports.queue.offer(ReceivedEvent(*imported, None, None, {IMPORT_HEADER: "i"}))
    old = (NOW - timedelta(days=3)).isoformat()
    await tasks.store(lead("e1", bot=True), lead("e3") | {"timestamp": old})
    assert await run_reactions(tasks) == []


async def test_failed_reaction_is_tried_again_and_an_erased_event_is_skipped(tasks):
    await tasks.store(lead("e1"))
    tasks.fault = RuntimeError("no connection")
    assert len(await run_reactions(tasks)) == 1
    assert await tasks.results(REACTION_TYPE, "r") == [("retrying", 1, "RuntimeError")]
    tasks.served.now += timedelta(minutes=1)
    tasks.fault = None
    assert len(await run_reactions(tasks)) == 2
    assert await tasks.results(REACTION_TYPE, "r") == [("sent", 2, None)]
    await tasks.store(lead("e2"))
    events = tasks.served.service.ports.events
    stored = (await tasks.client.get("/events", start_date="2026-07-08", end_date="2026-07-08"))["events"]
    assert len(stored) == 2
    await events.delete_events(tasks.client.workspace.id, await seqs_of(tasks))
    assert len(await run_reactions(tasks)) == 2
    assert (await tasks.results(REACTION_TYPE, "r"))[0] == ("skipped", 0, "The event is not stored any more")


async def seqs_of(tasks):
    queue = tasks.served.service.ports.queue
    assert await queue.take(1) == []
    return range(1, 100_000)


async def test_job_runs_once_an_hour_for_each_workspace_over_two_processes(tasks):
    other = build_plugin_tasks(tasks.served.service.ports, tasks.served.service.settings.plugins)
    second = await tasks.served.workspace(timezone="UTC")
    await asyncio.gather(tasks.work.run(), other.run())
    await other.run()
    assert sorted(call[0] for call in tasks.calls) == sorted([tasks.client.workspace.id, second.workspace.id])
    tasks.served.now += timedelta(hours=1)
    await asyncio.gather(tasks.work.run(), other.run())
    assert len(tasks.calls) == 4
    assert await tasks.results(JOB_TYPE, "j") == [("sent", 1, None)] * 2


async def test_failed_job_is_tried_again_until_the_next_run_is_due(tasks):
    tasks.fault = RuntimeError("no connection")
    await tasks.work.run()
    tasks.served.now += timedelta(minutes=1)
    await tasks.work.run()
    assert await tasks.results(JOB_TYPE, "j") == [("retrying", 2, "RuntimeError")]
    tasks.served.now += timedelta(hours=1)
    tasks.fault = None
    await tasks.work.run()
    assert await tasks.results(JOB_TYPE, "j") == [("sent", 1, None), ("skipped", 2, "A later run is due")]


async def test_run_that_was_due_more_than_a_week_ago_is_not_made_up_for(tasks):
    """Its result may have been deleted, and it would run again after each restart."""
    job = ScheduledJob(id="j", label="J", every=timedelta(days=1000), run=tasks.run)
    ports = tasks.served.service.ports
    ports.registry = replace(ports.registry, scheduled_jobs={"j": job})
    await build_plugin_tasks(ports, tasks.served.service.settings.plugins).run()
    assert tasks.calls == []
    tasks.served.now = job.due_at(tasks.served.now) + job.every + timedelta(days=7)
    await build_plugin_tasks(ports, tasks.served.service.settings.plugins).run()
    assert len(tasks.calls) == 1


async def test_runs_of_tasks_are_listed_with_plugins(tasks):
    registry, store = tasks.served.service.ports.registry, tasks.served.service.ports.workspace
    tasks.fault = RuntimeError("no connection")
    await tasks.work.run()
    await tasks.store(lead("e1"))
    assert await read_task_runs(store, registry) == {
        ("event_reactions", "r"): TaskRuns(None, None, None, 1),
        ("scheduled_jobs", "j"): TaskRuns(None, None, "RuntimeError", 1),
    }
    tasks.fault = None
    tasks.served.now += timedelta(minutes=1)
    await tasks.work.run()
    runs = await read_task_runs(store, registry)
    assert runs["event_reactions", "r"] == TaskRuns(tasks.served.now, "sent", None, 0)
    described = {
        plugin["name"]: plugin["tasks"] for plugin in describe_plugins(registry, None, runs)["plugins"]
    }
    assert described["reaction_email"][0]["last_status"] == "sent"


async def test_task_over_its_limit_has_failed(tasks, monkeypatch):
    async def wait(*, workspace):
        await asyncio.Event().wait()

    slow = ScheduledJob(
        id="j", label="J", every=timedelta(hours=1), run=wait, limit=timedelta(milliseconds=20)
    )
    ports = tasks.served.service.ports
    ports.registry = replace(ports.registry, scheduled_jobs={"j": slow})
    await build_plugin_tasks(ports, tasks.served.service.settings.plugins).run()
    assert await tasks.results(JOB_TYPE, "j") == [("retrying", 1, "It took more than 0.02 seconds")]


async def test_timeout_inside_a_task_is_not_its_limit(tasks):
    tasks.fault = TimeoutError("no answer")
    await tasks.work.run()
    assert await tasks.results(JOB_TYPE, "j") == [("retrying", 1, "TimeoutError")]


async def test_task_under_way_is_cancelled_some_time_after_the_stop(tasks, monkeypatch):
    monkeypatch.setattr(plugin_tasks, "TASK_SECONDS", 0)
    monkeypatch.setattr(plugin_tasks, "DRAIN_TIMEOUT_SECONDS", 0.05)
    started, ended = asyncio.Event(), []

    async def wait(*, workspace):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(workspace.id)

    job = ScheduledJob(id="j", label="J", every=timedelta(hours=1), run=wait)
    ports, stop = tasks.served.service.ports, asyncio.Event()
    ports.registry = replace(ports.registry, scheduled_jobs={"j": job})
    work = build_plugin_tasks(ports, tasks.served.service.settings.plugins)
    running = asyncio.create_task(plugin_tasks.run_due_until_stopped(work.run, stop))
    await started.wait()
    stop.set()
    await running
    assert ended == [tasks.client.workspace.id]


async def test_function_that_asks_for_something_unknown_stops_the_start(tasks):
    async def run(*, workspace, money: int):
        """Never runs."""

    ports = tasks.served.service.ports
    for function in (run, lambda workspace: None):
        job = ScheduledJob(id="j", label="J", every=timedelta(hours=1), run=function)
        ports.registry = replace(ports.registry, scheduled_jobs={"j": job})
        with pytest.raises(StartupError, match="The task 'j'"):
            build_plugin_tasks(ports, tasks.served.service.settings.plugins)


@pytest.mark.parametrize(
    "task",
    [
        ScheduledJob(id="j", label="J", every=timedelta(seconds=1), run=Tasks.run),
        ScheduledJob(id="j", label="J", every=timedelta(hours=1), run=Tasks.run, limit=timedelta(hours=1)),
        ScheduledJob(id="No Id", label="J", every=timedelta(hours=1), run=Tasks.run),
        EventReaction(id="r", label="R", event_names=(), react=Tasks.react),
    ],
)
def test_impossible_declaration_stops_the_start(task):
    with pytest.raises(StartupError, match="The task "):
        index_tasks_by_id([task], "task")
