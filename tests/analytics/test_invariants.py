"""Invariants of funnels, cohorts, credits and refunds on random datasets, for both stores."""

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.ingestion.event_names import PAGE_VIEWS
from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import generated_examples, load_dataset_client

RULES = ("first_touch", "last_touch", "last_non_direct", "linear", "position_based", "time_decay")
DATA_DRIVEN_MODELS = ("markov", "shapley")
STEPS = ("page_view", "click", "purchase", "webinar", "signup", "$identify")


_REPORTERS = st.lists(
    st.sampled_from(["web", "stripe", "superwall", "shopify"]), min_size=1, max_size=4, unique=True
)
"""Who reports a charge or a refund, one after the other."""


def to_decimal(number):
    return Decimal(str(number))


def sum_of_measure(rows, measure):
    return sum((to_decimal(row[measure]) for row in rows), Decimal(0))


@generated_examples
@given(drawn=random_datasets(40), order=st.sampled_from(["ordered", "strict", "any"]))
async def test_funnel_counts_never_rise(served, drawn, order):
    asking = await load_dataset_client(served, drawn[0])
    steps = drawn[1].choices(STEPS, k=drawn[1].randint(2, 5))
    answer = await asking.over("/funnel", steps=",".join(steps), order=order)
    reached = [step["count"] for step in answer["steps"]]
    assert reached == sorted(reached, reverse=True)
    assert [step["dropped"] for step in answer["steps"][1:]] == [
        before - after for before, after in pairwise(reached)
    ]


@generated_examples
@given(drawn=random_datasets(40))
async def test_first_step_counts_distinct_persons_of_the_same_filter(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    answer = await asking.over("/funnel", steps="page_view,purchase", unit="session")
    entrants = {"dimension": "event_name", "op": "in", "value": sorted(PAGE_VIEWS)}
    sessions = await asking.query(metrics=["sessions"], filters=[entrants])
    assert answer["steps"][0]["count"] == sessions["totals"]["sessions"]
    persons = await asking.over("/funnel", steps="$identify,purchase")
    entrants = {"dimension": "event_name", "value": "$identify"}
    identified = await asking.query(metrics=["identified_users"], filters=[entrants])
    assert persons["steps"][0]["count"] == identified["totals"]["identified_users"]


@generated_examples
@given(drawn=random_datasets(40), granularity=st.sampled_from(["day", "week"]))
async def test_cohorts_contain_every_new_person_once_and_retention_never_rises(served, drawn, granularity):
    asking = await load_dataset_client(served, drawn[0])
    served.now += timedelta(days=60)
    rows = (await asking.over("/retention", granularity=granularity, mode="on_or_after"))["rows"]
    sizes = {row["cohort_start"]: row["cohort_size"] for row in rows}
    persons = (await asking.over("/users", limit=1000))["users"]
    first, last = (datetime.fromisoformat(asking.dates[name]) for name in ("start_date", "end_date"))
    assert sum(sizes.values()) == sum(
        first <= datetime.fromisoformat(p["first_seen"]) <= last for p in persons
    )
    for cohort, size in sizes.items():
        active = [row["active_persons"] for row in rows if row["cohort_start"] == cohort]
        assert active == sorted(active, reverse=True)
        assert active[0] == size
    on = (await asking.over("/retention", granularity=granularity))["rows"]
    assert [row["active_persons"] for row in on if row["period"] == 0] == list(sizes.values())
    assert all(
        here["active_persons"] <= later["active_persons"] for here, later in zip(on, rows, strict=True)
    )


@generated_examples
@given(drawn=random_datasets(40), granularity=st.sampled_from(["day", "week"]))
async def test_lifetime_value_changes_only_by_the_revenue_of_the_period(served, drawn, granularity):
    asking = await load_dataset_client(served, drawn[0])
    served.now += timedelta(days=60)
    rows = (await asking.over("/ltv", granularity=granularity))["rows"]
    for cohort in {row["cohort_start"] for row in rows}:
        of_one = [row for row in rows if row["cohort_start"] == cohort]
        total = Decimal(0)
        for row in of_one:
            if row["cumulative_revenue"] is None:
                assert any(other["revenue"] is None for other in of_one)
                break
            total += to_decimal(row["revenue"])
            assert to_decimal(row["cumulative_revenue"]) == total


@generated_examples
@given(
    drawn=random_datasets(60),
    model=st.sampled_from(RULES + DATA_DRIVEN_MODELS),
    group=st.sampled_from(["campaign", "source", "lyr"]),
    refunds=st.sampled_from(["refund", "order"]),
)
async def test_credits_add_up_to_conversions_and_money_to_the_last_cent(served, drawn, model, group, refunds):
    asking = await load_dataset_client(served, drawn[0])
    status, answer = await asking.attribution(model=model, group_by=group, limit=500, refund_basis=refunds)
    if status == 422:
        assert model in DATA_DRIVEN_MODELS
        assert answer["code"] == "insufficient_data"
        return
    for rows in (answer["campaigns"], answer["channels"]):
        for measure in ("conversions", "revenue", "net_revenue"):
            if answer["totals"][measure] is not None:
                whole = sum_of_measure([*rows, answer["unattributed"]], measure)
                assert whole == to_decimal(answer["totals"][measure]), measure
    values = await asking.values("conversions", "revenue", "net_revenue", refund_basis=refunds)
    assert {name: answer["totals"][name] for name in values} == values
    attributed = await asking.post(
        "/metrics",
        {"metrics": ["attributed_conversions"], "date_range": asking.range, "attribution": {"model": model}},
    )
    credited = to_decimal(attributed["metrics"][0]["value"])
    assert credited + to_decimal(answer["unattributed"]["conversions"]) == to_decimal(values["conversions"])


@generated_examples
@given(
    amounts=st.lists(st.integers(1, 10**9), min_size=1, max_size=6),
    model=st.sampled_from(RULES),
    currency=st.sampled_from(["USD", "JPY", "KWD"]),
    charged=_REPORTERS,
    refunded=_REPORTERS,
)
async def test_full_refunds_net_to_zero_for_every_source(served, amounts, model, currency, charged, refunded):
    shop = await served.workspace(currency=currency)
    for number, amount in enumerate(amounts):
        order = {"visitor": f"V{number % 2}", "order_id": str(number), "currency": currency}
        shop.story.add_event("page_view", at="2026-07-01T10:00", visitor=order["visitor"])
        for source in charged:
            shop.story.add_event("purchase", at="2026-07-02T10:00", revenue=amount, source=source, **order)
        for source in refunded:
            shop.story.add_event("refund", at="2026-07-03T10:00", revenue=-amount, source=source, **order)
    await shop.knows()
    week = {"from": "2026-07-01", "to": "2026-07-07"}
    request = {"metrics": ["net_revenue", "attributed_net_revenue", "revenue", "refunds"], "date_range": week}
    answer = await shop.post("/metrics", request | {"attribution": {"model": model}})
    net, attributed, revenue, refunds = (value["value"] for value in answer["metrics"])
    assert (net, attributed) == (0, 0)
    assert (
        revenue
        == refunds
        == pytest.approx(float(sum(amounts)) / {"USD": 100, "JPY": 1, "KWD": 1000}[currency])
    )
