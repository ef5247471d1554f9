"""Transforms in the pipeline: dropped, changed and held events, failures, hangs and the circuit breaker."""

import json
import re
import threading
import time
from uuid import UUID

import pytest

from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import (
    IMPORT_HEADER,
    IMPORT_PROPERTY,
    PROVIDER_HEADER,
    IngestEndpoint,
    QueuedEvent,
)
from service_core.ingestion.pipeline import IngestPipeline
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.transforms.circuit_breaker import OPEN_SECONDS
from service_core.ingestion.transforms.models import (
    ChangedColumns,
    DroppedEvent,
    FailurePolicy,
    Transform,
    index_transforms_by_id,
)
from service_core.ingestion.transforms.run_transforms import EventTransforms
from service_core.ingestion.transforms.time_limit import CALL_SECONDS, WAIT_SECONDS
from service_core.kernel.errors import StartupError
from service_core.testing.ingestion_stubs import (
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
)
from tests.fixtures.stub_event_stores import StubEventWriter
from tests.fixtures.stub_queues import StubIngestQueue

ENRICHER = Enricher(StubDevices(), StubGeo(), TrafficClassifier(StubPublicSuffixes()))


async def find_workspace(_id):
    return make_workspace()


def queued(seq, **properties):
    body = {"event": "pageview", "user_id": "u1", "properties": properties}
    return make_queued_event(json.dumps(body).encode(), seq=seq)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def make_transform(id_="t", *, reads=("properties.plan",), writes=("properties.plan",), **more):
    return Transform(id=id_, label="T", reads=reads, writes=writes, build=lambda _: None, **more)


async def process(events, *functions, store=None, clock=None):
    queue, uses = RecordingQueue(*events), []
    transforms = EventTransforms(functions, uses.append, clock or Clock())
    store = store or StubEventWriter()
    pipeline = IngestPipeline(queue, store, find_workspace, ENRICHER, json.loads, transforms=transforms)
    while await pipeline.process_batch():
        pass
    return queue, store, uses


class RecordingQueue(StubIngestQueue):
    def __init__(self, *items):
        super().__init__(*items)
        self.ignored = {}

    async def acknowledge(self, stored, quarantined, ignored=None, dropped=None):
        self.ignored |= ignored or {}
        await super().acknowledge(stored, quarantined, ignored, dropped)


async def test_dropped_event_is_counted_and_changed_one_is_enriched_from_its_new_values():
    def lower(columns):
        plan, url = columns["properties.plan"], columns["properties.url"]
        if plan == "internal":
            return DroppedEvent("internal")
        return ChangedColumns({"properties.plan": None, "properties.url": url + "/new"}) if url else None

    columns = ("properties.plan", "properties.url")
    events = [
        queued(1, plan="internal"),
        queued(2, plan="a", url="https://example.com/old"),
        queued(3, plan="b"),
    ]
    queue, store, _ = await process(events, (make_transform(reads=columns, writes=columns), lower))
    assert queue.dropped == {1: "dropped:t:internal"}
    assert [(event.page_path, event.event_data) for event in store.events.values()] == [
        ("/old/new", {"url": "https://example.com/old/new"}),
        (None, {"plan": "b"}),
    ]
    assert queue.items == []


async def test_function_is_called_once_for_equal_columns_of_a_batch():
    calls = []
    events = [queued(1, plan=1), queued(2, plan=True), queued(3, plan=1), queued(4, plan="1"), queued(5)]
    await process(events, (make_transform(), lambda columns: calls.append(columns["properties.plan"])))
    assert [repr(plan) for plan in calls] == ["1", "True", "'1'", "None"]


