"""Counts touch paths with and without conversion and sums their money, for data-driven attribution models."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from plugins.events_memory.attribution_credits import CreditedConversion, credited_conversions
from plugins.events_memory.relation_rows import is_in_span, touch_value
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import QueryScope, TouchEvent, TouchPath, TouchPathQuery

PathKeys = tuple[tuple[str | None, ...], ...]


def count_touch_paths(plan: TouchPathQuery, history: WorkspaceEvents) -> list[TouchPath]:
    """Returns every distinct path with its counts and its money."""
    units = [
        unit
        for unit in credited_conversions(history, plan.scope, plan.event_names)
        if is_in_span(plan.scope.span, unit.booked_at)
    ]
    by_path: defaultdict[PathKeys, list[CreditedConversion]] = defaultdict(list)
    for unit in units:
        if keys := _collapsed_path_in_window_or_none(plan, unit, history):
            by_path[keys].append(unit)
    unconverted = Counter(_paths_of_unconverted_persons(plan, units, history))
    return [
        _path_with_summed_conversions(plan.scope, keys, by_path.get(keys, ()), unconverted[keys])
        for keys in {**by_path, **unconverted}
    ]


def _path_with_summed_conversions(
    scope: QueryScope, keys: PathKeys, units: Sequence[CreditedConversion], unconverted: int
) -> TouchPath:
    convertible = [unit for unit in units if unit.currency in {None, scope.currency}]
    return TouchPath(
        keys,
        sum(unit.credit > 0 for unit in units),
        unconverted,
        sum(unit.amount for unit in convertible),
        sum(unit.refunded for unit in convertible),
        sum(unit.is_order for unit in units),
    )


def _collapsed_path_in_window_or_none(
    plan: TouchPathQuery, unit: CreditedConversion, history: WorkspaceEvents
) -> PathKeys | None:
    """Returns the path of a conversion, charge or refund; None without a touch in the window."""
    if not unit.has_path:
        return None
    at, visits = unit.order_event.timestamp, history.touch_path_or_reported_touches(unit.order_event)
    return _collapsed_path_between(plan, visits, at - plan.window, at) or None


def _paths_of_unconverted_persons(
    plan: TouchPathQuery, units: Sequence[CreditedConversion], history: WorkspaceEvents
) -> Iterator[PathKeys]:
    """Yields one path per person with a touch since the window before the span and no conversion in the span."""
    done = {history.person_of(unit.event) for unit in units if unit.credit}
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
