"""The rule of an alert: whether a value is outside its range, and which range is expected."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from statistics import median
from typing import Final

from service_core.workspace.alerts.models import Alert, AlertStatus

COMPARED_PERIODS: Final = 8
"""Earlier periods that an unusual value is compared with: the same weekday of the weeks before, or the weeks before."""

MIN_KNOWN_PERIODS: Final = 4
SPREAD_FACTOR: Final = 3
MIN_SPREAD_SHARE: Final = 0.1


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


def evaluate_alert(alert: Alert, value: float | None, earlier: Sequence[float | None]) -> Evaluation:
    """Returns whether a value is outside the range of an alert.

    Args:
        alert: the alert.
        value: of the checked period; None if it is unknown.
        earlier: values of the compared periods, oldest first. Zeros before the first other value are no history.
    """
    if value is None:
        return Evaluation(AlertStatus.UNKNOWN, reason="the metric is not known for this period")
    if alert.condition == "unusual":
        return _evaluate_unusual(value, earlier)
    low, high = (None, alert.value) if alert.condition == "above" else (alert.value, None)
    return Evaluation(_status_within(value, low, high), low, high)


def _evaluate_unusual(value: float, earlier: Sequence[float | None]) -> Evaluation:
    """Returns whether a value differs from the median by more than three times the median absolute deviation.

    The deviation counts as at least 10 per cent of the median, and at least 1, so that steady numbers do not
    report every small change.
    """
    known = [one for one in dropwhile(lambda one: not one, earlier) if one is not None]
    if len(known) < MIN_KNOWN_PERIODS:
        return Evaluation(
            AlertStatus.UNKNOWN, reason=f"fewer than {MIN_KNOWN_PERIODS} earlier periods have data"
        )
    middle = median(known)
    deviation = median(abs(one - middle) for one in known)
    spread = SPREAD_FACTOR * max(deviation, _least_deviation(middle, [*known, value]))
    low, high = middle - spread, middle + spread
    if min(known) >= 0:
        low = max(low, 0.0)
    return Evaluation(_status_within(value, low, high), low, high)


def _least_deviation(middle: float, values: Sequence[float]) -> float:
    """Returns 10 per cent of the median; at least 1 for counts and amounts, which are whole numbers."""
    share = MIN_SPREAD_SHARE * abs(middle)
    return max(share, 1.0) if all(float(one).is_integer() for one in values) else share


def _status_within(value: float, low: float | None, high: float | None) -> AlertStatus:
    is_outside = (low is not None and value < low) or (high is not None and value > high)
    return AlertStatus.FIRING if is_outside else AlertStatus.OK
