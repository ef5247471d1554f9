"""The rule of an alert, on numbers."""

import pytest

from service_core.workspace.alerts.evaluate import evaluate_alert
from service_core.workspace.alerts.models import Alert, AlertStatus


def evaluate(checked, earlier=(), /, **fields):
    found = evaluate_alert(
        Alert.model_construct(**{"condition": "unusual", "value": None} | fields), checked, earlier
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
    earlier = [100, 120, 80, 110, 90, 130, 70, 100]  # median 100, deviations 0 20 20 10 10 30 30 0: median 15
    assert evaluate(145, earlier) == (AlertStatus.OK, 55, 145)
    assert evaluate(146, earlier) == (AlertStatus.FIRING, 55, 145)
    assert evaluate(54, earlier) == (AlertStatus.FIRING, 55, 145)


def test_steady_numbers_allow_a_tenth_of_the_median_as_deviation():
    assert evaluate(130, [100] * 8) == (AlertStatus.OK, 70, 130)
    assert evaluate(131, [100] * 8)[0] is AlertStatus.FIRING
    assert evaluate(3, [0, 0, 1, 0, 0, 0, 0, 0]) == (AlertStatus.OK, 0, 3)


def test_few_earlier_periods_are_no_history():
    assert evaluate(5, [None, None, None, None, None, 10, 10, 10])[0] is AlertStatus.UNKNOWN
    assert evaluate(5, [0, 0, 0, 0, 0, 10, 10, 10])[0] is AlertStatus.UNKNOWN
    assert evaluate(5, [0, 0, 0, 0, 10, 10, 10, 10])[0] is AlertStatus.FIRING
