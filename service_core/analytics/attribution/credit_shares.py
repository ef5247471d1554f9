"""Computes how the touches of a path share one conversion. Credits of every event store follow this definition."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from service_core.analytics.ports import CreditRule, Weighting

MILLION = 1_000_000
"""Credits are counted in millionths of a conversion."""


@dataclass(frozen=True, slots=True)
class PathTouch:
    """One touch of a path, as a rule needs it."""

    time: datetime
    is_direct: bool


def compute_credit_share_per_touch(
    rule: CreditRule, touches: Sequence[PathTouch], converted_at: datetime
) -> list[float]:
    """Returns the share of a conversion for each touch by a rule-based model.

    Args:
        rule: the credit rule; its window is applied here.
        touches: the touches of the person in order of time; those after the conversion are ignored.
        converted_at: time of the conversion.

    Returns:
        One share per touch of ``touches``, 0 for a touch outside the window or an ignored one. The shares sum to
        1, or are all 0 if no touch counts.
    """
    counted = [i for i, step in enumerate(touches) if converted_at - rule.window <= step.time <= converted_at]
    if rule.ignore_direct and not all(touches[i].is_direct for i in counted):
        counted = [i for i in counted if not touches[i].is_direct]
    shares = [0.0] * len(touches)
    if rule.weighting is Weighting.TIME_DECAY:
        # Counted from the latest touch, the weights of a long window cannot all round to zero.
        weights = [2 ** ((touches[i].time - touches[counted[-1]].time) / rule.half_life) for i in counted]
    else:
        weights = _compute_weights_by_position_else_even(rule, len(counted))
    total = sum(weights)
    for i, weight in zip(counted, weights, strict=True):
        shares[i] = weight / total
    return shares


def _compute_weights_by_position_else_even(rule: CreditRule, touch_count: int) -> list[float]:
    match rule.weighting:
        case Weighting.FIRST:
            return [float(i == 0) for i in range(touch_count)]
        case Weighting.LAST:
            return [float(i == touch_count - 1) for i in range(touch_count)]
        case Weighting.POSITION_BASED if touch_count > 2:  # noqa: PLR2004 - a middle exists from three touches on
            middle = (1 - 2 * rule.endpoint_share) / (touch_count - 2)
            return [rule.endpoint_share, *[middle] * (touch_count - 2), rule.endpoint_share]
        case _:
            return [1.0] * touch_count
