"""Breakdowns of funnels, retention and lifetime value, and their filters, on the reference store."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.cohorts.operations import get_lifetime_value, get_retention
from service_core.analytics.cohorts.schemas import CohortQuery, RetentionQuery
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.operations import FunnelQuery, get_funnel
from service_core.analytics.measures import Relation
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant
from service_core.testing.memory.exchange_rates import converter_without_rates

MONDAY = utc_instant("2026-06-15T12:00")
QUERIES = MetricQueries(Catalog.from_validated_definitions((), CORE_DIMENSIONS), ())
RANGE = {"start_date": "2026-06-15", "end_date": "2026-07-05"}


@pytest.fixture
def story(caller):
    return EventBuilder(caller.workspace.id)


@pytest.fixture
def read_funnel(caller, queue, story):
    async def read_funnel(**parameters):
        store = MemoryEventStore()
        await store.append(story.events)
        return await get_funnel(
            parse_query_parameters_leniently(FunnelQuery, (RANGE | {"steps": "A,B"} | parameters).items()),
            caller=caller,
            funnel_reader=store,
            event_reader=store,
            freshness=EventFreshness(queue),
            queries=QUERIES,
        )

    return read_funnel


@pytest.fixture
def read_cohorts(caller, queue, story):
    async def read_cohorts(**parameters):
        store = MemoryEventStore()
        await store.append(story.events)
        pairs = (RANGE | {"granularity": "week"} | parameters).items()
        ports = {
            "caller": caller,
            "cohort_reader": store,
            "converter": converter_without_rates(store),
            "freshness": EventFreshness(queue),
            "queries": QUERIES,
        }
        retention = parse_query_parameters_leniently(RetentionQuery, pairs)
        return (
            await get_retention(retention, event_reader=store, **ports),
            await get_lifetime_value(parse_query_parameters_leniently(CohortQuery, pairs), **ports),
        )

    return read_cohorts


def add(story, name, day, person, **columns):
    story.add_event(
        name, at=MONDAY + timedelta(days=day), visitor=person, session=f"{person}{day}", **columns
    )


def add_buyers(story, country, entrants, buyers):
    for number in range(entrants):
        add(story, "A", 0, f"{country}{number}", country=country)
        if number < buyers:
            add(story, "B", 1, f"{country}{number}", country="XX")


async def test_funnel_is_broken_down_by_the_event_of_step_one(read_funnel, story):
    for country, entrants, buyers in (("DE", 4, 2), ("FR", 3, 3), ("IT", 2, 0), ("ES", 1, 1)):
        add_buyers(story, country, entrants, buyers)
    answer = await read_funnel(breakdown="country", top="2")
    assert answer.breakdown == "country"
    assert [(g.value, g.is_other, [s.count for s in g.steps]) for g in answer.groups] == [
        ("DE", False, [4, 2]), ("FR", False, [3, 3]), ("(other)", True, [3, 1]),
    ]  # fmt: skip
    assert answer.groups[0].overall_conversion_rate == Decimal("0.5")
    without = await read_funnel(breakdown="country", top="2", other="false")
    assert [group.value for group in without.groups] == ["DE", "FR"]


async def test_persons_who_start_in_two_groups_count_in_both_and_once_among_the_others(read_funnel, story):
    for day, country in enumerate(("DE", "DE", "FR", "IT", "ES")):
        add(story, "A", day, "P", country=country)
    add(story, "A", 0, "Q", country="DE")
    answer = await read_funnel(breakdown="country", top="1")
    assert [(g.value, g.steps[0].count) for g in answer.groups] == [("DE", 2), ("(other)", 1)]
    assert answer.steps[0].count == 2


async def test_answers_without_breakdown_have_no_groups(read_funnel, read_cohorts, story):
    add(story, "A", 0, "P")
    retention, worth = await read_cohorts()
    for answer in (await read_funnel(), retention, worth):
        assert (answer.breakdown, answer.groups) == (None, [])


async def test_absent_values_are_a_group_with_the_label_of_the_dimension(read_funnel, story):
    add(story, "A", 0, "P", referrer_host="x.test")
    add(story, "A", 0, "Q")
    answer = await read_funnel(breakdown="referrer_host")
    assert {group.value for group in answer.groups} == {"x.test", "(direct)"}
    plans = await read_funnel(breakdown="property:plan")
    assert [(g.value, g.steps[0].count) for g in plans.groups] == [("(not set)", 2)]


@pytest.mark.parametrize(
    ("dimension", "code"),
    [
        ("mood", "unknown_dimension"),
        ("platform", "incompatible_dimension"),
        ("new_vs_returning", "incompatible_dimension"),
        ("property:", "invalid_filter"),
    ],
)
async def test_invalid_breakdowns_are_refused(read_funnel, read_cohorts, story, dimension, code):
    for read in (read_funnel, read_cohorts):
        with pytest.raises(BadRequest) as refused:
            await read(breakdown=dimension)
        assert (refused.value.code, refused.value.field) == (code, "breakdown")
    with pytest.raises(BadRequest):
        await read_funnel(breakdown="first_touch_channel")


async def test_cohorts_are_broken_down_by_the_acquiring_event(read_cohorts, story):
    for person, country in (("P", "DE"), ("Q", "DE"), ("R", "FR"), ("S", "IT")):
        add(story, "page_view", 0, person, country=country)
    add(story, "purchase", 8, "P", revenue=6_000, order_id="o", country="US")
    retention, worth = await read_cohorts(breakdown="country", top="1")
    assert [(g.value, g.persons, g.is_other) for g in retention.groups] == [
        ("DE", 2, False), ("(other)", 2, True),
    ]  # fmt: skip
    assert [row.active_persons for row in retention.groups[0].rows] == [2, 1, 0]
    assert [a.retention_rate for a in retention.groups[0].averages][1] == Decimal("0.5")
    assert [row.cumulative_revenue_per_person for row in worth.groups[0].rows] == [0, 30, 30]
    assert {row.revenue for row in worth.groups[1].rows} == {0}


async def test_cohorts_are_broken_down_by_first_touch_and_property(read_cohorts, story):
    add(story, "page_view", 0, "P", event_data={"plan": "pro"}, **campaign_columns("google", "cpc", "spring"))
    add(story, "page_view", 2, "P", **campaign_columns("bing", "cpc", "autumn"))
    add(story, "page_view", 0, "Q", event_data={"plan": 3})
    for dimension, expected in (
        ("first_touch_channel", {"paid_search", "direct"}),
        ("first_touch_source", {"google", "(direct)"}),
        ("first_touch_campaign", {"spring", "(not set)"}),
        ("property:plan", {"pro", "3"}),
    ):
        retention, worth = await read_cohorts(breakdown=dimension)
        for answer in (retention, worth):
            assert {group.value: group.persons for group in answer.groups} == dict.fromkeys(expected, 1)


async def test_cohort_filters_apply_to_acquisition_first_touch_and_activity(read_cohorts, story):
    add(story, "page_view", 0, "P", page_path="/a", **campaign_columns("google", "cpc", "spring"))
    add(story, "page_view", 0, "Q", page_path="/a", event_data={"plan": "pro"})
    add(story, "page_view", 0, "R", page_path="/b")
    add(story, "page_view", 8, "P", page_path="/b")
    add(story, "page_view", 8, "Q", page_path="/a")

    async def sizes(*filters):
        retention, worth = await read_cohorts(filters=json.dumps(filters))
        assert [row.cohort_size for row in retention.rows] == [row.cohort_size for row in worth.rows]
        return {row.cohort_size for row in retention.rows}

    assert await sizes({"dimension": "page_path", "value": "/a"}) == {2}
    assert await sizes({"dimension": "property:plan", "value": "pro"}) == {1}
    assert await sizes({"dimension": "property:plan", "value": "(not set)"}) == {2}
    assert await sizes({"dimension": "first_touch_campaign", "value": "spring"}) == {1}
    assert await sizes({"dimension": "first_touch_source", "op": "neq", "value": "google"}) == {2}
    assert await sizes({"dimension": "page_path", "value": "/c"}) == set()
    returning = json.dumps([{"dimension": "page_path", "value": "/b"}])
    retention, _ = await read_cohorts(event_filters=returning)
    assert [row.active_persons for row in retention.rows] == [1, 1, 0]


@pytest.mark.parametrize("parameter", ["filters", "event_filters"])
@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("{", "invalid_filter"),
        ("{}", "invalid_filter"),
        ('[{"dimension": "mood", "value": 1}]', "unknown_dimension"),
        ('[{"dimension": "platform", "value": 1}]', "incompatible_dimension"),
    ],
)
async def test_invalid_cohort_filters_are_refused(read_cohorts, story, parameter, sent, code):
    with pytest.raises(BadRequest) as refused:
        await read_cohorts(**{parameter: sent})
    assert (refused.value.code, refused.value.field.partition("[")[0]) == (code, parameter)


OF_EVENTS = [
    each.id for each in CORE_DIMENSIONS if Relation.EVENTS in each.columns and each.id != "new_vs_returning"
]


@pytest.mark.parametrize("dimension", [*OF_EVENTS, "property:plan"])
async def test_every_dimension_of_events_filters_each_step_and_cohorts(
    read_funnel, read_cohorts, story, dimension
):
    for person, columns in (
        ("P", campaign_columns("google", "cpc", "spring")),
        ("Q", {"country": "DE", "event_data": {"plan": "pro"}}),
    ):
        add(story, "A", 0, person, **columns)
        add(story, "B", 1, person, **columns)

    def having(op):
        return [{"dimension": dimension, "op": op}]

    for step in (0, 1):
        filters = [[[], []], [[], []]]
        for chosen, op in zip(filters, ("is_set", "is_not_set"), strict=True):
            chosen[step] = having(op)
        answers = [await read_funnel(step_filters=json.dumps(each)) for each in filters]
        assert sum(answer.steps[step].count for answer in answers) == 2, step
    for parameter in ("filters", "event_filters"):
        sent = [json.dumps(having(op)) for op in ("is_set", "is_not_set")]
        answers = [(await read_cohorts(**{parameter: each}))[0] for each in sent]
        assert sum(answer.rows[0].active_persons for answer in answers if answer.rows) == 2, parameter
    funnel, (retention, worth) = (
        (await read_funnel(breakdown=dimension)),
        await read_cohorts(breakdown=dimension),
    )
    assert sum(group.steps[0].count for group in funnel.groups) == 2
    assert sum(group.persons for group in retention.groups) == 2
    assert [group.value for group in worth.groups] == [group.value for group in retention.groups]


ENTRANTS = st.lists(
    st.tuples(st.sampled_from("PQRST"), st.sampled_from(["DE", "FR", "IT", None]), st.integers(0, 9)),
    max_size=25,
)


@given(entrants=ENTRANTS, top=st.integers(1, 4))
async def test_every_group_equals_the_read_with_its_filter(read_funnel, read_cohorts, story, entrants, top):
    story.events.clear()
    for person, country, day in entrants:
        add(story, "AB"[day % 2], day, person, country=country)
    answer = await read_funnel(breakdown="country", top=str(top))
    listed = [group for group in answer.groups if not group.is_other]
    for group in listed:
        chosen = [[{"dimension": "country", "value": group.value}], []]
        alone = await read_funnel(step_filters=json.dumps(chosen))
        assert (alone.steps, alone.open) == (group.steps, group.open)
    rest = [{"dimension": "country", "op": "not_in", "value": [group.value for group in listed]}]
    if listed:
        others = await read_funnel(step_filters=json.dumps([rest, []]))
        assert [g.steps for g in answer.groups if g.is_other] == (
            [others.steps] if others.steps[0].count else []
        )
    retention, _ = await read_cohorts(breakdown="country", top=str(top))
    for group in retention.groups:
        if not group.is_other:
            chosen = json.dumps([{"dimension": "country", "value": group.value}])
            assert (await read_cohorts(filters=chosen))[0].rows == group.rows
