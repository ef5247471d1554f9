"""Measured and unavailable values. An unknown value is never reported as zero."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias


class UnavailableReason(StrEnum):
    """Why a value is unavailable, as reported in answers."""

    NO_AD_PLATFORM = "no_ad_platform"
    NO_REVENUE_PROVIDER = "no_revenue_provider"
    NO_COST_DATA = "no_cost_data"
    FEES_UNKNOWN = "fees_unknown"
    MISSING_FX_RATE = "missing_fx_rate"
    MULTIPLE_PLATFORMS = "multiple_platforms"
    INSUFFICIENT_DATA = "insufficient_data"
    SOURCE_ERROR = "source_error"
    PLAN = "plan"
    NO_HISTORY = "no_history"


Number: TypeAlias = int | Fraction
"""An exact value. It becomes a float only when an answer rounds it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured value. None is the result of a division by zero."""

    value: Number | None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A value that was not measured, with the reason."""

    reason: UnavailableReason


Measurement: TypeAlias = Measured | Unavailable


def combine_measurements(
    operator: Callable[[Number, Number], Number | None], left: Measurement, right: Measurement
) -> Measurement:
    """Returns the result of an operation on two measurements.

    If one of them is unavailable, the result is unavailable with that reason; the left one comes first.

    Args:
        operator: computes the result from two numbers; None means a division by zero.
    """
    if isinstance(left, Unavailable):
        return left
    if isinstance(right, Unavailable):
        return right
    if left.value is None or right.value is None:
        return Measured(None)
    return Measured(operator(left.value, right.value))
