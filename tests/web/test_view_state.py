"""The state of a page in its address: what is read is what its links lead to."""

from datetime import UTC, date, datetime
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict

from hosts.web.range_bar import RangeBar
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import RANGE_LABELS, ViewFilter, read_view_state
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.kernel.date_presets import PRESET_NAMES

NOW = datetime(2026, 3, 12, 3, 0, tzinfo=UTC)
ZONE = ZoneInfo("America/New_York")
TODAY = date(2026, 3, 11)


def read(query="", page_parameters=()):
    arguments = MultiDict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    return read_view_state(arguments, ZONE, NOW, page_parameters)


def test_address_without_parameters_shows_the_last_30_local_days_and_the_period_before():
    state = read()
    assert (state.first_day, state.last_day) == (date(2026, 2, 10), TODAY)
    assert state.query_body_parts() == {
        "date_range": {"preset": "last_30_days"},
        "filters": [],
        "compare": "previous_period",
    }
    assert state.date_parameters() == {"start_date": "2026-02-10", "end_date": "2026-03-11"}
    assert state.query_string == "?"


@pytest.mark.parametrize(
    "query",
    [
        "range=nonsense", "from=2026-03-05&to=2026-03-01", "from=yesterday&to=2026-03-01", "from=2026-03-01",
        "compare=all", "interval=second", "f=country", "f=:is:x", "f=Country:is:x", "f=country:like:x",
        "f=country:is:", "filter_dimension=country&filter_kind=is&filter_value=+", "from=0001-01-01&to=9999-12-31",
    ],
)  # fmt: skip
def test_invalid_parameters_count_as_absent(query):
    assert read(query) == read()


def test_every_preset_of_the_api_is_read_and_its_menu_entry_marked():
    assert set(RANGE_LABELS) <= set(PRESET_NAMES)
    for preset in RANGE_LABELS:
        bar = RangeBar(read(f"range={preset}"), "/w/x", {})
        assert [one.label for one in bar.ranges if one.current] == [RANGE_LABELS[preset]]


def test_dates_win_over_a_preset_and_are_sent_as_dates():
    state = read("range=today&from=2026-02-01&to=2026-02-28")
    assert state.query_body_parts()["date_range"] == {"from": "2026-02-01", "to": "2026-02-28"}
    assert state.label == "1 to 28 Feb 2026"


@pytest.mark.parametrize(
    ("query", "before", "after"),
    [
        ("range=today", ("2026-03-10", "2026-03-10"), None),
        ("range=yesterday", ("2026-03-09", "2026-03-09"), ("2026-03-11", "2026-03-11")),
        ("range=last_7_days", ("2026-02-26", "2026-03-04"), None),
        ("range=this_week", ("2026-03-02", "2026-03-08"), None),
        ("range=last_week", ("2026-02-23", "2026-03-01"), ("2026-03-09", "2026-03-11")),
        ("range=this_month", ("2026-02-01", "2026-02-28"), None),
        ("range=last_month", ("2026-01-01", "2026-01-31"), ("2026-03-01", "2026-03-11")),
        ("range=last_quarter", ("2025-07-01", "2025-09-30"), ("2026-01-01", "2026-03-11")),
        ("range=this_year", ("2025-01-01", "2025-12-31"), None),
        ("from=2026-02-01&to=2026-02-28", ("2026-01-01", "2026-01-31"), ("2026-03-01", "2026-03-11")),
        ("from=2026-02-03&to=2026-02-05", ("2026-01-31", "2026-02-02"), ("2026-02-06", "2026-02-08")),
        ("range=all_time", None, None),
        ("from=2020-01-01&to=2020-01-31", None, ("2020-02-01", "2020-02-29")),
    ],
)
def test_arrows_lead_to_the_period_before_and_after_but_not_ahead_of_today(query, before, after):
    state = read(query)
    for neighbour, days in ((state.previous, before), (state.next, after)):
        assert (neighbour and (neighbour.first_day.isoformat(), neighbour.last_day.isoformat())) == days


