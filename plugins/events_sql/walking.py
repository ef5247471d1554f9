"""The walk of funnels in which order is strict, free, or disturbed by steps that are excluded too."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median
from typing import Any, NamedTuple

from plugins.events_sql.periods import micros, micros_of
from service_core.plugin import FunnelOrder, FunnelPlan, FunnelStep


class Happened(NamedTuple):
    """An event of a unit: microsecond and sequence, and what it can be."""

    t: int
    seq: int
    starts: bool
    excluded: bool
    steps: tuple[bool, ...]

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands among all events."""
        return self.t, self.seq


Attempt = list[Happened]


@dataclass(frozen=True, slots=True)
class Walked:
    """The best attempt of every unit, and how many may still convert."""

    reached: list[Attempt]
    open: int

    def step(self, k: int) -> FunnelStep:
        """How many reached a step after the first, and how long it took them."""
        waits = [(attempt[k].t - attempt[k - 1].t) / 1e6 for attempt in self.reached if len(attempt) > k]
        return FunnelStep(len(waits), median(waits), fmean(waits)) if waits else FunnelStep(0, None, None)


def walk(plan: FunnelPlan, rows: Iterable[Sequence[Any]]) -> Walked:
    """Walk every unit.

    Args:
        plan: the funnel.
        rows: unit, microsecond, sequence, starts, excluded, and a truth per step; unit by unit, in order.
    """
    reached: list[Attempt] = []
    still_open = 0
    for _, unit in groupby(rows, key=lambda row: row[0]):
        events = [Happened(row[1], row[2], row[3], row[4], tuple(row[5:])) for row in unit]
        attempts = list(_attempts(plan, events))
        clean = [attempt for attempt in attempts if not _spoilt(events, attempt)]
        if clean:
            best = max(clean, key=len)
            latest = attempts[-1][0].t
            reached.append(best)
            still_open += len(best) < len(plan.steps) and micros(plan.now) <= latest + micros_of(plan.window)
    return Walked(reached, still_open)


def _attempts(plan: FunnelPlan, events: Sequence[Happened]) -> Iterator[Attempt]:
    """The deepest attempt from each possible start, oldest first."""
    window = micros_of(plan.window)
    for i, start in enumerate(events):
        if start.starts:
            yield _walk(plan, [start, *(e for e in events[i + 1 :] if e.t - start.t <= window)])


def _walk(plan: FunnelPlan, events: Iterable[Happened]) -> Attempt:
    """Fill as many steps as can be filled, each as early as it can be."""
    left = list(range(len(plan.steps)))
    attempt: Attempt = []
    for event in events:
        ahead = left if plan.order is FunnelOrder.ANY else left[:1]
        step = next((k for k in ahead if event.steps[k]), None)
        if step is not None:
            left.remove(step)
            attempt.append(event)
        elif plan.order is FunnelOrder.STRICT:
            break
    return attempt


def _spoilt(events: Iterable[Happened], attempt: Attempt) -> bool:
    """Whether an excluded event lies between two of its steps."""
    return any(
        e.excluded and attempt[0].place < e.place < attempt[-1].place and e not in attempt for e in events
    )
