"""`GET /attribution` with credits worked out by hand."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.testing.event_builder import (
    campaign_columns,
    referral_columns,
    reported_touch_columns,
    utc_instant,
)
from tests.analytics.attribution.journeys import (
    DATA_DRIVEN_MODELS,
    RULES,
    add_four_touches_and_purchase,
    add_page_view,
    add_purchase,
    credit_by_key,
    facebook_touch,
    google_touch,
)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("first_touch", {"paid_search": (1, 100)}),
        ("last_touch", {"direct": (1, 100)}),
        ("last_non_direct", {"paid_social": (1, 100)}),
        ("linear", {"paid_search": (0.5, 50), "paid_social": (0.5, 50)}),
        ("position_based", {"paid_search": (0.5, 50), "paid_social": (0.5, 50)}),
    ],
)
async def test_each_model_credits_its_touches(get_attribution_report, event_builder, model, expected):
    add_four_touches_and_purchase(event_builder)
    assert credit_by_key((await get_attribution_report(model=model)).channels) == expected


async def test_time_decay_splits_money_to_the_last_cent(get_attribution_report, event_builder):
    for n, day in enumerate(("2026-06-20", "2026-06-27", "2026-07-03")):
        add_page_view(event_builder, day, "A", **campaign_columns(f"source{n}", "cpc"))
    add_page_view(event_builder, "2026-07-04", "A", **campaign_columns("source3", "cpc"))
    add_purchase(event_builder, "2026-07-04", "A", 10_000)
    rows = (await get_attribution_report(model="time_decay", group_by="source")).campaigns
    assert {r.attribution_source: (r.conversions, r.revenue) for r in rows if r.revenue} == {
        "source0": (Decimal("0.094136"), Decimal("9.41")),
        "source1": (Decimal("0.188273"), Decimal("18.83")),
        "source2": (Decimal("0.341046"), Decimal("34.11")),
        "source3": (Decimal("0.376545"), Decimal("37.65")),
    }


async def test_conversion_without_a_touch_in_the_window_is_unattributed(
    get_attribution_report, event_builder
):
    add_page_view(event_builder, "2026-06-25", "A", **google_touch())
    add_purchase(event_builder, "2026-07-04", "A", 5_000)
    answer = await get_attribution_report(window_days="5")
    assert (answer.unattributed.conversions, answer.unattributed.revenue) == (1, 50)
    assert credit_by_key(answer.channels) == {}
    assert answer.attribution.model_dump() == {"model": "last_non_direct", "window_days": 5}


async def test_rows_without_campaign_mark_source_and_medium_as_inferred(
    get_attribution_report, event_builder
):
    add_page_view(event_builder, "2026-07-01", "A")
    add_page_view(event_builder, "2026-07-01", "B", **referral_columns("google", "organic", "organic_search"))
    add_page_view(event_builder, "2026-07-01", "C", **google_touch())
    rows = (await get_attribution_report()).campaigns
    assert {(r.utm_source, r.utm_medium, r.utm_campaign) for r in rows} == {
        ("(direct)", "(none)", "(not set)"), ("google", "organic", "(not set)"), ("google", "cpc", "spring"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("group_by", "fields"),
    [
        ("source", {"attribution_source"}), ("medium", {"attribution_medium"}), ("term", {"utm_term"}),
        ("content", {"utm_content"}), ("channel", {"channel"}), ("lyr", {"lyr"}),
        ("campaign", {"utm_source", "utm_medium", "utm_campaign"}),
    ],
)  # fmt: skip
async def test_rows_have_only_the_columns_of_the_grouping(
    get_attribution_report, event_builder, group_by, fields
):
    add_four_touches_and_purchase(event_builder)
    measures = {
        "visitors",
        "sessions",
        "conversions",
        "revenue",
        "net_revenue",
        "conversion_rate",
        "revenue_per_visitor",
    }
    row = (await get_attribution_report(group_by=group_by)).campaigns[0]
    assert row.model_dump().keys() == measures | fields


async def test_conversion_rate_divides_by_the_visitors_of_the_row(get_attribution_report, event_builder):
    for visitor in "ABC":
        add_page_view(event_builder, "2026-07-01", visitor, **google_touch())
    add_purchase(event_builder, "2026-07-02", "A", 1_000)
    row = (await get_attribution_report()).campaigns[0]
    assert (row.visitors, row.sessions, row.conversions) == (3, 3, 1)
    assert (row.conversion_rate, row.revenue_per_visitor) == (Decimal("0.333333"), Decimal("3.33"))


async def test_refund_is_credited_like_its_order_on_the_refund_day_or_the_order_day(
    get_attribution_report, event_builder
):
    add_page_view(event_builder, "2026-07-01", "A", **google_touch())
    add_purchase(event_builder, "2026-07-02", "A", 9_000, order_id="o1")
    add_purchase(event_builder, "2026-07-09T12:00", "A", -3_000, name="refund", order_id="o1")
    by_day, by_order = await get_attribution_report(), await get_attribution_report(refund_basis="order")
    assert [(r.channel, r.revenue, r.net_revenue) for r in by_day.channels if r.revenue] == [
        ("paid_search", 90, 90)
    ]
    assert [(r.channel, r.revenue, r.net_revenue) for r in by_order.channels if r.revenue] == [
        ("paid_search", 90, 60)
    ]
    later = await get_attribution_report(start_date="2026-07-09", end_date="2026-07-09")
    assert [(r.channel, r.conversions, r.net_revenue) for r in later.channels if r.net_revenue] == [
        ("paid_search", 0, -30)
    ]


async def test_foreign_currency_makes_revenue_null(get_attribution_report, event_builder):
    add_page_view(event_builder, "2026-07-01", "A", **google_touch())
    add_purchase(event_builder, "2026-07-02", "A", 9_000)
    add_purchase(event_builder, "2026-07-02T01:00", "A", 5_000, currency="EUR")
    answer = await get_attribution_report()
    assert (answer.totals.conversions, answer.totals.revenue, answer.totals.net_revenue) == (2, None, None)
    assert (answer.campaigns[0].conversions, answer.campaigns[0].revenue_per_visitor) == (2, None)


async def test_foreign_currency_refund_makes_only_net_revenue_null(get_attribution_report, event_builder):
    add_page_view(event_builder, "2026-07-01", "A", **google_touch())
    add_purchase(event_builder, "2026-07-02", "A", 9_000, order_id="1")
    add_purchase(event_builder, "2026-07-03", "A", -1_000, name="refund", order_id="1", currency="EUR")
    answer = await get_attribution_report()
    for earned in (answer.totals, answer.campaigns[0], answer.channels[0]):
        assert (earned.conversions, earned.revenue, earned.net_revenue) == (1, 90, None)
    assert answer.unattributed.net_revenue == 0


async def test_conversion_event_can_be_named_in_the_request(get_attribution_report, event_builder):
    add_page_view(event_builder, "2026-07-01", "A", **google_touch())
    add_purchase(event_builder, "2026-07-02", "A", 9_000)
    event_builder.add_event("demo_booked", at="2026-07-03", visitor="A")
    answer = await get_attribution_report(conversion_event="demo_booked")
    assert (answer.totals.conversions, answer.totals.revenue) == (1, 0)
    assert (await get_attribution_report(event_name="order_paid")).totals.revenue == 90


async def test_credit_by_touch_date_is_booked_on_the_day_of_the_touch(get_attribution_report, event_builder):
    add_page_view(event_builder, "2026-07-01T12:00", "A", **google_touch())
    add_purchase(event_builder, "2026-07-06", "A", 9_000)
    first_days = {"start_date": "2026-07-01", "end_date": "2026-07-02"}
    assert (await get_attribution_report(**first_days)).totals.conversions == 0
    by_touch = await get_attribution_report(**first_days, basis="touch")
    assert (by_touch.totals.conversions, by_touch.basis) == (1, "touch")
    assert not by_touch.complete
    assert (await get_attribution_report(**first_days, basis="touch", window_days="1")).complete


async def test_credit_by_touch_date_is_final_when_the_window_has_passed(get_attribution_report, caller):
    last = caller.now - timedelta(days=7)
    for end, settled in ((last - timedelta(milliseconds=1), True), (last, False)):
        span = {"start_date": "2026-06-30", "end_date": end.isoformat(timespec="milliseconds")}
        assert (await get_attribution_report(**span, basis="touch", window_days="7")).complete is settled


async def test_rows_are_sorted_by_revenue_and_cut_to_the_limit(get_attribution_report, event_builder):
    for n, revenue in enumerate((1_000, 3_000, 2_000)):
        add_page_view(event_builder, "2026-07-01", f"V{n}", **google_touch(f"c{n}"))
        add_purchase(event_builder, "2026-07-02", f"V{n}", revenue)
    answer = await get_attribution_report(limit="2")
    assert ([r.utm_campaign for r in answer.campaigns], answer.truncated) == (["c1", "c2"], True)
    whole = await get_attribution_report()
    assert ([r.utm_campaign for r in whole.campaigns][:3], whole.truncated) == (["c1", "c2", "c0"], False)


@pytest.mark.parametrize("model", ["last_touch", "shapley"])
async def test_rows_of_equal_revenue_are_ordered_by_conversions_then_visitors_then_name(
    get_attribution_report, event_builder, model
):
    came_and_bought = {"a": (4, 1), "b": (2, 2), "c": (3, 2), "y": (1, 0), "x": (1, 0)}
    for name, (came, bought) in came_and_bought.items():
        for n in range(came):
            add_page_view(event_builder, "2026-07-01", f"{name}{n}", **google_touch(name))
            if n < bought:
                add_purchase(event_builder, "2026-07-02", f"{name}{n}", 0)
    rows = (await get_attribution_report(model=model, floor=1)).campaigns
    assert [row.utm_campaign for row in rows if row.utm_source == "google"] == ["c", "b", "a", "x", "y"]


async def test_unknown_model_is_refused(get_attribution_report):
    with pytest.raises(BadRequest) as refused:
        await get_attribution_report(model="best")
    assert (refused.value.code, refused.value.field) == ("invalid_attribution", "model")


async def test_range_without_data_returns_empty_rows(get_attribution_report):
    answer = await get_attribution_report()
    assert (answer.campaigns, answer.channels, answer.truncated) == ([], [], False)
    assert answer.totals.model_dump() == {
        "visitors": 0,
        "sessions": 0,
        "conversions": 0,
        "revenue": 0,
        "net_revenue": 0,
    }


CAMPAIGNS = st.sampled_from(
    [
        None,
        google_touch(),
        google_touch("autumn"),
        facebook_touch(),
        campaign_columns("mail", "email", channel="email"),
    ]
)
GENERATED_EVENTS = st.lists(
    st.tuples(
        st.sampled_from("ABCD"),
        st.integers(0, 14 * 24),
        st.one_of(
            st.tuples(st.just("visit"), CAMPAIGNS),
            st.tuples(st.just("signup"), st.none()),
            st.tuples(st.just("order"), st.integers(0, 99_999)),
            st.tuples(st.just("refund"), st.integers(1, 9_999)),
        ),
    ),
    max_size=16,
)


def add_generated_events(event_builder, happenings):
    for n, (visitor, hour, (kind, value)) in enumerate(happenings):
        at = utc_instant("2026-06-25") + timedelta(hours=hour)
        if kind == "visit":
            add_page_view(event_builder, at, visitor, **(value or {}))
        elif kind == "signup":
            event_builder.add_event("signup", at=at, visitor=visitor, session=f"x{n}")
        else:
            sign = 1 if kind == "order" else -1
            name = "purchase" if kind == "order" else "refund"
            add_purchase(
                event_builder, at, visitor, sign * value, name=name, order_id=f"o{value % 3}{visitor}"
            )


QUESTIONS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(RULES + DATA_DRIVEN_MODELS),
        "group_by": st.sampled_from(["campaign", "source", "channel", "lyr"]),
        "basis": st.sampled_from(["conversion", "touch"]),
        "refund_basis": st.sampled_from(["refund", "order"]),
    }
).filter(lambda asked: asked["model"] in RULES or asked["basis"] == "conversion")


@given(happenings=GENERATED_EVENTS, asked=QUESTIONS)
async def test_rows_and_unattributed_add_up_to_the_totals(
    get_attribution_report, event_builder, happenings, asked
):
    event_builder.events.clear()
    add_generated_events(event_builder, happenings)
    try:
        answer = await get_attribution_report(1, **asked, limit="500")
    except Unprocessable:
        assert asked["model"] in DATA_DRIVEN_MODELS
        return
    for rows in (answer.campaigns, answer.channels):
        for measure in ("conversions", "revenue", "net_revenue"):
            parts = sum(getattr(row, measure) for row in rows)
            assert parts + getattr(answer.unattributed, measure) == getattr(answer.totals, measure)
    if asked["basis"] == "conversion":
        assert answer.totals.conversions == int(answer.totals.conversions)


async def test_every_attribution_model_has_the_same_totals(get_attribution_report, event_builder):
    add_four_touches_and_purchase(event_builder)
    add_purchase(event_builder, "2026-07-05", "B", 700)
    answers = [await get_attribution_report(model=model) for model in RULES]
    assert len({(a.totals.model_dump_json(), a.unattributed.model_dump_json()) for a in answers}) == 1


@pytest.mark.parametrize("model", RULES)
async def test_visitors_and_sessions_of_a_row_are_those_of_its_visits_under_every_model(
    get_attribution_report, event_builder, model
):
    add_four_touches_and_purchase(event_builder)
    rows = (await get_attribution_report(model=model, group_by="channel", window_days="30")).channels
    found = {row.channel: (row.visitors, row.sessions) for row in rows if row.sessions}
    assert found == {"paid_social": (1, 1), "direct": (1, 3)}


async def test_reported_touch_is_credited_for_a_person_without_visits(get_attribution_report, event_builder):
    result = reported_touch_columns("first", "2026-06-20", "bing", "cpc", "paid_search")
    result |= reported_touch_columns("last", "2026-07-02", "news", "email", "email")
    add_purchase(event_builder, "2026-07-04", "A", 10_000, reported_touches=result)
    add_page_view(event_builder, "2026-07-05", "A", **google_touch())
    add_purchase(event_builder, "2026-07-06", "A", 5_000)
    add_purchase(
        event_builder,
        "2026-07-06",
        "B",
        700,
        reported_touches=reported_touch_columns("last", "2026-05-01", "old", "cpc", "paid_search"),
    )
    answer = await get_attribution_report(model="linear", group_by="channel", window_days="30")
    assert credit_by_key(answer.channels) == {
        "paid_search": (Decimal("1.5"), 100),
        "email": (Decimal("0.5"), 50),
    }
    assert (answer.unattributed.conversions, answer.unattributed.revenue) == (1, 7)
