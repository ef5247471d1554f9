"""Evaluates funnels in Python where SQL does not: strict or any order, and excluded events that are also steps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median
from typing import Any, NamedTuple

from plugins.events_sql.sql.time_buckets import epoch_microseconds, microseconds
from service_core.plugin import FunnelOrder, FunnelReaderQuery, FunnelStep


class FunnelEvent(NamedTuple):
    """An event of a unit: microsecond, sequence number and which steps it matches."""

    t: int
    seq: int
    starts: bool
    excluded: bool
    steps: tuple[bool, ...]

    @property
    def position(self) -> tuple[int, int]:
        """Its position in the order of all events."""
        return self.t, self.seq


Attempt = list[FunnelEvent]


@dataclass(frozen=True, slots=True)
class FunnelScan:
    """The best attempt of every unit, and how many units may still convert."""

    attempts: list[Attempt]
    open_count: int

    def step_result(self, step_index: int) -> FunnelStep:
        """Returns how many units reached a step after the first, and how long it took them."""
        waits = [
            (attempt[step_index].t - attempt[step_index - 1].t) / 1e6
            for attempt in self.attempts
            if len(attempt) > step_index
        ]
        return FunnelStep(len(waits), median(waits), fmean(waits)) if waits else FunnelStep(0, None, None)


def scan_funnel(plan: FunnelReaderQuery, sorted_event_rows: Iterable[Sequence[Any]]) -> FunnelScan:
    """Returns the result of a funnel over all units.

    Args:
        plan: the funnel.
        sorted_event_rows: unit, microsecond, sequence number, starts, excluded and a boolean per step; sorted by unit and time.
    """
    reached: list[Attempt] = []
    still_open = 0
    for _, unit in groupby(sorted_event_rows, key=lambda row: row[0]):
        events = [FunnelEvent(row[1], row[2], row[3], row[4], tuple(row[5:])) for row in unit]
        attempts = list(_deepest_attempt_per_start(plan, events))
        clean = [attempt for attempt in attempts if not _has_excluded_event_between_steps(events, attempt)]
        if clean:
            best = max(clean, key=len)
            latest = attempts[-1][0].t
            reached.append(best)
            still_open += len(best) < len(plan.steps) and epoch_microseconds(
                plan.now
            ) <= latest + microseconds(plan.window)
    return FunnelScan(reached, still_open)


def _deepest_attempt_per_start(plan: FunnelReaderQuery, events: Sequence[FunnelEvent]) -> Iterator[Attempt]:
    """Yields the deepest attempt from each possible start, oldest first."""
    window = microseconds(plan.window)
    for i, start in enumerate(events):
        if start.starts:
            yield _match_steps_greedily(
                plan, [start, *(e for e in events[i + 1 :] if e.t - start.t <= window)]
            )


def _match_steps_greedily(plan: FunnelReaderQuery, events: Iterable[FunnelEvent]) -> Attempt:
    """Returns the events that fill the steps of an attempt, each as early as possible."""
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


def _has_excluded_event_between_steps(events: Iterable[FunnelEvent], attempt: Attempt) -> bool:
    """Returns whether an excluded event lies between two steps of an attempt."""
    return any(
        e.excluded and attempt[0].position < e.position < attempt[-1].position and e not in attempt
        for e in events
    )
