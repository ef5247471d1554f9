"""Unknown is a type, never zero: a value is `Measured`, or `Unavailable` with its reason (semantics 1.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias


class UnavailableReason(StrEnum):
    """Why a value was not measured (contract 2.10)."""

    NO_AD_PLATFORM = "no_ad_platform"
    NO_REVENUE_PROVIDER = "no_revenue_provider"
    NO_COST_DATA = "no_cost_data"
    MISSING_FX_RATE = "missing_fx_rate"
    MULTIPLE_PLATFORMS = "multiple_platforms"
    INSUFFICIENT_DATA = "insufficient_data"
    SOURCE_ERROR = "source_error"
    PLAN = "plan"


Number: TypeAlias = int | Fraction
"""An exact value; it becomes a float only when it is rounded for the answer."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A value that was measured. None stands for a quotient whose denominator is 0."""

    value: Number | None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A value that was not measured, and why."""

    reason: UnavailableReason


Measurement: TypeAlias = Measured | Unavailable


def combine_measurements(
    operator: Callable[[Number, Number], Number | None], left: Measurement, right: Measurement
) -> Measurement:
    """Compute with two readings: an unknown part makes the whole unknown, the first reason stands."""
    if isinstance(left, Unavailable):
        return left
    if isinstance(right, Unavailable):
        return right
    if left.value is None or right.value is None:
        return Measured(None)
    return Measured(operator(left.value, right.value))
