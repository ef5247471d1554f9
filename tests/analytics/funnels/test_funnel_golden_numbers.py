"""Golden numbers and invariants of funnels, on the reference store."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.operations import FunnelQuery, get_funnel
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.event_builder import EventBuilder, utc_instant

START = utc_instant("2026-06-01T12:00")
CATALOG = Catalog.from_validated_definitions((), CORE_DIMENSIONS)
JUNE = {"start_date": "2026-06-01", "end_date": "2026-06-30", "steps": "A,B,C"}


@pytest.fixture
def story(caller):
    return EventBuilder(caller.workspace.id)


@pytest.fixture
def read_funnel(caller, queue, story):
    async def read_funnel(**parameters):
        store = MemoryEventStore()
        await store.append(story.events)
        query = parse_query_parameters_leniently(FunnelQuery, (JUNE | parameters).items())
        return await get_funnel(
            query,
            caller=caller,
            funnel_reader=store,
            event_reader=store,
            freshness=EventFreshness(queue),
            queries=MetricQueries(CATALOG, ()),
        )

    return read_funnel


def add_events_from_text(story, text, person="P"):
    """``A1 B2``: A one day after the start, B two days after it."""
    for word in text.split():
        story.add_event(word[0], at=START + timedelta(days=int(word[1:])), visitor=person)


def step_counts(answer):
    return [step.count for step in answer.steps]


@pytest.mark.parametrize(
    ("happened", "reached"),
    [
        ("A1 B2 C3", [1, 1, 1]),
        ("A1 A2 C3", [1, 0, 0]),
        ("B1 A2 C3", [1, 0, 0]),
        ("A1 B16 A17 B18 C19", [1, 1, 1]),
        ("B1 C2", [0, 0, 0]),
    ],
)
async def test_funnel_counts_have_golden_values(read_funnel, story, happened, reached):
    add_events_from_text(story, happened)
    assert step_counts(await read_funnel()) == reached


async def test_deepest_attempt_of_a_person_counts_with_its_own_times(read_funnel, story):
    add_events_from_text(story, "A1 B16 A17 B18 C20")
    steps = (await read_funnel()).steps
    assert [s.median_seconds_from_previous for s in steps] == [None, 86_400, 2 * 86_400]


async def test_equal_steps_need_different_events(read_funnel, story):
    add_events_from_text(story, "A1 A2", "two")
    add_events_from_text(story, "A1", "one")
    assert step_counts(await read_funnel(steps="A,A")) == [2, 1]


async def test_simultaneous_events_are_ordered_by_arrival(read_funnel, story):
    add_events_from_text(story, "A1 B1")
    assert step_counts(await read_funnel(steps="A,B")) == [1, 1]
    assert step_counts(await read_funnel(steps="B,A")) == [1, 0]


async def test_later_steps_may_follow_after_the_end_of_the_range(read_funnel, story):
    add_events_from_text(story, "A28 B33 C34")
    add_events_from_text(story, "A35 B36 C36", "late")
    assert step_counts(await read_funnel()) == [1, 1, 1]


async def test_excluded_event_between_the_steps_removes_the_person(read_funnel, story):
    add_events_from_text(story, "A1 X2 B3")
    add_events_from_text(story, "X1 A2 B3", "before")
    assert step_counts(await read_funnel(exclude="X")) == [1, 1, 0]


async def test_strict_funnel_allows_nothing_between(read_funnel, story):
    add_events_from_text(story, "A1 X2 B3")
    assert step_counts(await read_funnel(steps="A,B")) == [1, 1]
    assert step_counts(await read_funnel(steps="A,B", order="strict")) == [1, 0]


async def test_unordered_funnel_counts_the_number_of_steps_reached(read_funnel, story):
    add_events_from_text(story, "C1 A2")
    assert step_counts(await read_funnel(order="any")) == [1, 1, 0]


async def test_open_count_is_persons_who_can_still_convert(read_funnel, story, caller):
    story.add_event("A", at=caller.now - timedelta(days=9), visitor="young")
    story.add_event("A", at=caller.now - timedelta(days=20), visitor="old")
    assert (await read_funnel(start_date="2026-06-01", end_date="2026-07-08")).open == 1


async def test_synonyms_of_page_view_are_one_step(read_funnel, story):
    story.add_event("$pageview", at=START, visitor="P")
    story.add_event("order_paid", at=START + timedelta(hours=1), visitor="P", revenue=100)
    assert step_counts(await read_funnel(steps="page_view,purchase")) == [1, 1]


async def test_filters_apply_to_the_event_of_step_1(read_funnel, story):
    story.add_event("A", at=START, visitor="P", country="DE")
    story.add_event("B", at=START + timedelta(hours=1), visitor="P", country="FR")
    assert step_counts(await read_funnel(steps="A,B", country="DE")) == [1, 1]
    assert step_counts(await read_funnel(steps="A,B", country="FR")) == [0, 0]
    story.add_event("A", at=START, visitor="Q")
    assert step_counts(await read_funnel(steps="A,B", country="(not set)")) == [1, 0]


async def test_steps_have_filters_of_pages_sessions_and_properties(read_funnel, story):
    for visitor, first, last, plan in (
        ("P", "/a", "/pricing", "pro"),
        ("Q", "/a", "/b", "pro"),
        ("R", "/b", "/pricing", 1),
    ):
        for hour, path in enumerate((first, last)):
            story.add_event(
                "page_view", at=START + timedelta(hours=hour), visitor=visitor, page_path=path, country="DE"
            )
        story.add_event("B", at=START + timedelta(hours=2), visitor=visitor, event_data={"plan": plan})
    steps = "page_view,page_view,B"
    assert step_counts(await read_funnel(steps=steps)) == [3, 3, 3]

    async def counts(*filters, **parameters):
        sent = json.dumps(filters)
        return step_counts(await read_funnel(steps=steps, step_filters=sent, **parameters))

    pricing = [{"dimension": "page_path", "value": "/pricing"}]
    pro = [{"dimension": "property:plan", "value": "pro"}]
    assert await counts([], pricing, []) == [3, 2, 2]
    assert await counts(None, pricing, pro) == [3, 2, 1]
    assert await counts([{"dimension": "page_path", "op": "neq", "value": "/b"}], pricing, pro) == [3, 1, 1]
    assert await counts([{"dimension": "exit_page", "value": "/b"}], [], pro) == [1, 1, 1]
    assert await counts([], pricing, [], order="strict") == [3, 2, 2]
    assert await counts(pricing, [], pro, order="any") == [3, 3, 1]
    assert await counts([], [], [{"dimension": "country", "value": "FR"}]) == [3, 3, 0]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("{", "invalid_filter"),
        ("[[]]", "invalid_filter"),
        ("[{}, []]", "invalid_filter"),
        ("[0, []]", "invalid_filter"),
        ("[false, []]", "invalid_filter"),
        ('["", []]', "invalid_filter"),
        ('[[{"value": 1}], []]', "invalid_filter"),
        ('[[{"dimension": "property:", "value": 1}], []]', "invalid_filter"),
        ('[[{"dimension": "mood", "value": 1}], []]', "unknown_dimension"),
        ('[[{"dimension": "platform", "value": 1}], []]', "incompatible_dimension"),
    ],
)
async def test_invalid_step_filters_are_refused(read_funnel, story, sent, code):
    with pytest.raises(BadRequest) as refused:
        await read_funnel(steps="A,B", step_filters=sent)
    assert (refused.value.code, refused.value.field.partition("[")[0]) == (code, "step_filters")


GENERATED_EVENTS = st.lists(
    st.tuples(st.sampled_from("PQR"), st.sampled_from("ABCX"), st.integers(0, 40)), max_size=25
)


@given(
    world=GENERATED_EVENTS,
    asked=st.fixed_dictionaries(
        {
            "order": st.sampled_from(["ordered", "strict", "any"]),
            "unit": st.sampled_from(["person", "session"]),
            "exclude": st.sampled_from(["", "X"]),
            "window_days": st.sampled_from(["1", "14", "90"]),
        }
    ),
)
async def test_counts_never_rise_by_step_and_persons_count_once(read_funnel, story, world, asked):
    story.events.clear()
    for person, name, day in world:
        story.add_event(name, at=START + timedelta(days=day), visitor=person)
    answer = await read_funnel(**asked)
    reached = step_counts(answer)
    assert reached == sorted(reached, reverse=True)
    assert answer.open <= reached[0] <= 3
    if asked["order"] != "any" and not asked["exclude"]:
        assert reached[0] == len({person for person, name, day in world if name == "A" and day < 30})
