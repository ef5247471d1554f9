"""The rule of an alert, on numbers."""

from datetime import date, timedelta

import pytest

from service_core.analytics.explanation.unusual_days import expected_range_from_past_weekdays
from service_core.workspace.alerts.evaluate import evaluate_alert_value
from service_core.workspace.alerts.models import Alert, AlertStatus


def evaluate(checked, earlier=(), /, is_count=True, **fields):
    found = evaluate_alert_value(
        Alert.model_construct(**{"condition": "unusual", "value": None} | fields),
        checked,
        earlier,
        is_count=is_count,
    )
    return found.status, found.low, found.high


def test_value_beyond_a_threshold_fires():
    assert evaluate(9, condition="below", value=10) == (AlertStatus.FIRING, 10, None)
    assert evaluate(10, condition="below", value=10) == (AlertStatus.OK, 10, None)
    assert evaluate(11, condition="above", value=10) == (AlertStatus.FIRING, None, 10)
    assert evaluate(10, condition="above", value=10) == (AlertStatus.OK, None, 10)


@pytest.mark.parametrize("condition", ["above", "below", "unusual"])
def test_unknown_value_is_neither_alert_nor_all_clear(condition):
    assert evaluate(None, [10] * 8, condition=condition, value=5)[0] is AlertStatus.UNKNOWN


def test_unusual_value_is_outside_the_median_plus_or_minus_three_deviations():
    earlier = [100, 120, 80, 110, 90, 130, 70, 100]  # median 100, distances 0 20 20 10 10 30 30 0: median 15
    status, low, high = evaluate(166, earlier)  # 100 plus 3 x 1.4826 x 15 is 166.717
    assert (status, round(low, 3), round(high, 3)) == (AlertStatus.OK, 33.283, 166.717)
    assert evaluate(167, earlier)[0] is AlertStatus.FIRING
    assert evaluate(33, earlier)[0] is AlertStatus.FIRING


def test_steady_counts_allow_the_square_root_of_the_median_as_deviation():
    assert evaluate(130, [100] * 8) == (AlertStatus.OK, 70, 130)
    assert evaluate(131, [100] * 8)[0] is AlertStatus.FIRING
    assert evaluate(3, [0, 0, 1, 0, 0, 0, 0, 0]) == (AlertStatus.OK, 0, 3)


def test_steady_amounts_allow_a_twentieth_of_the_median_as_deviation():
    assert evaluate(1150, [1000] * 8, is_count=False) == (AlertStatus.OK, 850, 1150)
    assert evaluate(1151, [1000] * 8, is_count=False)[0] is AlertStatus.FIRING


@pytest.mark.parametrize("is_count", [True, False])
def test_alert_and_explanation_expect_the_same_range(is_count):
    earlier, day = [14, 3, 9, 11, 8, 10, 12, 40], date(2026, 7, 8)
    value_by_day = {day - timedelta(weeks=8 - i): value for i, value in enumerate(earlier)}
    explained = expected_range_from_past_weekdays(value_by_day, day, is_count=is_count)
    assert evaluate(10, earlier, is_count=is_count)[1:] == (explained.low, explained.high)


def test_few_earlier_periods_are_no_history():
    assert evaluate(5, [None, None, None, None, None, 10, 10, 10])[0] is AlertStatus.UNKNOWN
    assert evaluate(5, [0, 0, 0, 0, 0, 10, 10, 10])[0] is AlertStatus.UNKNOWN
    assert evaluate(20, [0, 0, 0, 0, 10, 10, 10, 10])[0] is AlertStatus.FIRING
