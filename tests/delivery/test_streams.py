"""Rows for files are the rows of the pages, whatever the store, however they are cut."""

from random import Random

import polars as pl
import pytest

from plugins.events_sql.reads import export_batches
from service_core.analytics.measures import FilterOperator, Predicate
from service_core.analytics.people.ports import PeoplePageQuery
from service_core.analytics.ports import EventPageQuery
from service_core.delivery.exports.export_rows import EVENT_COLUMNS
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.models import WIRE_COLUMNS
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.random_datasets import random_dataset


@pytest.fixture(params=["memory://", "duckdb:///events.db?timeout_seconds=300"])
async def store(request, tmp_path):
    opened = collect_plugins_into_registry().open_adapter("events", request.param, base_folder=tmp_path)
    if hasattr(opened, "start"):
        await opened.start()
    yield opened
    if hasattr(opened, "aclose"):
        await opened.aclose()


async def event_ids(store, scan, limit):
    return [
        found
        async for batch in store.stream_events_newest_first(scan, limit)
        for found in batch_frame(batch)["event_id"]
    ]


def batch_frame(batch):
    return pl.DataFrame(batch, strict=False)


async def test_stream_columns_match_the_wire_format(store):
    story = EventBuilder()
    story.add_event(
        "purchase",
        at="2026-03-02T01:02:03.456",
        visitor="A1",
        revenue=-5,
        external_ids={"crm": "ü"},
        event_data={"n": 1.10, "of": [None, {"a": '"\n'}]},
        bot_reasons=("a",),
    )
    await store.append(story.events)
    (batch,) = [
        batch
        async for batch in store.stream_events_newest_first(
            story.query_scope(whole_utc_days("2026-03-02", "2026-03-02")), 9
        )
    ]
    found = batch_frame(batch)
    assert tuple(found.columns) == WIRE_COLUMNS == tuple(column.name for column in EVENT_COLUMNS)
    row = found.row(0, named=True)
    assert row["revenue"] == -5
    assert row["timestamp"].isoformat().startswith("2026-03-02T01:02:03.456")
    assert pl.Series([row["external_ids"]]).str.json_decode(pl.Struct({"crm": pl.String}))[0] == {"crm": "ü"}
    assert '"a"' in row["bot_reasons"]
    assert (row["lyr"], row["is_test"]) == (None, False)


async def test_events_stream_in_page_order_for_any_slice_size(store, monkeypatch):
    draw = Random(5)
    for seed in range(12):
        monkeypatch.setattr(export_batches, "EVENTS_PER_BATCH", draw.randint(1, 20))
        result = random_dataset(Random(seed), 60)
        await store.append(result.builder.events)
        filters = (Predicate("country", FilterOperator.IS_SET),) if seed % 3 else ()
        scan = result.builder.query_scope(result.span, filters=filters, include_bots=bool(seed % 2))
        limit = draw.randint(1, 70)
        page = await store.list_events(EventPageQuery(scan, limit))
        assert await event_ids(store, scan, limit) == [event.event_id for event in page.events]


async def test_busy_hour_is_split_by_seconds_and_a_second_is_never_split(store, monkeypatch):
    monkeypatch.setattr(export_batches, "EVENTS_PER_BATCH", 3)
    story = EventBuilder()
    for second in (0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 40):
        story.add_event("x", at=f"2026-03-02T01:00:{second:02}", visitor="A1")
    story.add_event("x", at="2026-03-02T05:00", visitor="A1")
    await store.append(story.events)
    scan = story.query_scope(whole_utc_days("2026-03-02", "2026-03-02"))
    expected = [e.event_id for e in sorted(story.events, key=lambda e: (e.timestamp, e.seq), reverse=True)]
    assert await event_ids(store, scan, 100) == expected
    assert await event_ids(store, scan, 5) == expected[:5]


async def test_empty_range_streams_no_rows(store):
    story = EventBuilder()
    assert await event_ids(store, story.query_scope(whole_utc_days("2026-03-02", "2026-03-02")), 9) == []


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_persons_stream_in_page_order(store, monkeypatch, limit):
    monkeypatch.setattr(export_batches, "PERSONS_PER_BATCH", 2)
    result = random_dataset(Random(7), 80)
    await store.append(result.builder.events)
    plan = PeoplePageQuery(result.builder.query_scope(result.span), limit, 0, "last_seen")
    found = [person async for some in store.stream_persons_of_page(plan) for person in some]
    page, _ = await store.list_people_and_total(plan)
    assert found == page


async def test_closing_a_stream_early_frees_the_store(store):
    story = EventBuilder()
    story.add_event("x", at="2026-03-02", visitor="A1")
    await store.append(story.events)
    batches = store.stream_events_newest_first(
        story.query_scope(whole_utc_days("2026-03-02", "2026-03-02")), 9
    )
    await anext(batches)
    await batches.aclose()
    story.add_event("y", at="2026-03-02", visitor="A1")
    assert await store.append(story.events) == 1
