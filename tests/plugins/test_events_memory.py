"""The memory store beyond the conformance kit: its URL, sorting and errors."""

from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.measures import Column, touch_column
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.errors import StartupError
from service_core.kernel.time_ranges import BucketUnit
from service_core.plugin import (
    AggregateQuery,
    Aggregation,
    ColumnSort,
    Predicate,
    Ratio,
    Relation,
    TouchPathQuery,
    count_distinct,
    count_rows,
)
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
VIEWS = count_rows(Relation.EVENTS, Predicate("event_name", value="page_view"))
CLICKS = count_rows(Relation.EVENTS, Predicate("event_name", value="click"))
BY_COUNTRY = ({"events": Column("country")},)


@pytest.fixture
def store():
    return MemoryEventStore()


@pytest.fixture
def story():
    result = EventBuilder()
    for country, name in (
        ("DE", "page_view"),
        ("DE", "page_view"),
        ("DE", "click"),
        ("FR", "page_view"),
        (None, "click"),
    ):
        result.add_event(name, at="2026-03-02", visitor="A1", country=country)
    return result


def test_memory_scheme_opens_the_memory_store():
    assert isinstance(
        collect_plugins_into_registry().open_adapter("events", "memory://", base_folder=Path()),
        MemoryEventStore,
    )


def test_memory_url_accepts_no_parameters():
    with pytest.raises(StartupError, match="threads"):
        collect_plugins_into_registry().open_adapter("events", "memory://?threads=2", base_folder=Path())


async def test_ratio_with_zero_denominator_sorts_last_in_either_direction(store, story):
    await store.append(story.events)
    rate = Ratio(CLICKS, VIEWS)
    for descending, countries in ((True, ["DE", "FR", None]), (False, ["FR", "DE", None])):
        order = (ColumnSort("m0", descending=descending),)
        grid = await store.aggregate(
            AggregateQuery(story.query_scope(SPAN), (rate,), BY_COUNTRY, order=order)
        )
        assert [row[0] for row in grid.rows] == countries
        assert [row[1:] for row in grid.rows if row[0] == "DE"] == [(1, 2)]


async def test_group_is_returned_when_any_aggregation_has_rows(store, story):
    await store.append(story.events)
    grid = await store.aggregate(AggregateQuery(story.query_scope(SPAN), (VIEWS,), BY_COUNTRY))
    assert grid.rows == [("DE", 2), ("FR", 1)]
    grid = await store.aggregate(
        AggregateQuery(story.query_scope(SPAN), (VIEWS, CLICKS), BY_COUNTRY, limit=1)
    )
    assert (grid.rows, grid.total_rows, grid.totals) == ([("DE", 2, 1)], 3, (3, 2))


async def test_dimension_is_null_for_a_relation_without_it(store, story):
    await store.append(story.events)
    plan = AggregateQuery(story.query_scope(SPAN), (VIEWS, count_rows(Relation.SESSIONS)), BY_COUNTRY)
    assert (await store.aggregate(plan)).rows == [("DE", 2, 0), ("FR", 1, 0), (None, 0, 1)]


async def test_text_is_ordered_by_code_point(store):
    story = EventBuilder()
    for path in ("/éclair", "/apple", "/Zebra", "/日本"):
        story.add_event("page_view", at="2026-03-02", visitor="A1", page_path=path)
    await store.append(story.events)
    grid = await store.aggregate(
        AggregateQuery(story.query_scope(SPAN), (VIEWS,), ({"events": Column("page_path")},))
    )
    assert [row[0] for row in grid.rows] == ["/Zebra", "/apple", "/éclair", "/日本"]


@pytest.mark.parametrize(
    ("relation", "column"),
    [
        (Relation.EVENTS, "nonsense_column"),
        (Relation.PAYMENTS, "page_path"),
        (Relation.SPEND, "spend"),
        (Relation.CREDITS, "credit"),
    ],
)
async def test_unknown_columns_and_relations_are_errors(store, story, relation, column):
    story.add_event("purchase", at="2026-03-02", visitor="A1", revenue=1)
    await store.append(story.events)
    with pytest.raises(ValueError, match="no "):
        await store.aggregate(
            AggregateQuery(story.query_scope(SPAN), (Aggregation(relation, Column(column), distinct=True),))
        )


async def test_trailing_count_includes_an_event_in_every_bucket_within_its_days(store):
    story = EventBuilder()
    for day, visitor in ((1, "A1"), (2, "A2"), (4, "A1")):
        story.add_event("x", at=f"2026-03-0{day}", visitor=visitor)
    await store.append(story.events)
    span = whole_utc_days("2026-03-01", "2026-03-04")
    active = Aggregation(Relation.EVENTS, Column("person"), distinct=True, trailing_days=2)
    buckets = buckets_covering(span, BucketUnit.DAY, ZoneInfo("UTC"))
    grid = await store.aggregate(AggregateQuery(story.query_scope(span), (active,), buckets=buckets))
    assert [row[1] for row in grid.rows] == [1, 2, 1, 1]


async def test_touch_paths_count_once_per_conversion_of_a_person(store):
    story = EventBuilder()
    for at in ("2026-03-02", "2026-03-09"):
        story.add_event("page_view", at=at, visitor="A1", session=at, **campaign_columns("google", "cpc"))
        story.add_event("signup", at=at, visitor="A1", session=at)
    await store.append(story.events)
    (path,) = await store.list_distinct_touch_paths_with_counts(
        TouchPathQuery(story.query_scope(SPAN), timedelta(days=30), (touch_column("channel"),))
    )
    assert (path.keys, path.converted, path.unconverted) == ((("paid_search",),), 2, 0)


async def test_distinct_counts_ignore_null(store, story):
    await store.append(story.events)
    grid = await store.aggregate(
        AggregateQuery(story.query_scope(SPAN), (count_distinct("country", Relation.EVENTS),))
    )
    assert grid.rows == [(2,)]
