"""`GET /attribution` by the models that need data: which questions they refuse, and what they credit."""

from decimal import Decimal

import pytest

from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.testing.event_builder import campaign_columns
from tests.analytics.attribution.journeys import (
    DATA_DRIVEN_MODELS,
    add_four_touches_and_purchase,
    add_page_view,
    add_purchase,
    credit_by_key,
)


@pytest.mark.parametrize("model", DATA_DRIVEN_MODELS)
async def test_data_driven_model_without_enough_conversions_is_refused(
    get_attribution_report, event_builder, model
):
    add_four_touches_and_purchase(event_builder)
    with pytest.raises(Unprocessable) as refused:
        await get_attribution_report(model=model)
    assert refused.value.code == "insufficient_data"


@pytest.mark.parametrize("model", DATA_DRIVEN_MODELS)
async def test_data_driven_model_cannot_credit_by_touch_date(get_attribution_report, model):
    with pytest.raises(BadRequest) as refused:
        await get_attribution_report(model=model, basis="touch")
    assert refused.value.field == "basis"


def add_three_paths(event_builder):
    """Paths of channels A (2 convert, 1 does not), B (1 converts) and A, B (1 converts)."""
    for visitor, channels, converts in (
        ("V1", "A", True), ("V2", "A", True), ("V3", "A", False), ("V4", "B", True), ("V5", "AB", True),
    ):  # fmt: skip
        for hour, channel in enumerate(channels):
            add_page_view(
                event_builder,
                f"2026-07-01T{hour:02}:00",
                visitor,
                **campaign_columns(channel, "cpc", channel=channel),
            )
        if converts:
            add_purchase(event_builder, "2026-07-02", visitor, 1_000)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("markov", {"A": (Decimal("2.4"), 24), "B": (Decimal("1.6"), 16)}),
        ("shapley", {"A": (2.5, 25), "B": (1.5, 15)}),
    ],
)
async def test_data_driven_models_split_conversions_and_revenue(
    get_attribution_report, event_builder, model, expected
):
    add_three_paths(event_builder)
    answer = await get_attribution_report(model=model, floor=1)
    assert credit_by_key(answer.channels) == expected
    assert [(row.channel, row.visitors) for row in answer.channels] == [("A", 4), ("B", 2), ("direct", 4)]
    assert credit_by_key(answer.campaigns, "utm_source") == expected


@pytest.mark.parametrize("model", DATA_DRIVEN_MODELS)
async def test_groups_of_a_data_driven_model_are_cut_to_the_limit_and_channels_are_not(
    get_attribution_report, event_builder, model
):
    add_three_paths(event_builder)
    answer = await get_attribution_report(model=model, floor=1, limit="1")
    assert ([row.utm_source for row in answer.campaigns], answer.truncated) == (["A"], True)
    assert [row.channel for row in answer.channels] == ["A", "B", "direct"]
    whole = await get_attribution_report(model=model, floor=1)
    assert ([row.utm_source for row in whole.campaigns][:2], whole.truncated) == (["A", "B"], False)


@pytest.mark.parametrize(
    ("model", "a", "b"), [("shapley", (1, 1000, 900), (1, 1, 1)), ("markov", (1, Decimal("500.5"), Decimal("450.5")), (1, Decimal("500.5"), Decimal("450.5")))]
)  # fmt: skip
async def test_shapley_credits_the_money_of_each_path_and_markov_a_share_of_all_money(
    get_attribution_report, event_builder, model, a, b
):
    for visitor, channel, revenue in (("V1", "A", 100_000), ("V2", "B", 100)):
        add_page_view(
            event_builder, "2026-07-01", visitor, **campaign_columns(channel, "cpc", channel=channel)
        )
        add_purchase(event_builder, "2026-07-02", visitor, revenue, order_id=visitor)
    add_purchase(event_builder, "2026-07-03", "till", -10_000, name="refund", order_id="V1")
    add_page_view(event_builder, "2026-07-01", "V3", **campaign_columns("B", "cpc", channel="B"))
    add_page_view(event_builder, "2026-07-01", "V4", **campaign_columns("A", "cpc", channel="A"))
    answer = await get_attribution_report(model=model, floor=1)
    rows = {row.channel: (row.conversions, row.revenue, row.net_revenue) for row in answer.channels}
    assert (rows["A"], rows["B"]) == (a, b)
    assert (answer.totals.revenue, answer.totals.net_revenue) == (1_001, 901)
