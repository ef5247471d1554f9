"""The conformance kits of event reactions and scheduled jobs: their declaration, repeats, unusual events, and time.

Give stubs for what the function asks for, and override the fixture ``harness``; pytest needs ``asyncio_mode = "auto"``::

    class TestMyReaction(EventReactionConformance):
        @pytest.fixture
        def harness(self):
            return ReactionHarness(REACTION, {"email_sender": StubSender()}, {"properties": {"plan": "gold"}})
"""

import asyncio
import inspect
import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from service_core.delivery.plugin_tasks.models import (
    EventReaction,
    ScheduledJob,
    event_names_of,
    index_tasks_by_id,
)
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import Event
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.testing.ingestion_stubs import (
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
    parse_and_enrich_body,
)

_OTHER_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1.5,
    "",
    "x" * 5_000,
    [],
    {},
    {"a": [None]},
    "line\nbreak",
)
_BLOCKING_SECONDS: Final = 0.5

_Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Name of a method, its arguments and its named ones."""

ENRICHER: Final = Enricher(StubDevices(), StubGeo(), TrafficClassifier(StubPublicSuffixes()))
"""Makes the events of harnesses."""


@dataclass(frozen=True)
class ReactionHarness:
    """A reaction, stubs for its function, and an event that it is for.

    Attributes:
        arguments: what the function asks for besides ``workspace`` and ``event``, by parameter.
        body: fields of the event as `/track` takes them; its name is one of the reaction's.
        settings: an instance of the settings of its plugin; None if it has none.
    """

    reaction: EventReaction
    arguments: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)
    settings: Any = None

    def event(self, **properties: Any) -> Event:
        """Returns the event, with some properties replaced."""
        name = min(event_names_of(self.reaction, self.settings))
        sent = dict(self.body.get("properties", {})) | properties
        body = {"event": name, "user_id": "u1", **self.body, "properties": sent}
        queued = make_queued_event(json.dumps(body).encode())
        return parse_and_enrich_body(ENRICHER, queued, body, workspace=make_workspace())


@dataclass(frozen=True)
class JobHarness:
    """A job, and stubs for what its function asks for besides ``workspace``, by parameter."""

    job: ScheduledJob
    arguments: Mapping[str, Any]


class EventReactionConformance:
    """What every event reaction keeps. Override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> ReactionHarness:
        """The reaction under test and its stubs."""
        raise pytest.UsageError("override the fixture `harness` with the reaction under test")

    def test_declaration_is_possible(self, harness: ReactionHarness) -> None:
        """Its id, limit and event names are possible, and its function takes a workspace and an event."""
        assert list(index_tasks_by_id([harness.reaction], "event reaction")) == [harness.reaction.id]
        assert harness.reaction.label
        assert event_names_of(harness.reaction, harness.settings)
        _require_async_function(harness.reaction.react, {"workspace", "event", *harness.arguments})

    async def test_event_may_come_twice(self, harness: ReactionHarness) -> None:
        """A second call with the same event does not fail: a process may die before it has noted the first."""
        event = harness.event()
        before = deepcopy(event)
        for _ in range(2):
            await _call(harness.reaction, harness.reaction.react, event=event, **harness.arguments)
        assert event == before

    async def test_any_property_may_have_any_value(self, harness: ReactionHarness) -> None:
        """Clients send properties of any type; none of them makes the reaction fail for ever."""
        for name in harness.event().event_data:
            for value in _OTHER_VALUES:
                event = harness.event(**{name: value})
                await _call(harness.reaction, harness.reaction.react, event=event, **harness.arguments)

    async def test_repeated_event_repeats_its_calls_unchanged(self, harness: ReactionHarness) -> None:
        """What it sends for an event has the same id each time, so that the receiver can drop the second one."""
        event, runs = harness.event(), []
        for _ in range(2):
            calls: list[_Call] = []
            arguments = _record_calls(harness.arguments, calls)
            await _call(harness.reaction, harness.reaction.react, event=event, **arguments)
            runs.append(calls)
        assert [call for call in runs[1] if call not in runs[0]] == []

    async def test_failed_call_is_raised_at_once(self, harness: ReactionHarness) -> None:
        """A call that fails makes the reaction fail: the service repeats it later, and counts it."""
        given = {"event": harness.event()}
        await _require_failure(harness.reaction, harness.reaction.react, harness.arguments, given)


