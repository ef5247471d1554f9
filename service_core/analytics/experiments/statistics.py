"""Confidence intervals and detectable differences of two groups, by the formulas of docs/reference/experiments.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final

POWER: Final = 0.8
"""Probability with which the smallest detectable difference would be shown."""

MIN_PERSONS: Final = 30
"""Below this number of persons the normal approximation of a mean does not hold; there is no interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a group from the control.

    Attributes:
        value: the difference.
        interval: its confidence interval; None with too few persons.
        detectable: the smallest difference that persons and spread can show; None where there is none to compute.
    """

    value: float
    interval: Interval | None
    detectable: float | None


@dataclass(frozen=True, slots=True)
class Share:
    """A share: ``hits`` of ``total`` persons."""

    hits: int
    total: int

    @property
    def rate(self) -> float:
        """The share as a number."""
        return self.hits / self.total


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of amounts, one per person: number, mean and unbiased variance."""

    total: int
    mean: float
    variance: float

    @classmethod
    def from_payers_and_zero_for_others(cls, payers_by_amount: Mapping[int, int], persons: int) -> "Sample":
        """Returns the sample of all persons; those without a payment paid zero."""
        summed = sum(amount * payers for amount, payers in payers_by_amount.items())
        squares = sum(amount * amount * payers for amount, payers in payers_by_amount.items())
        # Whole numbers until the division, so that large amounts lose no digits.
        scatter = (squares * persons - summed * summed) / persons if persons else 0.0
        variance = scatter / (persons - 1) if persons > 1 else 0.0
        return cls(persons, summed / persons if persons else 0.0, variance)


def wilson_interval(share: Share, confidence: float) -> Interval:
    """Returns the Wilson score interval of a share of at least one person."""
    z, n, p = _two_sided_quantile(confidence), share.total, share.rate
    centre = p + z * z / (2 * n)
    spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if share.hits == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if share.hits == n else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


def newcombe_difference_of_shares(share: Share, control: Share, confidence: float) -> Difference:
    """Returns the difference of two shares with Newcombe's hybrid score interval."""
    value = share.rate - control.rate
    own, other = wilson_interval(share, confidence), wilson_interval(control, confidence)
    low = value - sqrt((share.rate - own.low) ** 2 + (other.high - control.rate) ** 2)
    high = value + sqrt((own.high - share.rate) ** 2 + (control.rate - other.low) ** 2)
    pooled = (share.hits + control.hits) / (share.total + control.total)
    variance = pooled * (1 - pooled)
    detectable = _detectable(variance / share.total + variance / control.total, confidence)
    return Difference(value, Interval(low, high), detectable)


def normal_mean_interval_or_none_if_few(sample: Sample, confidence: float) -> Interval | None:
    """Returns the normal interval of a mean; None with too few persons."""
    if sample.total < MIN_PERSONS:
        return None
    spread = _two_sided_quantile(confidence) * sqrt(sample.variance / sample.total)
    return Interval(sample.mean - spread, sample.mean + spread)


def unequal_variance_difference_of_means(sample: Sample, control: Sample, confidence: float) -> Difference:
    """Returns the difference of two means with unequal variances; no interval with too few persons in one group."""
    value = sample.mean - control.mean
    if min(sample.total, control.total) < MIN_PERSONS:
        return Difference(value, None, None)
    squared_error = sample.variance / sample.total + control.variance / control.total
    spread = _two_sided_quantile(confidence) * sqrt(squared_error)
    interval = Interval(value - spread, value + spread)
    return Difference(value, interval, _detectable(squared_error, confidence))


def _detectable(squared_error: float, confidence: float) -> float | None:
    """Returns the difference shown with probability `POWER`; None without any spread, which says nothing."""
    if not squared_error:
        return None
    return (_two_sided_quantile(confidence) + NormalDist().inv_cdf(POWER)) * sqrt(squared_error)


def _two_sided_quantile(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)
