"""Funnels: how far the units of a span walk through the steps (semantics 15)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median

from plugins.events_memory.history import History
from plugins.events_memory.rows import sees
from service_core.plugin import Event, FunnelOrder, FunnelPlan, FunnelStep, FunnelTable, moment

Attempt = list[Event]
"""The events of the steps a unit reached, in order; the first one starts the window."""


def funnel(plan: FunnelPlan, history: History) -> FunnelTable:
    """Walk the units through the steps."""
    units = (history.sessions if plan.by_session else history.persons).values()
    reached: list[Attempt] = []
    still_open = 0
    for unit in units:
        events = [event for event in unit if event.timestamp < plan.now]
        attempts = list(_attempts(plan, events))
        clean = [attempt for attempt in attempts if not _spoilt(plan, events, attempt)]
        if clean:
            best = max(clean, key=len)
            latest = attempts[-1][0].timestamp
            reached.append(best)
            still_open += len(best) < len(plan.steps) and plan.now <= latest + plan.window
    return FunnelTable([_step(reached, k) for k in range(len(plan.steps))], still_open)


def _attempts(plan: FunnelPlan, events: Sequence[Event]) -> Iterator[Attempt]:
    """The deepest attempt from each possible start, oldest first."""
    starts = frozenset().union(*plan.steps) if plan.order is FunnelOrder.ANY else plan.steps[0]
    for i, event in enumerate(events):
        if event.event_name in starts and sees(plan.scan, event):
            rest = [e for e in events[i + 1 :] if e.timestamp - event.timestamp <= plan.window]
            yield _walk(plan, event, rest)


def _walk(plan: FunnelPlan, start: Event, rest: Iterable[Event]) -> Attempt:
    """Fill as many steps as can be filled, each as early as it can be."""
    left = list(plan.steps)
    attempt: Attempt = []
    for event in (start, *rest):
        if plan.order is FunnelOrder.ANY:
            step = next((step for step in left if event.event_name in step), None)
        else:
            step = left[0] if left and event.event_name in left[0] else None
        if step is not None:
            left.remove(step)
            attempt.append(event)
        elif plan.order is FunnelOrder.STRICT:
            break
    return attempt


def _spoilt(plan: FunnelPlan, events: Iterable[Event], attempt: Attempt) -> bool:
    """Whether an excluded event lies between two of its steps."""
    excluded = [e for e in events if plan.exclude and e.event_name in plan.exclude and e not in attempt]
    return any(moment(attempt[0]) < moment(e) < moment(attempt[-1]) for e in excluded)


def _step(reached: list[Attempt], k: int) -> FunnelStep:
    there = [attempt for attempt in reached if len(attempt) > k]
    if k == 0 or not there:
        return FunnelStep(len(there), None, None)
    seconds = [list(_waits(attempt))[k - 1] for attempt in there]
    return FunnelStep(len(there), float(median(seconds)), fmean(seconds))


def _waits(attempt: Attempt) -> Iterator[float]:
    """Seconds between the steps of an attempt."""
    for before, after in pairwise(attempt):
        yield (after.timestamp - before.timestamp).total_seconds()