class ScheduledJobConformance:
    """What every scheduled job keeps. Override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> JobHarness:
        """The job under test and its stubs."""
        raise pytest.UsageError("override the fixture `harness` with the job under test")

    def test_declaration_is_possible(self, harness: JobHarness) -> None:
        """Its id, interval and limit are possible, and its function takes a workspace."""
        assert list(index_tasks_by_id([harness.job], "scheduled job")) == [harness.job.id]
        assert harness.job.label
        _require_async_function(harness.job.run, {"workspace", *harness.arguments})

    async def test_job_may_run_twice(self, harness: JobHarness) -> None:
        """A second run does not fail: a process may die before it has noted the first."""
        for _ in range(2):
            await _call(harness.job, harness.job.run, **harness.arguments)

    async def test_failed_call_is_raised_at_once(self, harness: JobHarness) -> None:
        """A call that fails makes the job fail, so that operators see it; the next run tries it again."""
        await _require_failure(harness.job, harness.job.run, harness.arguments, {})


class _CallFailed(OSError):
    """Raised by each call of the stubs."""


class _RecordedStub:
    """A stub whose async methods are recorded, and fail if asked for."""

    def __init__(self, stub: Any, calls: list[_Call], *, fails: bool) -> None:
        self._stub, self._calls, self._fails = stub, calls, fails

    def __getattr__(self, name: str) -> Any:
        """Returns a recorded method, or the attribute."""
        member = getattr(self._stub, name)
        if not inspect.iscoroutinefunction(member):
            return member

        async def call(*arguments: Any, **named: Any) -> Any:
            self._calls.append((name, deepcopy(arguments), deepcopy(named)))
            if self._fails:
                raise _CallFailed("the other side is away")
            return await member(*arguments, **named)

        return call


def _record_calls(arguments: Mapping[str, Any], calls: list[_Call], *, fails: bool = False) -> dict[str, Any]:
    """Returns the stubs with async methods as recorded ones, and the others as they are."""
    return {
        name: _RecordedStub(stub, calls, fails=fails)
        if any(inspect.iscoroutinefunction(member) for member in vars(type(stub)).values())
        else stub
        for name, stub in arguments.items()
    }


async def _require_failure(
    task: EventReaction | ScheduledJob, function: Any, arguments: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    calls: list[_Call] = []
    failing = _record_calls(arguments, calls, fails=True)
    try:
        await _call(task, function, **failing, **given)
    except Exception:  # noqa: BLE001 - a plugin may raise an exception of its own instead
        assert len(calls) == 1, "it goes on, or tries again itself, after a call that failed"
    else:
        assert calls == [], "a call failed, and it ended as if nothing had happened"


def _require_async_function(function: Any, names: set[str]) -> None:
    assert inspect.iscoroutinefunction(function)
    parameters = inspect.signature(function).parameters
    assert names <= parameters.keys()
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())


async def _call(task: EventReaction | ScheduledJob, function: Any, **given: Any) -> None:
    """Calls a function; fails if it takes longer than its limit, or holds the event loop."""
    longest, is_running = 0.0, True
    loop = asyncio.get_running_loop()

    async def watch_loop() -> None:
        nonlocal longest
        while is_running:
            began = loop.time()
            await asyncio.sleep(0)
            longest = max(longest, loop.time() - began)

    watch = asyncio.create_task(watch_loop())
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(task.limit.total_seconds()):
            await function(workspace=make_workspace(), **given)
    finally:
        is_running = False
        await watch
    assert longest < _BLOCKING_SECONDS, "it holds the event loop: await what takes long, or use a thread"
