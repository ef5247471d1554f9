"""`GET /retention` and `GET /ltv` over results of a stub store."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.cohorts.operations import get_lifetime_value, get_retention
from service_core.analytics.cohorts.ports import CohortActivity, CohortResult
from service_core.analytics.cohorts.schemas import CohortQuery, RetentionQuery
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.memory.exchange_rates import converter_without_rates
from tests.fixtures.stub_event_stores import FixedCohortReader


def cohort_reader(sizes=None, cells=()):
    return FixedCohortReader(CohortResult(sizes or {}, list(cells)))


def cohort_cell(cohort, bucket, active, returned=None, revenue=0, **more):
    return CohortActivity(cohort, bucket, active, active if returned is None else returned, revenue, **more)


JUNE = {"start_date": "2026-06-15", "end_date": "2026-07-05", "granularity": "week"}
"""Cohorts of June 15, 22 and 29; today is Wednesday, July 8."""


async def get_retention_of_table(caller, queue, table, **parameters):
    query = parse_query_parameters_leniently(RetentionQuery, (JUNE | parameters).items())
    return await get_retention(
        query,
        caller=caller,
        cohort_reader=table,
        event_reader=MemoryEventStore(),
        converter=converter_without_rates(table),
        freshness=EventFreshness(queue),
        queries=MetricQueries(Catalog(), ()),
    )


async def get_lifetime_value_of_table(caller, queue, table, **parameters):
    query = parse_query_parameters_leniently(CohortQuery, (JUNE | parameters).items())
    return await get_lifetime_value(
        query,
        caller=caller,
        cohort_reader=table,
        converter=converter_without_rates(table),
        freshness=EventFreshness(queue),
        queries=MetricQueries(Catalog(), ()),
    )


GOLDEN = cohort_reader(
    {0: 100, 1: 50, 2: 10},
    [
        cohort_cell(0, 0, 100),
        cohort_cell(0, 1, 40),
        cohort_cell(0, 2, 5),
        cohort_cell(1, 1, 50),
        cohort_cell(2, 2, 10),
    ],
)


async def test_averages_include_only_cohorts_that_have_reached_the_period(caller, queue):
    answer = await get_retention_of_table(caller, queue, GOLDEN)
    assert [(a.period, a.retention_rate, a.cohorts) for a in answer.averages] == [
        (0, 1, 3), (1, Decimal("0.266667"), 2), (2, Decimal("0.05"), 1),
    ]  # fmt: skip


async def test_rows_cover_only_periods_that_have_ended(caller, queue):
    answer = await get_retention_of_table(caller, queue, GOLDEN)
    assert [(row.cohort_start, row.period) for row in answer.rows] == [
        (date(2026, 6, 15), 0), (date(2026, 6, 15), 1), (date(2026, 6, 15), 2),
        (date(2026, 6, 22), 0), (date(2026, 6, 22), 1),
        (date(2026, 6, 29), 0),
    ]  # fmt: skip
    assert not any(row.partial for row in answer.rows)


async def test_period_ending_now_counts_as_ended(caller, queue):
    ends = datetime(2026, 7, 13, 4, tzinfo=UTC)
    for now, shown in ((ends - timedelta.resolution, 1), (ends, 2)):
        answer = await get_retention_of_table(replace(caller, now=now), queue, GOLDEN)
        assert sum(row.cohort_start == date(2026, 6, 29) for row in answer.rows) == shown


async def test_current_period_is_included_on_request_and_excluded_from_averages(caller, queue):
    answer = await get_retention_of_table(caller, queue, GOLDEN, include_partial="true")
    running = [(row.cohort_start, row.period, row.period_start) for row in answer.rows if row.partial]
    assert running == [
        (date(2026, 6, 15), 3, date(2026, 7, 6)),
        (date(2026, 6, 22), 2, date(2026, 7, 6)),
        (date(2026, 6, 29), 1, date(2026, 7, 6)),
    ]
    assert answer.averages == (await get_retention_of_table(caller, queue, GOLDEN)).averages


async def test_default_range_is_the_last_twelve_full_weeks(caller, queue):
    table = cohort_reader()
    answer = await get_retention(
        parse_query_parameters_leniently(RetentionQuery, []),
        caller=caller,
        event_reader=MemoryEventStore(),
        cohort_reader=table,
        converter=converter_without_rates(table),
        freshness=EventFreshness(queue),
        queries=MetricQueries(Catalog(), ()),
    )
    assert answer.range.from_.isoformat() == "2026-04-13T04:00:00+00:00"
    assert (answer.range.to + timedelta(milliseconds=1)).isoformat() == "2026-07-06T04:00:00+00:00"
    assert answer.granularity == "week"
    assert len(table.plan.acquisition.starts) == 12


@pytest.mark.parametrize(
    ("last", "size"),
    [("2026-01-31", "day"), ("2026-02-01", "week"), ("2026-07-01", "week"), ("2026-07-02", "month")],
)
async def test_default_cohort_size_depends_on_the_length_of_the_range(caller, queue, last, size):
    query = parse_query_parameters_leniently(
        RetentionQuery, [("start_date", "2026-01-01"), ("end_date", last)]
    )
    assert (
        await get_retention(
            query,
            caller=caller,
            event_reader=MemoryEventStore(),
            cohort_reader=cohort_reader(),
            converter=converter_without_rates(cohort_reader()),
            freshness=EventFreshness(queue),
            queries=MetricQueries(Catalog(), ()),
        )
    ).granularity == size


@pytest.mark.parametrize(("granularity", "most"), [("day", 31), ("week", 52), ("month", 24)])
async def test_number_of_periods_is_clamped_by_the_cohort_size(caller, queue, granularity, most):
    dates = {"start_date": "2020-01-01", "end_date": "2020-01-01", "periods": "999"}
    answer = await get_retention_of_table(
        caller, queue, cohort_reader({0: 1}, [cohort_cell(0, 0, 1)]), **dates, granularity=granularity
    )
    assert max(row.period for row in answer.rows) == most


async def test_one_date_without_the_other_is_refused(caller, queue):
    with pytest.raises(BadRequest, match=r"^start_date and end_date required \(ISO 8601\)$") as refused:
        await get_retention_of_table(caller, queue, cohort_reader(), end_date="")
    assert refused.value.code is None


async def test_unbounded_retention_counts_returns_in_the_period_or_later(caller, queue):
    table = cohort_reader({0: 9}, [cohort_cell(0, 0, 9, 9), cohort_cell(0, 2, 3, 4), cohort_cell(0, 3, 1, 1)])
    answer = await get_retention_of_table(caller, queue, table, mode="on_or_after")
    assert [row.active_persons for row in answer.rows] == [9, 4, 4]
    assert [row.active_persons for row in (await get_retention_of_table(caller, queue, table)).rows] == [
        9,
        0,
        3,
    ]


async def test_activity_is_read_up_to_now_only_for_unbounded_retention(caller, queue):
    table = cohort_reader()
    await get_retention_of_table(caller, queue, table, periods="0")
    assert len(table.plan.activity.starts) == 3
    await get_retention_of_table(caller, queue, table, periods="0", mode="on_or_after")
    assert len(table.plan.activity.starts) == 4


@pytest.mark.parametrize(
    ("start", "end", "cohorts"),
    [("1900-01-01", "2199-12-31", 80), ("1900-01-01", "1901-12-31", 1), ("2150-01-01", "2199-12-31", 1)],
)
async def test_future_cohorts_are_not_queried(caller, queue, start, end, cohorts):
    table = cohort_reader()
    answer = await get_retention_of_table(
        caller, queue, table, start_date=start, end_date=end, granularity="month"
    )
    assert (len(table.plan.acquisition.starts), answer.rows) == (cohorts, [])
    assert answer.range.from_.year == int(start[:4])


async def test_first_touch_filter_and_event_are_passed_to_the_store(caller, queue):
    table = cohort_reader()
    await get_retention_of_table(
        caller, queue, table, utm_source="google", country="DE", event_name="page_view"
    )
    assert [(p.column.name, p.value) for p in table.plan.first_touch_filters] == [
        ("utm_source", "google"),
        ("country", "DE"),
    ]
    assert table.plan.event_names == {"pageview", "page_view", "$pageview"}


async def test_lifetime_value_is_over_all_persons_of_the_cohort(caller, queue):
    table = cohort_reader(
        {0: 120}, [cohort_cell(0, 0, 120, revenue=60000), cohort_cell(0, 1, 44, revenue=31000)]
    )
    first, second, third = (await get_lifetime_value_of_table(caller, queue, table)).rows
    assert (first.revenue, first.cumulative_revenue, first.cumulative_revenue_per_person) == (600, 600, 5)
    assert (second.revenue, second.cumulative_revenue) == (310, 910)
    assert second.cumulative_revenue_per_person == Decimal("7.58")
    assert (third.revenue, third.cumulative_revenue) == (0, 910)


async def test_foreign_currency_makes_cumulative_revenue_null_from_that_period(caller, queue):
    table = cohort_reader(
        {0: 1}, [cohort_cell(0, 0, 1, revenue=500), cohort_cell(0, 1, 1, revenue=0, foreign_money=True)]
    )
    rows = (await get_lifetime_value_of_table(caller, queue, table)).rows
    assert [row.cumulative_revenue for row in rows] == [5, None, None]


async def test_workspace_without_persons_has_no_rows(caller, queue):
    answer = await get_retention_of_table(caller, queue, cohort_reader())
    assert (answer.rows, answer.averages, answer.complete) == ([], [], True)


async def test_response_is_incomplete_while_events_are_queued(caller, queue):
    queue.oldest = caller.now - timedelta(days=10)
    assert not (await get_retention_of_table(caller, queue, cohort_reader())).complete


@st.composite
def generated_cohort_tables(draw):
    """Tables over four weekly buckets in which `returned` is what it says."""
    sizes = draw(st.dictionaries(st.integers(0, 2), st.integers(0, 50), max_size=3))
    found = []
    for cohort, size in sizes.items():
        later = 0
        for bucket in reversed(range(cohort, 4)):
            active = size if bucket == cohort else draw(st.integers(0, size))
            later = max(active, draw(st.integers(later, size)) if active else later)
            if active:
                found.append(cohort_cell(cohort, bucket, active, later, draw(st.integers(-500, 500))))
    return cohort_reader(sizes, found)


@given(table=generated_cohort_tables())
async def test_unbounded_retention_never_rises_and_lifetime_value_follows_its_periods(table, caller, queue):
    rows = (await get_retention_of_table(caller, queue, table, mode="on_or_after")).rows
    exact = (await get_retention_of_table(caller, queue, table)).rows
    assert all(late.active_persons >= on.active_persons for late, on in zip(rows, exact, strict=True))
    for before, after in pairwise(rows):
        if before.cohort_start == after.cohort_start:
            assert after.active_persons <= before.active_persons
    assert all(row.active_persons == row.cohort_size for row in exact if row.period == 0)
    so_far = Decimal(0)
    for row in (await get_lifetime_value_of_table(caller, queue, table)).rows:
        so_far = row.revenue + (so_far if row.period else 0)
        assert row.cumulative_revenue == so_far
