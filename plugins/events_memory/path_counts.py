"""Counts touch paths with and without conversion, for data-driven attribution models."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

from plugins.events_memory.relation_rows import is_in_span, touch_value
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import Event, TouchEvent, TouchPath, TouchPathQuery

PathKeys = tuple[tuple[str | None, ...], ...]


def count_touch_paths(plan: TouchPathQuery, history: WorkspaceEvents) -> list[TouchPath]:
    """Returns every distinct path with how often it converted and how often it did not."""
    conversions = _conversions_in_span(plan, history)
    converted = Counter(_paths_before_conversions(plan, conversions, history))
    unconverted = Counter(_paths_of_unconverted_persons(plan, conversions, history))
    return [TouchPath(keys, converted[keys], unconverted[keys]) for keys in {**converted, **unconverted}]


def _conversions_in_span(plan: TouchPathQuery, history: WorkspaceEvents) -> list[Event]:
    in_span = (
        event for event in history.conversions_once_per_order if is_in_span(plan.scope.span, event.timestamp)
    )
    return [event for event in in_span if plan.event_names is None or event.event_name in plan.event_names]


def _paths_before_conversions(
    plan: TouchPathQuery, conversions: list[Event], history: WorkspaceEvents
) -> Iterator[PathKeys]:
    """Yields one path per conversion that has one; all conversions of a person count."""
    for event in conversions:
        at = event.timestamp
        if keys := _collapsed_path_between(
            plan, history.touch_path_or_reported_touches(event), at - plan.window, at
        ):
            yield keys


def _paths_of_unconverted_persons(
    plan: TouchPathQuery, conversions: list[Event], history: WorkspaceEvents
) -> Iterator[PathKeys]:
    """Yields one path per person with a touch since the window before the span and no conversion in the span."""
    done = {history.person_of(event) for event in conversions}
    start, end = plan.scope.span.start - plan.window, plan.scope.span.end - datetime.resolution
    for person, visits in history.touches_by_person.items():
        if person not in done and (keys := _collapsed_path_between(plan, visits, start, end)):
            yield keys


def _collapsed_path_between(
    plan: TouchPathQuery, visits: Iterable[TouchEvent], first: datetime, end_inclusive: datetime
) -> PathKeys:
    """Returns the keys of the touches between two instants, both included; consecutive equal keys count once."""
    in_window = (visit for visit in visits if first <= visit.event.timestamp <= end_inclusive)
    keys = (tuple(touch_value(column, visit) for column in plan.key_columns) for visit in in_window)
    return tuple(key for key, _ in groupby(keys))
