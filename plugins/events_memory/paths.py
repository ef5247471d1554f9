"""Touch paths for data-driven models (semantics 9)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

from plugins.events_memory.history import History
from plugins.events_memory.rows import first_set, within
from service_core.plugin import Event, Path, PathPlan, Visit

Keys = tuple[tuple[str | None, ...], ...]


def paths(plan: PathPlan, history: History) -> list[Path]:
    """Every different path with how often it converted and how often it did not."""
    conversions = _conversions(plan, history)
    converted = Counter(_converted(plan, conversions, history))
    unconverted = Counter(_unconverted(plan, conversions, history))
    return [Path(keys, converted[keys], unconverted[keys]) for keys in {**converted, **unconverted}]


def _conversions(plan: PathPlan, history: History) -> list[Event]:
    in_span = (event for event in history.conversions if within(plan.scan.span, event.timestamp))
    return [event for event in in_span if plan.event_names is None or event.event_name in plan.event_names]


def _converted(plan: PathPlan, conversions: list[Event], history: History) -> Iterator[Keys]:
    """One path per conversion that has one; every repeat of a person counts."""
    for event in conversions:
        at = event.timestamp
        if keys := _keys(plan, history.path(event), at - plan.window, at):
            yield keys


def _unconverted(plan: PathPlan, conversions: list[Event], history: History) -> Iterator[Keys]:
    """One path per person with a touch since the window before the span and no conversion in it."""
    done = {history.person(event) for event in conversions}
    start, end = plan.scan.span.start - plan.window, plan.scan.span.end - datetime.resolution
    for person, visits in history.visits.items():
        if person not in done and (keys := _keys(plan, visits, start, end)):
            yield keys


def _keys(plan: PathPlan, visits: Iterable[Visit], first: datetime, last: datetime) -> Keys:
    """The keys of the touches between two instants, both included; repeats in a row are one."""
    met = (visit for visit in visits if first <= visit.event.timestamp <= last)
    keys = (tuple(first_set(column, visit.value) for column in plan.key) for visit in met)
    return tuple(key for key, _ in groupby(keys))
