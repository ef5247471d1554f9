"""Scales: from values to per cent of a picture's height, with ticks at round values."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_STEPS: Final = (1, 2, 2.5, 5, 10)
_WHOLE_STEPS: Final = (1, 2, 5, 10)
INTERVALS: Final = 4


@dataclass(frozen=True, slots=True)
class Scale:
    """A vertical scale that holds zero.

    Attributes:
        ticks: round values, ascending; the first and the last are its ends.
    """

    ticks: tuple[float, ...]

    @property
    def low(self) -> float:
        """The value at the bottom."""
        return self.ticks[0]

    def y(self, value: float) -> float:
        """Per cent from the top."""
        return round(100 - (value - self.low) / (self.ticks[-1] - self.low) * 100, 2)


def build_scale_including_zero(values: Iterable[float], *, whole_ticks_only: bool) -> Scale:
    """The scale that holds zero and all values in about four steps.

    Args:
        values: finite numbers; none at all is drawn like zeros.
        whole_ticks_only: whether only whole numbers may stand at a tick.
    """
    known = [*values, 0.0]
    low, high = min(known), max(known)
    if low == high:
        high = 1.0
    step = _smallest_round_step_of_at_least((high - low) / INTERVALS, whole_ticks_only=whole_ticks_only)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Scale(tuple(round(index * step, 10) for index in range(first, last + 1)))


def _smallest_round_step_of_at_least(minimum: float, *, whole_ticks_only: bool) -> float:
    """The smallest round step of at least this size."""
    power = 10.0 ** math.floor(math.log10(minimum))
    if whole_ticks_only and power < 1:
        return 1.0
    steps = _WHOLE_STEPS if whole_ticks_only and power == 1 else _STEPS
    return next(step * power for step in steps if step * power >= minimum * (1 - 1e-9))
