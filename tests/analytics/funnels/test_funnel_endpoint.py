"""`GET /funnel` over results of a stub store."""

from datetime import timedelta
from decimal import Decimal

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.operations import FunnelQuery, get_funnel
from service_core.analytics.funnels.ports import FunnelOrder, FunnelResult, FunnelStep
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from tests.fixtures.stub_event_stores import FixedFunnelReader


def funnel_reader(*counts, open_=0):
    steps = [FunnelStep(n, 95.5 if i else None, 410.25 if i else None) for i, n in enumerate(counts)]
    return FixedFunnelReader(FunnelResult(steps, open_))


async def get_funnel_of_table(caller, queue, table, *parameters):
    return await get_funnel(
        parse_query_parameters_leniently(FunnelQuery, parameters),
        caller=caller,
        funnel_reader=table,
        event_reader=MemoryEventStore(),
        freshness=EventFreshness(queue),
        queries=MetricQueries(Catalog(), ()),
    )


ABC = ("steps", "view_item,add_to_cart,purchase")


async def test_rates_are_relative_to_the_first_and_the_previous_step(caller, queue):
    answer = await get_funnel_of_table(caller, queue, funnel_reader(1000, 240, 60, open_=85), ABC)
    assert [(s.step, s.event_name, s.count, s.dropped) for s in answer.steps] == [
        (1, "view_item", 1000, 0), (2, "add_to_cart", 240, 760), (3, "purchase", 60, 180),
    ]  # fmt: skip
    assert [s.conversion_rate for s in answer.steps] == [1, Decimal("0.24"), Decimal("0.06")]
    assert [s.step_conversion_rate for s in answer.steps] == [1, Decimal("0.24"), Decimal("0.25")]
    assert [s.median_seconds_from_previous for s in answer.steps] == [None, Decimal("95.5"), Decimal("95.5")]
    assert (answer.overall_conversion_rate, answer.open) == (Decimal("0.06"), 85)


async def test_rates_are_null_without_entrants(caller, queue):
    answer = await get_funnel_of_table(caller, queue, funnel_reader(0, 0, 0), ABC)
    assert {s.conversion_rate for s in answer.steps} | {s.step_conversion_rate for s in answer.steps} == {
        None
    }
    assert answer.overall_conversion_rate is None


@pytest.mark.parametrize(
    "sent",
    [[("steps", "a,b , c")], [("steps", "a"), ("steps", "b"), ("steps", "c")], [("steps", '["a","b","c"]')]],
    ids=["comma list", "repeats", "JSON array"],
)
async def test_steps_are_accepted_in_three_formats(caller, queue, sent):
    answer = await get_funnel_of_table(caller, queue, funnel_reader(3, 2, 1), *sent)
    assert [s.event_name for s in answer.steps] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "sent",
    [
        [], [("steps", "")], [("steps", "a")], [("steps", "a,b,c,d,e,f")], [("steps", "a,,b")],
        [("steps", '["a","b"')], [("steps", '["a",1]')], [("steps", "[]")], [("steps", '[["a","b"]]')],
        [("steps", "[" * 5000)],
    ],
)  # fmt: skip
async def test_fewer_than_two_or_more_than_five_steps_are_refused(caller, queue, sent):
    with pytest.raises(BadRequest, match=r"^steps must contain 2 to 5 event names$") as refused:
        await get_funnel_of_table(caller, queue, funnel_reader(1, 1), *sent)
    assert refused.value.code == "invalid_steps"


async def test_synonymous_event_names_are_one_step(caller, queue):
    table = funnel_reader(2, 1)
    answer = await get_funnel_of_table(
        caller, queue, table, ("steps", "page_view,order_paid"), ("exclude", "begin_checkout")
    )
    assert table.plan.steps == (
        frozenset({"pageview", "page_view", "$pageview"}),
        frozenset({"purchase", "order_completed", "order_paid"}),
    )
    assert table.plan.exclude == {"checkout_started", "begin_checkout", "initiate_checkout"}
    assert [s.event_name for s in answer.steps] == ["page_view", "order_paid"]


async def test_all_parameters_are_passed_to_the_store(caller, queue):
    table = funnel_reader(2, 1)
    answer = await get_funnel_of_table(
        caller, queue, table, ("steps", "a,b"), ("window_days", "400"), ("order", "any"), ("unit", "session"),
        ("utm_source", "google"), ("device_type", "mobile"), ("include_bots", "1"),
    )  # fmt: skip
    plan = table.plan
    assert (plan.window, plan.order, plan.by_session) == (timedelta(days=90), FunnelOrder.ANY, True)
    assert [(p.column.name, p.value) for p in plan.scope.filters] == [
        ("utm_source", "google"),
        ("device_type", "mobile"),
    ]
    assert plan.scope.include_bots
    assert plan.now == caller.now
    assert (answer.window_days, answer.order, answer.unit) == (90, "any", "session")


async def test_default_range_is_the_last_thirty_local_days(caller, queue):
    answer = await get_funnel_of_table(caller, queue, funnel_reader(1, 1), ("steps", "a,b"))
    assert answer.range.from_.isoformat() == "2026-06-09T04:00:00+00:00"
    assert (answer.range.partial, answer.timezone) == (True, "America/New_York")


async def test_one_date_without_the_other_is_refused(caller, queue):
    with pytest.raises(BadRequest, match=r"^start_date and end_date required"):
        await get_funnel_of_table(caller, queue, funnel_reader(1, 1), ABC, ("start_date", "2026-07-01"))


@pytest.mark.parametrize(
    ("name", "value"), [("order", "random"), ("unit", "visitor"), ("include_bots", "perhaps")]
)
async def test_value_that_is_not_listed_is_refused(caller, queue, name, value):
    with pytest.raises(BadRequest) as refused:
        await get_funnel_of_table(caller, queue, funnel_reader(1, 1, 1), ABC, (name, value))
    assert (refused.value.code, refused.value.field) == ("invalid_parameter", name)
