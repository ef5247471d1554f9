"""The rule of an alert: whether a value is outside its range, and which range is expected."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

from service_core.analytics.explanation.unusual_days import (
    MIN_WEEKS,
    WEEKS_COMPARED,
    expected_range_around_median,
)
from service_core.workspace.alerts.models import Alert, AlertStatus

COMPARED_PERIODS: Final = WEEKS_COMPARED
"""Earlier periods that an unusual value is compared with: the same weekday of the weeks before, or the weeks before."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of a check.

    Attributes:
        low, high: the expected range; None where it has no such end.
        reason: why it is unknown; empty if it is not.
    """

    status: AlertStatus
    low: float | None = None
    high: float | None = None
    reason: str = ""


def evaluate_alert_value(
    alert: Alert, value: float | None, earlier: Sequence[float | None], *, is_count: bool
) -> Evaluation:
    """Returns whether a value is outside the range of an alert.

    Args:
        alert: the alert.
        value: of the checked period; None if it is unknown.
        earlier: values of the compared periods, oldest first. Zeros before the first other value are no history.
        is_count: whether the metric counts something, so that small values vary by chance.
    """
    if value is None:
        return Evaluation(AlertStatus.UNKNOWN, reason="the metric is not known for this period")
    if alert.condition == "unusual":
        return _evaluate_unusual(value, earlier, is_count=is_count)
    low, high = (None, alert.value) if alert.condition == "above" else (alert.value, None)
    return Evaluation(_status_within(value, low, high), low, high)


def _evaluate_unusual(value: float, earlier: Sequence[float | None], *, is_count: bool) -> Evaluation:
    """Returns whether a value is outside the range that the earlier ones let expect."""
    known = [one for one in dropwhile(lambda one: not one, earlier) if one is not None]
    expected = expected_range_around_median(known, is_count=is_count)
    if expected is None:
        return Evaluation(AlertStatus.UNKNOWN, reason=f"fewer than {MIN_WEEKS} earlier periods have data")
    return Evaluation(_status_within(value, expected.low, expected.high), expected.low, expected.high)


def _status_within(value: float, low: float | None, high: float | None) -> AlertStatus:
    is_outside = (low is not None and value < low) or (high is not None and value > high)
    return AlertStatus.FIRING if is_outside else AlertStatus.OK
