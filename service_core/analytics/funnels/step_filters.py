"""Parses the filters of the steps of a funnel."""

from typing import Any, Final, TypeAlias

from service_core.analytics.measures import Predicate
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.event_filters import (
    compile_event_filters,
    invalid_filter,
    parse_json,
    validate_filter_bodies,
)

StepConditions: TypeAlias = tuple[tuple[Predicate, ...], ...]
"""The conditions of the event of each step."""

_FIELD: Final = "step_filters"


def parse_step_filters(json_text: str | None, step_count: int, catalog: Catalog) -> StepConditions:
    """Returns the conditions of each step; nothing for a request without filters.

    Args:
        json_text: a JSON array with a list of filters per step.
        step_count: the number of steps.
        catalog: the dimensions; ``property:<key>`` is a property of the event.

    Raises:
        BadRequest: ``invalid_filter``, ``unknown_dimension`` or ``incompatible_dimension``.
    """
    if json_text is None:
        return ()
    lists = parse_json(json_text, _FIELD)
    if not isinstance(lists, list) or len(lists) != step_count:
        raise invalid_filter(f"step_filters is an array with {step_count} lists, one per step", _FIELD)
    return tuple(
        _parse_filters_of_step(filters, f"{_FIELD}[{step}]", catalog) for step, filters in enumerate(lists)
    )


def _parse_filters_of_step(filters: Any, error_field: str, catalog: Catalog) -> tuple[Predicate, ...]:
    bodies = validate_filter_bodies([] if filters is None else filters, error_field)
    return compile_event_filters(bodies, error_field, catalog)