async def test_message_of_a_provider_passes_transforms_by():
    message = make_queued_event(
        b'{"event":"purchase","user_id":"u1"}',
        seq=1,
        channel=IngestEndpoint.WEBHOOK,
        headers={PROVIDER_HEADER: "stripe"},
    )
    queue, store, _ = await process([message], (make_transform(), lambda _: DroppedEvent("all")))
    assert (queue.dropped, len(store.events)) == ({}, 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda columns: 1 / 0,
        lambda columns: "text",
        lambda columns: DroppedEvent("Not A Reason"),
        lambda columns: ChangedColumns({"properties.other": 1}),
        lambda columns: ChangedColumns({"properties.plan": object()}),
    ],
)
async def test_failing_transform_keeps_the_event_or_holds_it(function):
    queue, store, uses = await process([queued(1, plan="a")], (make_transform(), function))
    assert store.events["e1"].event_data == {"plan": "a"}
    assert queue.ignored == {1: ("transform_failed:t",)}
    assert [use.failures for use in uses] == [1]
    held = make_transform(on_failure=FailurePolicy.HOLD_EVENT)
    queue, store, _ = await process([queued(1, plan="a")], (held, function))
    assert (store.events, queue.dropped) == ({}, {})
    assert queue.quarantined[0].reason.startswith("EventHeld: the transform t failed: ")


async def test_transform_that_keeps_failing_is_left_out_and_tried_again_later():
    clock, calls, broken = Clock(), [], [True]

    def fail_while_broken(columns):
        calls.append(columns["properties.plan"])
        if broken:
            raise RuntimeError("no table")
        return ChangedColumns({"properties.plan": "new"})

    store, pair = StubEventWriter(), (make_transform(), fail_while_broken)
    queue, uses = RecordingQueue(*(queued(n, plan=n) for n in range(1, 9))), []
    transforms = EventTransforms([pair], uses.append, clock)
    pipeline = IngestPipeline(queue, store, find_workspace, ENRICHER, json.loads, transforms=transforms)
    await pipeline.process_batch()
    assert calls == [1, 2, 3, 4, 5]
    assert len(store.events) == 8
    assert (uses[0].failures, uses[0].left_out, uses[0].is_left_out) == (5, 3, True)
    clock.now += OPEN_SECONDS
    queue.items = [queued(n, plan=n) for n in range(9, 12)]
    await pipeline.process_batch()
    assert calls == [1, 2, 3, 4, 5, 9]
    clock.now += OPEN_SECONDS
    broken.clear()
    queue.items = [queued(n, plan=n) for n in range(12, 14)]
    await pipeline.process_batch()
    assert [store.events[f"e{n}"].event_data["plan"] for n in (11, 12, 13)] == [11, "new", "new"]
    assert not uses[-1].is_left_out


async def test_transform_that_fails_for_one_workspace_is_called_for_others():
    def fail_for_lists(columns):
        if isinstance(columns["properties.plan"], list):
            raise TypeError("a list")
        return ChangedColumns({"properties.plan": "new"})

    hostile = [queued(n, plan=[n]) for n in range(1, 8)]
    other = queued(8, plan="a")
    other = QueuedEvent(8, other.arrival._replace(workspace_id=UUID(int=8)))
    held = make_transform(on_failure=FailurePolicy.HOLD_EVENT)
    queue, store, uses = await process([*hostile, other], (held, fail_for_lists))
    assert store.events["e8"].event_data == {"plan": "new"}
    assert (len(queue.quarantined), uses[0].failures, uses[0].left_out) == (7, 5, 2)
    assert uses[0].is_left_out


async def test_result_that_comes_late_is_used_and_counts_as_a_failure():
    def wait(columns):
        time.sleep(CALL_SECONDS + 0.01)
        return ChangedColumns({"properties.plan": "new"})

    held = make_transform(on_failure=FailurePolicy.HOLD_EVENT)
    queue, store, uses = await process([queued(1, plan="a")], (held, wait))
    assert (store.events["e1"].event_data, queue.quarantined) == ({"plan": "new"}, [])
    assert uses[0].failures == 1


async def test_mark_of_an_import_cannot_be_changed_or_set():
    imported = queued(1, plan="a")
    imported = QueuedEvent(1, imported.arrival._replace(headers={IMPORT_HEADER: "i"}))
    transform = make_transform(reads=("properties",), writes=("properties",))
    marked = {IMPORT_PROPERTY: "redacted"}
    _, store, _ = await process(
        [imported, queued(2, plan="b")], (transform, lambda _: ChangedColumns({"properties": marked}))
    )
    assert [event.event_data for event in store.events.values()] == [{IMPORT_PROPERTY: "i"}, {}]


