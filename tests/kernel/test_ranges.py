"""Ranges, presets, buckets and comparisons, with their golden values."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.kernel.bucket_series import (
    BUCKET_UNITS,
    MAX_BUCKETS,
    buckets_covering,
    buckets_started_by_now,
    build_series_of_at_most_1000_buckets,
    choose_bucket_unit_by_range_length,
    cut_or_unfinished_bucket_flags,
)
from service_core.kernel.comparison import ComparisonMode, comparison_range_cut_at_elapsed_time
from service_core.kernel.date_presets import DATE_PRESETS
from service_core.kernel.date_range import DateRange, RangeResponse, parse_inclusive_start_end_dates
from service_core.kernel.errors import BadRequest
from service_core.kernel.time_ranges import BucketUnit, ResolvedRange, TimeRange
from service_core.kernel.timestamps import format_timestamp, parse_span_of_date_or_timestamp
from service_core.kernel.wall_clock import local_date, local_hour_start

NEW_YORK = ZoneInfo("America/New_York")
NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
"""11:00 in New York, a Wednesday."""

ZONES = ("UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Asia/Kathmandu",
         "Asia/Tehran", "Pacific/Apia", "America/St_Johns", "Pacific/Chatham")  # fmt: skip


def parse_instant(text):
    return datetime.fromisoformat(text)


def parse_range(start, end, zone=NEW_YORK, now=NOW):
    return parse_inclusive_start_end_dates(start, end, zone, now)


@pytest.mark.parametrize(
    ("end", "covered"),
    [
        ("2026-07-01T10:00Z", "2026-07-01T10:01:00Z"),
        ("2026-07-01T10:00:59Z", "2026-07-01T10:01:00Z"),
        ("2026-07-01T10:00:59.000Z", "2026-07-01T10:00:59.001Z"),
        ("2026-07-01T10:00:59.123456Z", "2026-07-01T10:00:59.124Z"),
        ("2026-07-01", "2026-07-02T04:00Z"),
        ("2026-07-01T10:00", "2026-07-01T14:01Z"),
        ("2026-07-01T10:00:00+02:00", "2026-07-01T08:00:01Z"),
        ("2026-07-01T10:00:00 02:00", "2026-07-01T08:00:01Z"),
        ("2026-07-01T10", "2026-07-01T15:00Z"),
    ],
)
def test_end_covers_the_precision_sent(end, covered):
    assert parse_span_of_date_or_timestamp(end, NEW_YORK).end == parse_instant(covered)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "2026-07-01T25:00Z", "0001-01-01", "9999-12-31",
             "2026-07-01T10:00+99:00", "2026-7-1", "20260701", "2026-07-01T10:00Z; drop", "٢٠٢٦-07-01"]
)  # fmt: skip
def test_text_without_a_date_or_timestamp_does_not_parse(text):
    assert parse_span_of_date_or_timestamp(text, NEW_YORK) is None


@given(st.text(max_size=40))
def test_parsing_any_text_never_raises(text):
    assert (
        parse_span_of_date_or_timestamp(text, NEW_YORK) is None
        or parse_span_of_date_or_timestamp(text, NEW_YORK).start
        < parse_span_of_date_or_timestamp(text, NEW_YORK).end
    )


@pytest.mark.parametrize("missing", [(None, "2026-07-01"), ("2026-07-01", None), ("x", "2026-07-01")])
def test_missing_or_unparseable_date_is_the_date_error_without_a_code(missing):
    with pytest.raises(BadRequest) as refused:
        parse_range(*missing)
    assert refused.value.body() == {"error": "start_date and end_date required (ISO 8601)"}


def test_start_after_the_end_is_refused():
    with pytest.raises(BadRequest, match="start_date must not be after end_date") as refused:
        parse_range("2026-07-02", "2026-07-01")
    assert refused.value.code == "invalid_date_range"


def test_returned_range_can_be_sent_back_unchanged():
    first = parse_range("2026-07-01", "2026-07-02")
    shown = RangeResponse.from_range(first).model_dump(by_alias=True)
    assert format_timestamp(shown["from"]) == "2026-07-01T04:00:00.000Z"
    assert format_timestamp(shown["to"]) == "2026-07-03T03:59:59.999Z"
    again = DateRange.model_validate(
        {"from": format_timestamp(shown["from"]), "to": format_timestamp(shown["to"])}
    )
    assert again.resolve(NEW_YORK, NOW) == first
    assert first.is_whole_days


def test_today_is_always_partial():
    assert DateRange(preset="today").resolve(NEW_YORK, NOW).extends_past_now
    assert not DateRange(preset="yesterday").resolve(NEW_YORK, NOW).extends_past_now


@pytest.mark.parametrize("sent", [{}, {"from": "2026-07-01"}, {"preset": "someday"},
                                  {"from": "2026-07-01", "to": "2026-07-02", "preset": "today"},
                                  {"from": "x", "to": "y"}, {"from": "2026-07-02", "to": "2026-07-01"}])  # fmt: skip
def test_date_range_is_one_form_or_the_other(sent):
    with pytest.raises(BadRequest) as refused:
        DateRange.model_validate(sent).resolve(NEW_YORK, NOW)
    assert refused.value.code == "invalid_date_range"


@pytest.mark.parametrize(
    ("preset", "first", "last"),
    [
        ("last_7_days", "2026-07-02", "2026-07-08"),
        ("7d", "2026-07-02", "2026-07-08"),
        ("this_week", "2026-07-06", "2026-07-08"),
        ("last_week", "2026-06-29", "2026-07-05"),
        ("last_12_months", "2025-08-01", "2026-07-08"),
        ("12mo", "2025-08-01", "2026-07-08"),
        ("last_quarter", "2026-04-01", "2026-06-30"),
        ("this_quarter", "2026-07-01", "2026-07-08"),
        ("qtd", "2026-07-01", "2026-07-08"),
        ("mtd", "2026-07-01", "2026-07-08"),
        ("last_month", "2026-06-01", "2026-06-30"),
        ("ytd", "2026-01-01", "2026-07-08"),
        ("last_year", "2025-01-01", "2025-12-31"),
        ("91d", "2026-04-09", "2026-07-08"),
        ("yesterday", "2026-07-07", "2026-07-07"),
    ],
)
def test_presets_follow_the_local_calendar(preset, first, last):
    found = DateRange(preset=preset).resolve(NEW_YORK, NOW)
    assert (str(found.first_day), str(found.last_day)) == (first, last)
    assert found.is_whole_days


def test_all_presets_of_the_contract_are_known():
    long = {f"last_{n}_days" for n in (7, 14, 28, 30, 90)} | {"today", "yesterday", "last_12_months"}
    long |= {
        f"{which}_{period}" for which in ("this", "last") for period in ("week", "month", "quarter", "year")
    }
    assert set(DATE_PRESETS) == long | {"7d", "14d", "28d", "30d", "90d", "91d", "12mo", "mtd", "qtd", "ytd"}


def test_all_time_starts_on_the_local_day_of_the_first_event():
    first = datetime(2025, 3, 2, 3, 0, tzinfo=UTC)
    found = DateRange(preset="all_time").resolve(NEW_YORK, NOW, first)
    assert (str(found.first_day), str(found.last_day)) == ("2025-03-01", "2026-07-08")
    assert str(DateRange(preset="all_time").resolve(NEW_YORK, NOW).first_day) == "2026-07-08"


@pytest.mark.parametrize(
    ("first", "last", "unit"),
    [
        ("2026-07-01", "2026-07-01", BucketUnit.HOUR),
        ("2026-07-01", "2026-07-02", BucketUnit.DAY),
        ("2026-01-01", "2026-03-02", BucketUnit.DAY),
        ("2026-01-01", "2026-03-03", BucketUnit.WEEK),
        ("2026-01-01", "2026-06-30", BucketUnit.WEEK),
        ("2026-01-01", "2026-07-01", BucketUnit.MONTH),
    ],
)
def test_automatic_bucket_size_follows_local_dates(first, last, unit):
    assert choose_bucket_unit_by_range_length(parse_range(first, last)) is unit


@pytest.mark.parametrize(
    ("zone", "day", "start", "hours", "buckets"),
    [
        ("America/New_York", "2026-03-08", "2026-03-08T05:00Z", 23, 23),
        ("America/New_York", "2026-11-01", "2026-11-01T04:00Z", 25, 25),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00Z", 24.5, 25),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30Z", 23.5, 24),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00Z", 23, 23),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00Z", 23, 23),
        ("Asia/Tehran", "2026-01-01", "2025-12-31T20:30Z", 24, 24),
        ("Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15Z", 24, 24),
    ],
)
def test_day_buckets_have_golden_values(zone, day, start, hours, buckets):
    found = parse_range(day, day, ZoneInfo(zone))
    assert found.span.start == parse_instant(start)
    assert found.span.end - found.span.start == timedelta(hours=hours)
    assert len(build_series_of_at_most_1000_buckets(found, BucketUnit.HOUR).starts) == buckets
    assert buckets_covering(found.span, BucketUnit.DAY, found.zone).starts == (parse_instant(start),)


def test_skipped_hour_is_absent_and_a_repeated_one_appears_twice():
    spring = buckets_covering(parse_range("2026-03-08", "2026-03-08").span, BucketUnit.HOUR, NEW_YORK).starts
    assert [start.astimezone(NEW_YORK).hour for start in spring[:3]] == [0, 1, 3]
    autumn = buckets_covering(parse_range("2026-11-01", "2026-11-01").span, BucketUnit.HOUR, NEW_YORK).starts
    assert [start.astimezone(NEW_YORK).hour for start in autumn[:4]] == [0, 1, 1, 2]


def test_skipped_calendar_day_has_no_bucket():
    apia = ZoneInfo("Pacific/Apia")
    days = buckets_covering(parse_range("2011-12-29", "2011-12-31", apia).span, BucketUnit.DAY, apia).starts
    assert [str(local_date(start, apia)) for start in days] == ["2011-12-29", "2011-12-31"]


def test_weeks_start_on_monday_and_quarters_in_their_first_month():
    assert buckets_covering(
        parse_range("2026-07-08", "2026-07-08").span, BucketUnit.WEEK, NEW_YORK
    ).starts == (parse_instant("2026-07-06T04:00Z"),)
    assert buckets_covering(
        parse_range("2026-05-08", "2026-07-08").span, BucketUnit.QUARTER, NEW_YORK
    ).starts == (
        parse_instant("2026-04-01T04:00Z"),
        parse_instant("2026-07-01T04:00Z"),
    )


def test_more_than_a_thousand_buckets_are_raised_to_the_next_size():
    assert (
        build_series_of_at_most_1000_buckets(parse_range("2026-05-28", "2026-07-08"), BucketUnit.HOUR).unit
        is BucketUnit.DAY
    )
    assert (
        build_series_of_at_most_1000_buckets(parse_range("2026-06-28", "2026-07-08"), BucketUnit.HOUR).unit
        is BucketUnit.HOUR
    )
    assert (
        build_series_of_at_most_1000_buckets(parse_range("1990-01-01", "2026-07-08"), BucketUnit.HOUR).unit
        is BucketUnit.MONTH
    )
    assert (
        build_series_of_at_most_1000_buckets(parse_range("1900-01-01", "2026-07-08"), BucketUnit.HOUR).unit
        is BucketUnit.QUARTER
    )
    assert (
        build_series_of_at_most_1000_buckets(
            parse_range("1900-01-01", "2026-07-08"), BucketUnit.HOUR, BUCKET_UNITS[:4]
        ).unit
        is BucketUnit.MONTH
    )


def test_buckets_end_at_now_and_the_current_one_is_partial():
    month = parse_range("2026-07-07T12:00", "2026-07-31")
    shown = buckets_started_by_now(build_series_of_at_most_1000_buckets(month, BucketUnit.DAY), NOW)
    assert [str(local_date(start, NEW_YORK)) for start in shown.starts] == ["2026-07-07", "2026-07-08"]
    assert cut_or_unfinished_bucket_flags(shown, month) == [True, True]
    assert (
        cut_or_unfinished_bucket_flags(
            build_series_of_at_most_1000_buckets(parse_range("2026-07-06", "2026-07-07"), BucketUnit.DAY),
            parse_range("2026-07-06", "2026-07-07"),
        )
        == [False] * 2
    )
    assert (
        buckets_started_by_now(
            build_series_of_at_most_1000_buckets(parse_range("2027-01-01", "2027-01-02"), BucketUnit.DAY), NOW
        ).starts
        == ()
    )


def test_bucket_ending_now_is_complete_and_the_next_is_current():
    hours = parse_range("2026-07-08T10:00", "2026-07-08T13:59")
    shown = buckets_started_by_now(build_series_of_at_most_1000_buckets(hours, BucketUnit.HOUR), NOW)
    assert shown.starts == (NOW - timedelta(hours=1), NOW)
    assert cut_or_unfinished_bucket_flags(shown, hours) == [False, True]


@given(
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    start=st.datetimes(datetime(2010, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    hours=st.integers(1, 24 * 40),
    unit=st.sampled_from(BUCKET_UNITS),
)
def test_buckets_cover_a_span_without_gap_or_overlap(zone, start, hours, unit):
    span = TimeRange(start, start + timedelta(hours=hours))
    buckets = buckets_covering(span, unit, zone)
    assert buckets.starts[0] <= span.start < (*buckets.starts, buckets.end)[1]
    assert buckets.starts[-1] < span.end <= buckets.end
    assert all(a < b for a, b in pairwise((*buckets.starts, buckets.end)))
    assert sum(run.count for run in buckets.runs_of_equal_length()) == len(buckets.starts)
    assert (
        buckets.runs_of_equal_length()[-1].start
        + timedelta(
            seconds=buckets.runs_of_equal_length()[-1].seconds * buckets.runs_of_equal_length()[-1].count
        )
        == buckets.end
    )


@given(
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    at=st.datetimes(datetime(2010, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_timestamp_is_in_its_wall_clock_hour(zone, at):
    start = local_hour_start(at, zone)
    assert timedelta(0) <= at - start < timedelta(hours=1)
    assert start.astimezone(zone).hour == at.astimezone(zone).hour


@given(days=st.integers(1, 20_000), unit=st.sampled_from(BUCKET_UNITS))
def test_series_never_has_more_than_a_thousand_buckets(days, unit):
    start = datetime(1950, 1, 1, tzinfo=UTC)
    found = build_series_of_at_most_1000_buckets(
        ResolvedRange(TimeRange(start, start + timedelta(days=days)), ZoneInfo("UTC"), NOW), unit
    )
    assert len(found.starts) <= MAX_BUCKETS


@pytest.mark.parametrize(
    ("first", "last", "how", "expected"),
    [
        ("2026-03-01", "2026-03-31", ComparisonMode.PREVIOUS_PERIOD, ("2026-01-29", "2026-02-28")),
        ("2028-02-29", "2028-02-29", ComparisonMode.PREVIOUS_YEAR, ("2027-02-28", "2027-02-28")),
        ("2026-06-01", "2026-06-10", ComparisonMode.MATCH_WEEKDAY, ("2026-05-18", "2026-05-27")),
        ("2026-06-01", "2026-06-07", ComparisonMode.MATCH_WEEKDAY, ("2026-05-25", "2026-05-31")),
        ("2026-06-01", "2026-06-10", ComparisonMode.PREVIOUS_YEAR, ("2025-06-01", "2025-06-10")),
    ],
)
def test_comparison_ranges_have_golden_values(first, last, how, expected):
    found = comparison_range_cut_at_elapsed_time(
        parse_range(first, last, now=parse_instant("2029-01-01T00:00Z")), how
    )
    assert (str(found.first_day), str(found.last_day)) == expected
    assert found.is_whole_days


def test_instant_range_is_compared_by_elapsed_seconds():
    found = comparison_range_cut_at_elapsed_time(
        parse_range("2026-06-01T10:00:00Z", "2026-06-01T15:59:59Z"), ComparisonMode.PREVIOUS_PERIOD
    )
    assert found.span == TimeRange(parse_instant("2026-06-01T04:00Z"), parse_instant("2026-06-01T10:00Z"))


def test_range_ending_today_is_compared_up_to_the_same_local_time():
    week = DateRange(preset="last_7_days").resolve(NEW_YORK, NOW)
    before = RangeResponse.from_range(
        comparison_range_cut_at_elapsed_time(week, ComparisonMode.PREVIOUS_PERIOD)
    )
    assert (format_timestamp(before.from_), format_timestamp(before.to)) == (
        "2026-06-25T04:00:00.000Z",
        "2026-07-01T15:00:00.000Z",
    )
    assert not before.partial


@given(
    first=st.dates(datetime(2000, 1, 1).date(), datetime(2040, 1, 1).date()),  # noqa: DTZ001
    days=st.integers(0, 800),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
)
def test_comparison_range_precedes_and_has_the_same_number_of_days(first, days, zone):
    range_ = parse_range(
        str(first), str(first + timedelta(days=days)), zone, parse_instant("2050-01-01T00:00Z")
    )
    before = comparison_range_cut_at_elapsed_time(range_, ComparisonMode.PREVIOUS_PERIOD)
    assert before.span.end == range_.span.start
    weekday = comparison_range_cut_at_elapsed_time(range_, ComparisonMode.MATCH_WEEKDAY)
    assert weekday.span.end <= range_.span.start
    if zone.key != "Pacific/Apia":
        assert weekday.first_day.weekday() == range_.first_day.weekday()
