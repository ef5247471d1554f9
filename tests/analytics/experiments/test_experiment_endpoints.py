"""`GET /experiments` and `GET /experiments/results` on the reference store."""

from datetime import timedelta
from decimal import Decimal

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.experiments.operations import get_experiment_results, list_experiments
from service_core.analytics.experiments.schemas import ExperimentQuery, ExposureQuery
from service_core.analytics.freshness import EventFreshness
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.event_builder import EventBuilder, utc_instant
from service_core.testing.memory.exchange_rates import converter_without_rates

START = utc_instant("2026-06-15T12:00")
RANGE = {"start_date": "2026-06-15", "end_date": "2026-07-05"}


@pytest.fixture
def story(caller):
    return EventBuilder(caller.workspace.id)


@pytest.fixture
def read_results(caller, queue, story):
    async def read_results(**parameters):
        store = MemoryEventStore()
        await store.append(story.events)
        pairs = (RANGE | {"experiment": "checkout"} | parameters).items()
        return await get_experiment_results(
            parse_query_parameters_leniently(ExperimentQuery, pairs),
            caller=caller,
            experiment_reader=store,
            converter=converter_without_rates(store),
            freshness=EventFreshness(queue),
        )

    return read_results


def expose(story, person, variant, day=0, experiment="checkout"):
    story.add_event(
        "experiment_viewed",
        at=START + timedelta(days=day),
        visitor=person,
        event_data={"experiment_id": experiment, "variant": variant},
    )


def buy(story, person, amount, day=1, **columns):
    columns = {"order_id": f"{person}{day}", "revenue": amount} | columns
    story.add_event("purchase", at=START + timedelta(days=day), visitor=person, **columns)


def add_groups(story, **sizes_and_buyers):
    for variant, (size, buyers) in sizes_and_buyers.items():
        for number in range(size):
            expose(story, f"{variant}{number}", variant)
            if number < buyers:
                buy(story, f"{variant}{number}", 10_000 + 100 * number)


async def test_variants_are_compared_with_the_control(read_results, story):
    add_groups(story, new=(60, 40), control=(60, 10))
    answer = await read_results()
    control, new = answer.variants
    assert [(v.variant, v.is_control, v.persons, v.converted) for v in answer.variants] == [
        ("control", True, 60, 10), ("new", False, 60, 40),
    ]  # fmt: skip
    assert (control.conversion_rate_difference, control.revenue_difference) == (None, None)
    assert new.conversion_rate == Decimal("0.666667")
    assert new.conversion_rate_low < new.conversion_rate < new.conversion_rate_high
    assert new.conversion_rate_difference.difference == Decimal("0.5")
    assert new.conversion_rate_difference.conclusion == "better"
    assert new.revenue == sum(100 + number for number in range(40))
    assert new.revenue_difference.conclusion == "better"
    assert new.revenue_difference.smallest_detectable_difference > 0
    assert (await read_results(control="new")).variants[1].conversion_rate_difference.conclusion == "worse"
    assert (await read_results(control="gone")).variants[0].conversion_rate_difference is None


async def test_no_difference_is_shown_without_evidence(read_results, story):
    add_groups(story, a=(40, 9), b=(40, 11))
    a, b = (await read_results()).variants
    assert (a.variant, a.is_control) == ("a", True)
    assert b.conversion_rate_difference.conclusion == "no_difference_shown"
    assert b.conversion_rate_difference.smallest_detectable_difference > abs(
        b.conversion_rate_difference.difference
    )


async def test_few_persons_have_no_interval_of_money_and_unknown_is_not_zero(read_results, story):
    add_groups(story, a=(3, 1), b=(3, 0))
    a, b = (await read_results()).variants
    assert (a.revenue, a.revenue_per_person_low, b.revenue) == (100, None, 0)
    assert (b.revenue_difference.low, b.revenue_difference.conclusion) == (None, None)
    buy(story, "a1", 500, currency="EUR")
    answer = await read_results()
    a, b = answer.variants
    assert (a.revenue, a.revenue_per_person, b.revenue_difference) == (None, None, None)
    assert "revenue" in {item.metric for item in answer.unavailable}


async def test_persons_of_two_variants_are_named_and_left_out(read_results, story):
    add_groups(story, a=(2, 0), b=(2, 0))
    expose(story, "a0", "b", day=2)
    answer = await read_results()
    assert [v.persons for v in answer.variants] == [1, 2]
    assert answer.excluded_persons == 1
    assert [(p.user_id, p.visitor_id) for p in answer.excluded] == [(None, "a0")]


async def test_goal_window_and_properties_can_be_chosen(read_results, story, caller):
    expose(story, "P", "a", day=20)
    story.add_event("signup", at=START + timedelta(days=21), visitor="P")
    answer = await read_results(goal="signup")
    assert [(v.converted, v.open) for v in answer.variants] == [(1, 1)]
    assert (await read_results(goal="signup", window_days="1")).variants[0].converted == 0
    assert (await read_results(goal="purchase")).variants[0].converted == 0
    assert (await read_results(experiment_property="variant", experiment="a")).variants[0].persons == 1
    assert (await read_results(exposure_event="seen")).variants == []
    with pytest.raises(BadRequest) as refused:
        await read_results(experiment="")
    assert refused.value.field == "experiment"


async def test_experiments_are_listed_by_persons(caller, queue, story):
    for person in "PQ":
        expose(story, person, "a")
    expose(story, "P", "a", experiment="banner")
    expose(story, "R", "a", experiment=None)
    store = MemoryEventStore()
    await store.append(story.events)
    answer = await list_experiments(
        parse_query_parameters_leniently(ExposureQuery, RANGE.items()),
        caller=caller,
        funnel_reader=store,
        freshness=EventFreshness(queue),
    )
    assert [(each.experiment, each.persons) for each in answer.experiments] == [
        ("checkout", 2), ("banner", 1),
    ]  # fmt: skip
