"""Filters, custom keys, repeats, conversions and trailing days as pure rules."""

from datetime import timedelta

import pytest

from service_core.analytics.event_rules.conversions import canonical_event_name
from service_core.analytics.event_rules.custom_properties import is_custom_property, json_type_name
from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.event_rules.order_deduplication import (
    CHARGE,
    REFUND,
    classify_as_charge_refund_or_no_payment,
    deduplicate_order_reports_within_7_days,
    provider_of_payment,
    repeated_order_reports_within_7_days,
)
from service_core.analytics.measures import FilterOperator
from service_core.analytics.query.evaluate_predicate import value_matches
from service_core.analytics.query.trailing_window import compute_trailing_span
from service_core.ingestion.event_names import is_system_event
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import EventBuilder, utc_instant


@pytest.mark.parametrize(
    ("value", "op", "operand", "met"),
    [
        ("10", FilterOperator.EQ, "10", True),
        ("10", FilterOperator.EQ, 10, True),
        ("10", FilterOperator.GT, 9, True),
        ("10", FilterOperator.GT, "9", False),
        (10, FilterOperator.EQ, "10", True),
        (1.5, FilterOperator.BETWEEN, (1, 2), True),
        (True, FilterOperator.EQ, True, True),
        (True, FilterOperator.EQ, "true", True),
        (True, FilterOperator.EQ, 1, False),
        ("x", FilterOperator.LT, 3, False),
        ("x", FilterOperator.NEQ, 3, True),
        ("1_0", FilterOperator.EQ, 10, False),
        ([1], FilterOperator.EQ, "[1]", False),
        ([1], FilterOperator.IS_SET, None, True),
        ("", FilterOperator.IS_SET, None, True),
        (None, FilterOperator.IS_NOT_SET, None, True),
        (None, FilterOperator.EQ, "", False),
        (None, FilterOperator.NEQ, "x", True),
        (None, FilterOperator.NOT_IN, ("x",), True),
        (None, FilterOperator.NOT_CONTAINS, "x", True),
        (None, FilterOperator.LTE, 5, False),
        ("Spring Sale", FilterOperator.CONTAINS, "SPRING", True),
        ("Spring Sale", FilterOperator.STARTS_WITH, "spring", True),
        ("Spring Sale", FilterOperator.ENDS_WITH, "sale", True),
        ("Spring Sale", FilterOperator.EQ, "spring sale", False),
        ("100%", FilterOperator.CONTAINS, "0_", False),
    ],
)
def test_filter_operations_match_values(value, op, operand, met):
    assert value_matches(value, op, operand) is met


@pytest.mark.parametrize(
    "key", ["utm_whatever", "gclid", "url", "referrer_name", "session_x", "revenue", "sdk_x"]
)
def test_reserved_properties_are_not_custom_keys(key):
    assert not is_custom_property(key)
    assert is_custom_property(f"my_{key}")


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
def test_json_value_has_one_type(value, name):
    assert json_type_name(value) == name


def test_synonymous_event_names_share_a_standard_name():
    assert (
        canonical_event_name("order_paid")
        == canonical_event_name("purchase")
        == canonical_event_name("order_completed")
    )
    assert canonical_event_name("webinar") == "webinar"


def test_synonyms_of_page_view_are_not_system_events():
    assert is_system_event("$identify")
    assert not is_system_event("$pageview")


def test_amount_is_classified_as_charge_refund_or_none():
    story = EventBuilder()
    for name, amount, kind in (
        ("purchase", 100, CHARGE),
        ("purchase", 0, CHARGE),
        ("subscription_renewed", 0, CHARGE),
        ("lead", 0, None),
        ("lead", 5, None),
        ("view_item", 500, None),
        ("ViewContent", 500, None),
        ("Product Viewed", 500, None),
        ("lead", -5, None),
        ("$identify", 5, None),
        ("donation", 5, CHARGE),
        ("donation", -5, REFUND),
        ("donation", 0, None),
        ("subscribe", 0, CHARGE),
        ("trial_started", 5, None),
        ("purchase", -5, REFUND),
        ("refund", 5, REFUND),
        ("refund", 0, None),
        ("begin_checkout", 5, None),
        ("purchase", None, None),
    ):
        event = story.add_event(name, at="2026-03-02", visitor="A1", revenue=amount)
        assert classify_as_charge_refund_or_no_payment(event, DEFAULT_CONVERSION_SET) == kind, (name, amount)


def test_provider_revenue_events_keep_their_name():
    story = EventBuilder()
    assert (
        provider_of_payment(story.add_event("purchase", at="2026-03-02", visitor="A1", source="web"))
        == "tracked"
    )
    assert (
        provider_of_payment(story.add_event("purchase", at="2026-03-02", visitor="A1", source="stripe"))
        == "stripe"
    )


def test_repeated_order_is_within_seven_days_of_the_previous_one():
    story = EventBuilder()
    for at in ("2026-03-01", "2026-03-07T23:59:59", "2026-03-10", "2026-03-17", "2026-03-18"):
        story.add_event("purchase", at=at, visitor="A1", order_id="O1")
    story.add_event("purchase", at="2026-03-18", visitor="A1")
    kept = deduplicate_order_reports_within_7_days(story.events, lambda event: event.order_id)
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
    span = TimeRange(utc_instant("2026-01-01"), utc_instant(last))
    assert compute_trailing_span(span, days, zone) == TimeRange(utc_instant(start), utc_instant(end))


def repeated_ids(*reports, match_keys_of=lambda _: frozenset()):
    """Which reports of one order repeat another one; each is given by its source and its distance from the first."""
    builder = EventBuilder()
    for source, distance in reports:
        at = utc_instant("2026-07-01T12:00") + distance
        builder.add_event("purchase", at=at, visitor="A1", source=source, order_id="O1", revenue=500)
    repeated = repeated_order_reports_within_7_days(
        builder.events, lambda event: frozenset({event.order_id}), match_keys_of
    )
    return [builder.events.index(event) for event in repeated]


def test_report_less_than_seven_days_after_one_of_its_reporter_repeats_it():
    week, moment = timedelta(days=7), timedelta(microseconds=1)
    assert repeated_ids(("api", week * 0), ("api", week - moment)) == [1]
    assert repeated_ids(("api", week * 0), ("api", week)) == []
    assert repeated_ids(("api", week * 0), ("api", week - moment), ("api", 2 * week - 2 * moment)) == [1, 2]


def test_reports_of_a_server_and_a_provider_repeat_each_other_only_by_the_keys_they_share():
    hour = timedelta(hours=1)
    reports = (("stripe", hour * 0), ("api", hour), ("stripe", 2 * hour))
    assert repeated_ids(*reports) == [2]
    assert repeated_ids(*reports, match_keys_of=lambda event: frozenset({event.order_id})) == [0, 2]
