"""Evaluates funnels: how many units of a span reach each step."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median

from plugins.events_memory.column_values import count_distinct_by_column_text
from plugins.events_memory.relation_rows import event_row, is_in_span_and_matches_filters
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    ColumnValueCount,
    Event,
    FunnelOrder,
    FunnelReaderQuery,
    FunnelResult,
    FunnelStartValuesQuery,
    FunnelStep,
    FunnelStepUnit,
    FunnelStepUnitsQuery,
    event_time_key,
)

Attempt = list[Event]
"""The events of the steps a unit reached, in order; the first one starts the conversion window."""


def evaluate_funnel(plan: FunnelReaderQuery, history: WorkspaceEvents) -> FunnelResult:
    """Returns how many units reach each step, and how long it takes them."""
    reached: list[Attempt] = []
    still_open = 0
    for best, latest in _best_attempts_with_latest_start(plan, history):
        reached.append(best)
        still_open += len(best) < len(plan.steps) and plan.now <= latest + plan.window
    return FunnelResult([_step_count_and_durations(reached, k) for k in range(len(plan.steps))], still_open)


def list_units_of_step_and_total(
    query: FunnelStepUnitsQuery, history: WorkspaceEvents
) -> tuple[list[FunnelStepUnit], int]:
    """Returns a page of the units of a step, latest start first, and the number of all."""
    attempts = [
        attempt
        for attempt, _ in _best_attempts_with_latest_start(query.funnel, history)
        if query.includes_depth(len(attempt))
    ]
    attempts.sort(key=lambda attempt: event_time_key(attempt[0]), reverse=True)
    page = attempts[query.offset : query.offset + query.limit]
    return [_to_funnel_unit(attempt, history) for attempt in page], len(attempts)


def list_start_values(query: FunnelStartValuesQuery, history: WorkspaceEvents) -> list[ColumnValueCount]:
    """Returns the most frequent values of a column among the events that start a funnel, by number of units."""
    plan = query.funnel
    units = history.events_by_session if plan.by_session else history.events_by_person
    starts = (
        (unit, event_row(event, history, plan.scope).value_or_first_fallback(query.column))
        for unit, events in units.items()
        for event in _events_until_now_without_repeats(plan, events, history)
        if _can_start(plan, event, history)
    )
    return count_distinct_by_column_text(starts, query.limit)


def _to_funnel_unit(attempt: Attempt, history: WorkspaceEvents) -> FunnelStepUnit:
    first = attempt[0]
    return FunnelStepUnit(
        history.person_of(first),
        first.visitor_id,
        first.session_id,
        len(attempt),
        first.timestamp,
        attempt[-1].timestamp,
    )


def _best_attempts_with_latest_start(
    plan: FunnelReaderQuery, history: WorkspaceEvents
) -> Iterator[tuple[Attempt, datetime]]:
    """Yields the attempt of each unit that counts, and the time of the unit's latest start."""
    units = (history.events_by_session if plan.by_session else history.events_by_person).values()
    for unit in units:
        events = _events_until_now_without_repeats(plan, unit, history)
        attempts = list(_deepest_attempt_per_start(plan, events, history))
        clean = [
            attempt for attempt in attempts if not _has_excluded_event_between_steps(plan, events, attempt)
        ]
        if clean:
            yield max(clean, key=len), attempts[-1][0].timestamp


def _events_until_now_without_repeats(
    plan: FunnelReaderQuery, events: Iterable[Event], history: WorkspaceEvents
) -> list[Event]:
    return [
        event
        for event in events
        if event.timestamp < plan.now and event.seq not in history.repeated_order_seqs
    ]


def _can_start(plan: FunnelReaderQuery, event: Event, history: WorkspaceEvents) -> bool:
    """Returns whether an event is a step that may come first, in the span, and meets the filters."""
    is_first = any(_matches_step(plan, k, event, history) for k in plan.starting_steps)
    return is_first and is_in_span_and_matches_filters(plan.scope, event, history)


def _deepest_attempt_per_start(
    plan: FunnelReaderQuery, events: Sequence[Event], history: WorkspaceEvents
) -> Iterator[Attempt]:
    """Yields the deepest attempt from each possible start, oldest first."""
    for i, event in enumerate(events):
        if _can_start(plan, event, history):
            rest = [e for e in events[i + 1 :] if e.timestamp - event.timestamp <= plan.window]
            yield _match_steps_greedily(plan, event, rest, history)


def _matches_step(plan: FunnelReaderQuery, index: int, event: Event, history: WorkspaceEvents) -> bool:
    """Returns whether an event has a name of a step and meets its conditions."""
    conditions = plan.conditions_of_step(index)
    return event.event_name in plan.steps[index] and (
        not conditions or event_row(event, history, plan.scope).matches(conditions)
    )


def _match_steps_greedily(
    plan: FunnelReaderQuery, start: Event, later_events: Iterable[Event], history: WorkspaceEvents
) -> Attempt:
    """Returns the events that fill the steps of an attempt, each as early as possible."""
    left = list(range(len(plan.steps)))
    attempt: Attempt = []
    for event in (start, *later_events):
        if plan.order is FunnelOrder.ANY:
            step = next((k for k in left if _matches_step(plan, k, event, history)), None)
        else:
            step = left[0] if left and _matches_step(plan, left[0], event, history) else None
        if step is not None:
            left.remove(step)
            attempt.append(event)
        elif plan.order is FunnelOrder.STRICT:
            break
    return attempt


def _has_excluded_event_between_steps(
    plan: FunnelReaderQuery, events: Iterable[Event], attempt: Attempt
) -> bool:
    """Returns whether an excluded event lies between two steps of an attempt."""
    excluded = [e for e in events if plan.exclude and e.event_name in plan.exclude and e not in attempt]
    return any(event_time_key(attempt[0]) < event_time_key(e) < event_time_key(attempt[-1]) for e in excluded)


def _step_count_and_durations(reached: list[Attempt], step_index: int) -> FunnelStep:
    with_step = [attempt for attempt in reached if len(attempt) > step_index]
    if step_index == 0 or not with_step:
        return FunnelStep(len(with_step), None, None)
    seconds = [list(_seconds_between_steps(attempt))[step_index - 1] for attempt in with_step]
    return FunnelStep(len(with_step), float(median(seconds)), fmean(seconds))


def _seconds_between_steps(attempt: Attempt) -> Iterator[float]:
    """Yields the seconds between the steps of an attempt."""
    for before, after in pairwise(attempt):
        yield (after.timestamp - before.timestamp).total_seconds()
