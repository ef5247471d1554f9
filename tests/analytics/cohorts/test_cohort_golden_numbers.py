"""Golden numbers and invariants of retention and LTV, on the reference store."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.cohorts.operations import get_lifetime_value, get_retention
from service_core.analytics.cohorts.schemas import CohortQuery, RetentionQuery
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant
from service_core.testing.memory.exchange_rates import converter_without_rates

MONDAY = utc_instant("2026-06-15T12:00")
RANGE = {"start_date": "2026-06-15", "end_date": "2026-07-05", "granularity": "week"}


@pytest.fixture
def story(caller):
    return EventBuilder(caller.workspace.id)


@pytest.fixture
def read_cohorts(caller, queue, story):
    async def read_cohorts(**parameters):
        store = MemoryEventStore()
        await store.append(story.events)
        pairs = (RANGE | parameters).items()
        return (
            await get_retention(
                parse_query_parameters_leniently(RetentionQuery, pairs),
                caller=caller,
                event_reader=store,
                cohort_reader=store,
                converter=converter_without_rates(store),
                freshness=EventFreshness(queue),
                queries=MetricQueries(Catalog(), ()),
            ),
            await get_lifetime_value(
                parse_query_parameters_leniently(CohortQuery, pairs),
                caller=caller,
                cohort_reader=store,
                converter=converter_without_rates(store),
                freshness=EventFreshness(queue),
                queries=MetricQueries(Catalog(), ()),
            ),
        )

    return read_cohorts


def add_event_of_person(story, person, day, name="page_view", **columns):
    story.add_event(name, at=MONDAY + timedelta(days=day), visitor=person, session=f"d{day}", **columns)


def active_counts(answer):
    return [(row.cohort_start, row.period, row.active_persons) for row in answer.rows]


async def test_person_belongs_to_the_week_of_the_first_event_ever(story, read_cohorts):
    add_event_of_person(story, "old", -20)
    add_event_of_person(story, "old", 1)
    add_event_of_person(story, "new", 1)
    add_event_of_person(story, "new", 8)
    retention, _ = await read_cohorts()
    week = date(2026, 6, 15)
    assert active_counts(retention) == [(week, 0, 1), (week, 1, 1), (week, 2, 0)]
    assert retention.rows[0].cohort_size == 1


async def test_person_may_be_acquired_by_the_first_conversion_ever(story, read_cohorts):
    add_event_of_person(story, "P", -20)
    add_event_of_person(story, "P", 8, "purchase", revenue=1_000)
    retention, _ = await read_cohorts(cohort_by="first_conversion")
    assert active_counts(retention) == [(date(2026, 6, 22), 0, 1), (date(2026, 6, 22), 1, 0)]


async def test_two_devices_of_one_person_count_once(story, read_cohorts):
    add_event_of_person(story, "phone", 0, strong_id="U1", anonymous_id="phone")
    add_event_of_person(story, "laptop", 8, strong_id="U1", anonymous_id="laptop")
    retention, _ = await read_cohorts()
    assert [row.cohort_size for row in retention.rows] == [1, 1, 1]
    assert [row.active_persons for row in retention.rows] == [1, 1, 0]


async def test_net_revenue_counts_in_the_period_of_the_payment(story, read_cohorts):
    add_event_of_person(story, "P", 0, "purchase", revenue=10_000, order_id="o1")
    add_event_of_person(story, "P", 8, "refund", revenue=-4_000, order_id="o1")
    add_event_of_person(story, "Q", 0)
    _, worth = await read_cohorts()
    assert [(r.revenue, r.cumulative_revenue, r.cumulative_revenue_per_person) for r in worth.rows] == [
        (100, 100, 50), (-40, 60, 30), (0, 60, 30),
    ]  # fmt: skip


async def test_filters_apply_to_the_first_touch(story, read_cohorts):
    add_event_of_person(story, "P", 0, **campaign_columns("google", "cpc", "spring"))
    add_event_of_person(story, "Q", 0)
    for request in ({"utm_source": "google"}, {"utm_campaign": "spring"}, {"channel": "paid_search"}):
        retention, _ = await read_cohorts(**request)
        assert {row.cohort_size for row in retention.rows} == {1}
    assert (await read_cohorts(utm_source="gogle"))[0].rows == []
    assert {row.cohort_size for row in (await read_cohorts(utm_source="(not set)"))[0].rows} == {1}


async def test_activity_can_be_limited_to_one_event_name(story, read_cohorts):
    add_event_of_person(story, "P", 0)
    add_event_of_person(story, "P", 8)
    add_event_of_person(story, "P", 15, "order_paid", revenue=100)
    retention, _ = await read_cohorts(event_name="purchase")
    assert [row.active_persons for row in retention.rows] == [0, 0, 1]


GENERATED_EVENTS = st.lists(
    st.tuples(st.sampled_from("PQRST"), st.integers(-10, 22), st.none() | st.integers(-5_000, 5_000)),
    max_size=20,
)


@given(happenings=GENERATED_EVENTS, cohort_by=st.sampled_from(["first_seen", "first_conversion"]))
async def test_cohort_sizes_rates_and_revenue_are_consistent(story, read_cohorts, happenings, cohort_by):
    story.events.clear()
    for person, day, amount in happenings:
        add_event_of_person(story, person, day, "page_view" if amount is None else "purchase", revenue=amount)
    exact, worth = await read_cohorts(cohort_by=cohort_by)
    late, _ = await read_cohorts(cohort_by=cohort_by, mode="on_or_after")
    for on, later, money in zip(exact.rows, late.rows, worth.rows, strict=True):
        if on.period == 0:
            assert on.active_persons == later.active_persons == on.cohort_size
            so_far, before = Decimal(0), on.cohort_size
        assert on.active_persons <= later.active_persons <= before
        so_far += money.revenue
        assert (money.revenue, money.cumulative_revenue) == (on.revenue, so_far)
        before = later.active_persons
    if cohort_by == "first_seen":
        first = {person: day for person, day, _ in sorted(happenings, key=lambda h: -h[1])}
        new = sum(0 <= day < 21 for day in first.values())
        assert sum(row.cohort_size for row in exact.rows if row.period == 0) == new