async def test_columns_of_the_client_are_those_of_the_end_user():
    seen = []
    agent = {"context": {"user_agent": "Browser/1"}}
    by_server = make_queued_event(
        json.dumps({"event": "pageview", "user_id": "u1", **agent}).encode(),
        seq=1, user_agent="python-requests/2", address="203.0.113.7",
    )  # fmt: skip
    by_page = make_queued_event(
        b'{"event":"pageview","user_id":"u1"}', seq=2,
        user_agent="Browser/2", address="203.0.113.8", channel=IngestEndpoint.BATCH,
    )  # fmt: skip
    transform = make_transform(reads=("ip", "user_agent"), writes=())
    await process([by_server, by_page], (transform, lambda columns: seen.append(dict(columns))))
    assert seen == [
        {"ip": None, "user_agent": "Browser/1"},
        {"ip": "203.0.113.8", "user_agent": "Browser/2"},
    ]


async def test_function_that_does_not_end_is_interrupted():
    def backtrack(columns):
        re.match(r"(a+)+$", "a" * 40 + "b")

    _, store, uses = await process([queued(1, plan="a")], (make_transform(), backtrack))
    assert (list(store.events), uses[0].failures) == (["e1"], 1)
    assert uses[0].seconds < 10


async def test_function_that_waits_for_ever_is_interrupted():
    def wait(columns):
        threading.Event().wait()

    held = make_transform(on_failure=FailurePolicy.HOLD_EVENT)
    queue, store, uses = await process([queued(1, plan="a")], (held, wait))
    assert queue.quarantined[0].reason.startswith("EventHeld: the transform t failed: CallTookTooLong")
    assert (store.events, uses[0].failures) == ({}, 1)
    assert uses[0].longest_seconds >= WAIT_SECONDS


async def test_function_that_goes_on_after_an_interruption_is_interrupted_again():
    interruptions = []

    def swallow_once(columns):
        while True:
            try:
                re.match(r"(a+)+$", "a" * 40 + "b")
            except BaseException:
                interruptions.append(True)
                if len(interruptions) == 2:
                    raise

    _, store, uses = await process([queued(1, plan="a")], (make_transform(), swallow_once))
    assert (list(store.events), uses[0].failures) == (["e1"], 1)


async def test_failed_append_repeats_the_batch_with_the_same_results():
    store = StubEventWriter()
    store.down = True
    queue = RecordingQueue(queued(1, plan="drop"), queued(2, plan="b"))
    transforms = EventTransforms(
        [(make_transform(), lambda c: DroppedEvent("x") if c["properties.plan"] == "drop" else None)]
    )
    pipeline = IngestPipeline(queue, store, find_workspace, ENRICHER, json.loads, transforms=transforms)
    with pytest.raises(OSError, match="down"):
        await pipeline.process_batch()
    assert (len(queue.items), queue.dropped) == (2, {})
    store.down = False
    await pipeline.process_batch()
    assert (list(store.events), queue.dropped) == (["e2"], {1: "dropped:t:x"})


async def test_transforms_that_may_hold_events_run_last_and_are_counted():
    order = []

    def record(name, result):
        return lambda _: order.append(name) or result

    await process(
        [queued(1, plan="a")],
        (make_transform("held", on_failure=FailurePolicy.HOLD_EVENT), record("held", None)),
        (make_transform("changes"), record("changes", ChangedColumns({"properties.plan": "b"}))),
        (make_transform("drops", writes=()), record("drops", None)),
    )
    assert order == ["drops", "changes", "held"]
    held = make_transform("held", on_failure=FailurePolicy.HOLD_EVENT)
    queue, _, _ = await process(
        [queued(1, plan="a")], (held, lambda _: ChangedColumns({"properties.plan": None}))
    )
    assert queue.ignored == {1: ("removed:held",)}


@pytest.mark.parametrize("more", [{"reads": ("revenue",)}, {"writes": ("ip",)}, {"id_": "No id"}])
def test_transform_with_an_unknown_column_or_id_stops_the_start(more):
    with pytest.raises(StartupError, match=r"Columns are|no id"):
        index_transforms_by_id([make_transform(**more)])
