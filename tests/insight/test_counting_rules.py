"""Filters, custom keys, repeats, conversions and trailing days as pure rules."""

import pytest

from service_core.insight.conversions import is_system, standard
from service_core.insight.custom_keys import is_custom, json_type
from service_core.insight.measures import Op
from service_core.insight.orders import CHARGE, REFUND, each_order_once, movement, provider
from service_core.insight.predicates import meets
from service_core.insight.trailing import trailing
from service_core.kernel.ranges import Span
from service_core.testing.story import Story, instant


@pytest.mark.parametrize(
    ("value", "op", "operand", "met"),
    [
        ("10", Op.EQ, "10", True),
        ("10", Op.EQ, 10, True),
        ("10", Op.GT, 9, True),
        ("10", Op.GT, "9", False),
        (10, Op.EQ, "10", True),
        (1.5, Op.BETWEEN, (1, 2), True),
        (True, Op.EQ, True, True),
        (True, Op.EQ, "true", True),
        (True, Op.EQ, 1, False),
        ("x", Op.LT, 3, False),
        ("x", Op.NEQ, 3, True),
        ("1_0", Op.EQ, 10, False),
        ([1], Op.EQ, "[1]", False),
        ([1], Op.IS_SET, None, True),
        ("", Op.IS_SET, None, True),
        (None, Op.IS_NOT_SET, None, True),
        (None, Op.EQ, "", False),
        (None, Op.NEQ, "x", True),
        (None, Op.NOT_IN, ("x",), True),
        (None, Op.NOT_CONTAINS, "x", True),
        (None, Op.LTE, 5, False),
        ("Spring Sale", Op.CONTAINS, "SPRING", True),
        ("Spring Sale", Op.STARTS_WITH, "spring", True),
        ("Spring Sale", Op.ENDS_WITH, "sale", True),
        ("Spring Sale", Op.EQ, "spring sale", False),
        ("100%", Op.CONTAINS, "0_", False),
    ],
)
def test_a_value_meets_an_operation(value, op, operand, met):
    assert meets(value, op, operand) is met


@pytest.mark.parametrize(
    "key", ["utm_whatever", "gclid", "url", "referrer_name", "session_x", "revenue", "sdk_x"]
)
def test_what_the_service_reads_itself_is_no_custom_key(key):
    assert not is_custom(key)
    assert is_custom(f"my_{key}")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("x", "string"),
        (1, "number"),
        (1.5, "number"),
        (True, "boolean"),
        ({}, "object"),
        ([], "array"),
        (None, "null"),
    ],
)
def test_a_json_value_has_one_type(value, name):
    assert json_type(value) == name


def test_names_that_count_as_one_share_a_standard_name():
    assert standard("order_paid") == standard("purchase") == standard("order_completed")
    assert standard("webinar") == "webinar"


def test_a_page_view_is_no_system_event_however_it_is_spelt():
    assert is_system("$identify")
    assert not is_system("$pageview")


def test_an_amount_is_a_charge_a_refund_or_nothing():
    story = Story()
    for name, amount, kind in (
        ("purchase", 100, CHARGE),
        ("purchase", 0, CHARGE),
        ("subscription_renewed", 0, CHARGE),
        ("lead", 0, None),
        ("lead", 5, CHARGE),
        ("purchase", -5, REFUND),
        ("refund", 5, REFUND),
        ("refund", 0, None),
        ("begin_checkout", 5, None),
        ("purchase", None, None),
    ):
        event = story.happens(name, at="2026-03-02", visitor="A1", revenue=amount)
        assert movement(event) == kind, (name, amount)


def test_money_of_a_provider_keeps_its_name():
    story = Story()
    assert provider(story.happens("purchase", at="2026-03-02", visitor="A1", source="web")) == "tracked"
    assert provider(story.happens("purchase", at="2026-03-02", visitor="A1", source="stripe")) == "stripe"


def test_a_repeat_is_less_than_seven_days_after_the_one_before():
    story = Story()
    for at in ("2026-03-01", "2026-03-07T23:59:59", "2026-03-10", "2026-03-17", "2026-03-18"):
        story.happens("purchase", at=at, visitor="A1", order_id="O1")
    story.happens("purchase", at="2026-03-18", visitor="A1")
    kept = each_order_once(story.events, lambda event: event.order_id)
    assert [story.events.index(event) for event in kept] == [0, 3, 5]


@pytest.mark.parametrize(
    ("zone", "last", "days", "start", "end"),
    [
        ("America/New_York", "2026-03-09T00:00", 1, "2026-03-08T05:00", "2026-03-09T04:00"),
        ("America/New_York", "2026-03-08T05:00", 1, "2026-03-07T05:00", "2026-03-08T05:00"),
        ("Africa/Cairo", "2026-04-24T12:00", 1, "2026-04-23T22:00", "2026-04-24T21:00"),
        ("Australia/Lord_Howe", "2026-04-05T10:00", 2, "2026-04-03T13:00", "2026-04-05T13:30"),
        ("UTC", "2026-03-09", 7, "2026-03-02", "2026-03-09"),
    ],
)
def test_trailing_days_are_whole_local_days(zone, last, days, start, end):
    span = Span(instant("2026-01-01"), instant(last))
    assert trailing(span, days, zone) == Span(instant(start), instant(end))
