"""The import mark comes from imports only; imported and replayed events are stored once, whenever they come."""

import json
from datetime import timedelta

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.delivery.imports.models import ImportMark
from service_core.ingestion.imported_ids import row_id_of_import
from service_core.ingestion.models import IMPORT_HEADER, IMPORT_PROPERTY, PROVIDER_HEADER, IngestEndpoint
from service_core.ingestion.validation import validate_name_and_identity
from service_core.testing.ingestion_stubs import NOON, make_queued_event
from tests.fixtures.stub_queues import StubIngestQueue
from tests.ingestion.test_pipeline import make_pipeline

IMPORT_ID = "01980c0e-7f5e-7b1a-8d3c-5a3f0e6b9c21"
DAY = timedelta(days=1)
AT = "2026-06-30T10:00:00Z"


def body_of(**fields):
    return json.dumps({"event": "purchase", "user_id": "U1", "timestamp": AT, **fields}).encode()


def queued(seq, event_id, *, day=0, headers=None, channel=IngestEndpoint.TRACK, **fields):
    return make_queued_event(
        body_of(**fields), seq=seq, event_id=event_id, claimed=True, received_at=NOON + day * DAY,
        headers=headers or {}, channel=channel,
    )  # fmt: skip


def imported(seq, row_id, *, day=0, generation=0, source="events", **fields):
    claimed = ImportMark(IMPORT_ID, source, generation).claimed_id(row_id)
    return queued(seq, claimed, day=day, headers={IMPORT_HEADER: IMPORT_ID}, **fields)


async def store_batches(*batches, at=NOON + 30 * DAY):
    """Stores the batches and returns sequence number -> event."""
    store = MemoryEventStore()
    for batch in batches:
        await make_pipeline(StubIngestQueue(*batch), store, clock=lambda: at).process_batch()
    return {event.seq: event for event in store._events}


@pytest.mark.parametrize(
    ("channel", "headers", "fields"),
    [
        (IngestEndpoint.TRACK, {}, {"properties": {IMPORT_PROPERTY: IMPORT_ID, "plan": "pro"}}),
        (IngestEndpoint.BATCH, {}, {"event_data": {IMPORT_PROPERTY: IMPORT_ID, "plan": "pro"}}),
        (IngestEndpoint.WEBHOOK, {PROVIDER_HEADER: "stripe"}, {"properties": {IMPORT_PROPERTY: IMPORT_ID, "plan": "pro"}}),
    ],
)  # fmt: skip
async def test_mark_of_an_import_cannot_be_sent(channel, headers, fields):
    stored = await store_batches([queued(1, "e1", channel=channel, headers=headers, **fields)])
    assert stored[1].event_data == {"plan": "pro"}


async def test_imported_event_has_its_mark_and_the_payment_id_of_its_row():
    properties = {"value": 5, "nested": {IMPORT_PROPERTY: "x"}, IMPORT_PROPERTY: "forged"}
    stored = await store_batches([imported(1, "r1", properties=properties, generation=2)])
    event = stored[1]
    assert event.event_data == {"value": 5, "nested": {IMPORT_PROPERTY: "x"}, IMPORT_PROPERTY: IMPORT_ID}
    assert (event.event_id, event.payment_id) == ("imported:events:r1", "r1")


@pytest.mark.parametrize("day", [0, 8, 400])
@pytest.mark.parametrize("generation", [0, 1])
async def test_row_that_is_imported_again_adds_nothing_whenever_it_comes(day, generation):
    first, again = imported(1, "r1"), imported(2, "r1", day=day, generation=generation)
    assert list(await store_batches([first], [again], at=NOON + 500 * DAY)) == [1]
    assert list(await store_batches([first, again], at=NOON + 500 * DAY)) == [1]


async def test_repeat_is_counted_by_its_reason():
    store, queue = (
        MemoryEventStore(),
        StubIngestQueue(imported(1, "r1"), imported(2, "r1"), imported(3, "r2")),
    )
    await make_pipeline(queue, store).process_batch()
    assert (queue.dropped, queue.items) == ({2: "stored_before"}, [])


async def test_rows_of_two_sources_with_one_id_are_two_events():
    rows = [imported(1, "1", source="matomo"), imported(2, "1", source="ga4"), imported(3, "1")]
    assert list(await store_batches(rows)) == [1, 2, 3]


@pytest.mark.parametrize("day", [0, 3, 20])
async def test_row_of_a_live_event_adds_nothing_and_supersedes_nothing(day):
    live = queued(1, "order-1", channel=IngestEndpoint.TRACK)
    stored = await store_batches([live], [imported(2, "order-1", day=day)])
    assert [event.event_id for event in stored.values()] == ["order-1"]


async def test_row_that_was_imported_as_events_before_is_not_stored_again_by_a_source():
    stored = await store_batches([imported(1, "17")], [imported(2, "17", source="posthog")])
    assert set(stored) == {1}


async def test_live_event_is_stored_although_a_row_with_its_id_was_imported():
    stored = await store_batches([imported(1, "order-1")], [queued(2, "order-1", day=1)])
    assert list(stored) == [1, 2]


async def test_keyless_event_and_event_of_another_time_do_not_make_a_row_disappear():
    keyless = queued(1, "order-1", channel=IngestEndpoint.BATCH)
    assert list(await store_batches([keyless], [imported(2, "order-1")])) == [1, 2]
    other = queued(1, "1", timestamp="2026-06-29T10:00:00Z")
    assert list(await store_batches([other], [imported(2, "1")])) == [1, 2]


async def test_event_replayed_after_seven_days_is_not_stored_beside_its_second_delivery():
    kept, delivered = queued(1, "stripe_evt_1"), queued(2, "stripe_evt_1", day=8)
    assert list(await store_batches([delivered], [kept])) == [2]
    assert len(await store_batches([kept, delivered])) == 1
    later = queued(3, "stripe_evt_1", day=16)
    assert list(await store_batches([delivered], [later], at=NOON + 16 * DAY)) == [2, 3]


async def test_batch_that_comes_again_is_appended_again_so_that_a_store_completes_it():
    class CountingStore(MemoryEventStore):
        sizes = ()

        async def append(self, events):
            self.sizes += (len(events),)
            return await super().append(events)

    store = CountingStore()
    for _ in range(2):
        await make_pipeline(
            StubIngestQueue(imported(1, "r1"), queued(2, "old")), store, clock=lambda: NOON + 30 * DAY
        ).process_batch()
    assert store.sizes == (2, 2)


@pytest.mark.parametrize("event_id", ["imported:events:r1", "imported~1:events:r1"])
def test_client_cannot_send_the_id_of_an_imported_event(event_id):
    body = {"event": "a", "user_id": "1", "event_id": event_id}
    assert validate_name_and_identity(body).event_id.startswith("sha256:")
    assert validate_name_and_identity(body | {"event_id": "imported"}).event_id == "imported"


def test_row_id_survives_export_and_import():
    once = ImportMark(IMPORT_ID, "events", 3).claimed_id("a:b~1")
    assert row_id_of_import(once) == "a:b~1"
    assert ImportMark(IMPORT_ID, "events").claimed_id(once) == "imported:events:a:b~1"