def test_filters_of_one_dimension_and_kind_are_alternatives():
    state = read(
        "f=country:is:DE&f=country:is:FR&f=page_path:contains:/a:b&f=page_path:contains:/c&f=os:is_not:iOS"
    )
    assert state.query_body_parts()["filters"] == [
        {"dimension": "country", "op": "in", "value": ["DE", "FR"]},
        {"dimension": "page_path", "op": "contains", "value": "/a:b"},
        {"dimension": "page_path", "op": "contains", "value": "/c"},
        {"dimension": "os", "op": "neq", "value": "iOS"},
    ]


def test_form_of_a_new_filter_adds_it_and_a_click_replaces_one_of_the_same_dimension():
    state = read("f=os:is:iOS&filter_dimension=country&filter_kind=is_not&filter_value=DE&filter_value=FR")
    assert state.filters == (ViewFilter("os", "is", ("iOS",)), ViewFilter("country", "is_not", ("DE", "FR")))
    assert state.with_filter("os", "Linux").filters[-1] == ViewFilter("os", "is", ("Linux",))
    assert state.without_filter(0).filters == state.filters[1:]


def test_at_most_as_many_filters_as_the_api_takes_are_read():
    assert len(read("&".join(f"f=os:contains:{n}" for n in range(30))).filters) == MAX_FILTERS


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


@given(
    st.sampled_from([f"range={preset}" for preset in RANGE_LABELS] + ["from=2026-01-05&to=2026-02-07"]),
    st.sampled_from(["none", "previous", "year"]),
    st.lists(st.tuples(st.sampled_from(["is", "is_not", "contains"]), TEXTS), max_size=5),
)
def test_link_leads_to_the_state_it_was_made_of(dates, comparison, conditions):
    state = read(f"{dates}&compare={comparison}&metric=sessions", ("metric",))
    for position, (kind, text) in enumerate(conditions):
        state = state.with_filter(f"d{position}", text, kind)
    assert read(state.query_string, ("metric",)) == state
    assert dict(read(state.link(metric="events"), ("metric",)).page_parameters) == {"metric": "events"}


def test_interval_is_offered_by_the_length_of_the_range_and_dropped_where_it_does_not_suit():
    state = read("range=last_7_days&interval=hour")
    assert state.interval == "hour"
    assert read(state.link(range="last_12_months")).interval == "auto"
    assert "month" not in state.offered_intervals


def test_all_time_is_compared_with_nothing():
    assert "compare" not in read("range=all_time&compare=year").query_body_parts()


def test_chip_names_dimension_and_values_and_leads_to_the_state_without_it():
    state = read("f=country:is:DE&f=country:is:FR&f=os:is_not:(not set)")
    first, second = RangeBar(state, "/w/x", {"country": "Country"}).chips
    assert (first.text, second.text) == ("Country is Germany or France", "Os is not Unknown")
    assert read(first.remove_link).filters == state.filters[1:]
    assert first.form_values == ("DE", "FR", "")
    (contains,) = RangeBar(read("f=os:contains:i"), "/w/x", {}).chips
    assert contains.form_values == ("i",)


@pytest.mark.parametrize(
    ("dimension", "value", "words"),
    [
        ("country", "DE", "Germany"), ("country", "ZZ", "ZZ"), ("country", "(not set)", "Unknown"),
        ("device_type", "desktop", "Desktop"), ("event_name", "product_viewed", "Product viewed"),
        ("event_name", "$pageview", "Page view"), ("event_name", "Signed Up", "Signed Up"),
        ("referrer_host", "(direct)", "Direct (no referrer)"), ("utm_campaign", None, "No campaign"),
        ("browser", "(other)", "Everything else"), ("channel", "paid_search", "Paid search"),
        ("channel", "My Channel", "My Channel"), ("attribution_source", "(direct)", "Direct"),
    ],
)  # fmt: skip
def test_values_are_shown_in_words(dimension, value, words):
    assert label_dimension_value(dimension, value) == words
