"""The rule of unusual days: the same weekday of the weeks before."""

from datetime import date, timedelta

import pytest

from service_core.analytics.explanation.unusual_days import (
    expected_range_from_past_weekdays,
    find_days_outside_expected_range,
)

DAY = date(2026, 7, 8)


def weeks_before(*values, day=DAY):
    return {day - timedelta(weeks=i + 1): value for i, value in enumerate(values)}


@pytest.mark.parametrize(
    ("value", "is_unusual"), [(100, False), (130, False), (131, True), (70, False), (69, True), (0, True)]
)
def test_count_is_unusual_three_square_roots_away_from_steady_weeks(value, is_unusual):
    values = weeks_before(*[100] * 8) | {DAY: value}
    assert bool(find_days_outside_expected_range(values, [DAY], is_count=True)) is is_unusual


def test_weeks_that_vary_widen_the_expected_range():
    # Median 100, distances 0, 20, 20, 40 with the median 20: 100 - 3 x 29.652 to 100 + 3 x 29.652.
    expected = expected_range_from_past_weekdays(weeks_before(100, 80, 120, 60), DAY, is_count=True)
    assert (round(expected.low, 3), round(expected.high, 3)) == (
        0.0,
        200.0,
    ) or expected.low < 41 < expected.high


def test_one_unusual_week_does_not_widen_the_range():
    values = weeks_before(100, 100, 100, 100, 100, 100, 100, 5000)
    assert expected_range_from_past_weekdays(values, DAY, is_count=True).high == 130


def test_a_season_of_the_week_is_expected():
    values = {
        DAY - timedelta(days=n): 1000 if (DAY - timedelta(days=n)).weekday() == 6 else 100 for n in range(60)
    }
    sunday = DAY - timedelta(days=3)
    assert find_days_outside_expected_range(values, [DAY, sunday], is_count=True) == []
    (unusual,) = find_days_outside_expected_range(values | {sunday: 100}, [DAY, sunday], is_count=True)
    assert (unusual.day, unusual.value) == (sunday, 100)


def test_days_with_too_few_weeks_or_without_value_are_not_judged():
    assert find_days_outside_expected_range(weeks_before(1, 1, 1) | {DAY: 99}, [DAY], is_count=True) == []
    assert (
        find_days_outside_expected_range(weeks_before(1, 1, 1, None) | {DAY: 99}, [DAY], is_count=True) == []
    )
    assert find_days_outside_expected_range(weeks_before(1, 1, 1, 1), [DAY], is_count=True) == []
    assert (
        find_days_outside_expected_range(weeks_before(1, 1, 1, 1) | {DAY: None}, [DAY], is_count=True) == []
    )


def test_amounts_may_vary_by_a_twentieth_and_counts_are_never_expected_below_zero():
    steady = weeks_before(*[200.0] * 5)
    assert expected_range_from_past_weekdays(steady, DAY, is_count=False).low == 170
    assert expected_range_from_past_weekdays(weeks_before(*[1] * 5), DAY, is_count=True).low == 0
