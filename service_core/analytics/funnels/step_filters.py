"""Parses the filters of the steps of a funnel."""

import json
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from service_core.analytics.measures import Predicate, property_column
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.parse_filters import MAX_FILTERS, parse_operand_for_operator, parse_operator
from service_core.analytics.query.schemas import FilterBody, parse_filters_accepted_by_metrics
from service_core.analytics.query.segments import compile_event_conditions
from service_core.kernel.errors import BadRequest

StepConditions: TypeAlias = tuple[tuple[Predicate, ...], ...]
"""The conditions of the event of each step."""

_CODE: Final = "invalid_filter"
_FIELD: Final = "step_filters"
_PROPERTY: Final = "property:"


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
    try:
        lists = json.loads(json_text)
    except (ValueError, RecursionError):
        raise _invalid("step_filters must be JSON") from None
    if not isinstance(lists, list) or len(lists) != step_count:
        raise _invalid(f"step_filters is an array with {step_count} lists, one per step")
    return tuple(
        _parse_filters_of_step([] if filters is None else filters, f"{_FIELD}[{step}]", catalog)
        for step, filters in enumerate(lists)
    )


def _parse_filters_of_step(filters: Any, error_field: str, catalog: Catalog) -> tuple[Predicate, ...]:
    if not isinstance(filters, list) or len(filters) > MAX_FILTERS:
        raise _invalid(f"A step takes a list of at most {MAX_FILTERS} filters", error_field)
    try:
        bodies = [FilterBody.model_validate(condition) for condition in filters]
    except ValidationError:
        raise _invalid("A filter is {dimension, op, value}", error_field) from None
    of_properties = [body for body in bodies if body.dimension.startswith(_PROPERTY)]
    of_dimensions = [body for body in bodies if body not in of_properties]
    return (
        *_dimension_conditions(of_dimensions, error_field, catalog),
        *(_property_condition(body, error_field) for body in of_properties),
    )


def _dimension_conditions(
    filters: Sequence[FilterBody], error_field: str, catalog: Catalog
) -> tuple[Predicate, ...]:
    parsed = parse_filters_accepted_by_metrics(catalog, (), filters, error_field)
    return compile_event_conditions(catalog, parsed, error_field)


def _property_condition(condition: FilterBody, error_field: str) -> Predicate:
    key = condition.dimension.removeprefix(_PROPERTY)
    if not key:
        raise _invalid("property: needs a key", error_field)
    op = parse_operator(condition.op, _CODE, error_field)
    operand = parse_operand_for_operator(op, condition.value, _CODE, error_field)
    return Predicate(property_column(key), op, operand)


def _invalid(message: str, error_field: str = _FIELD) -> BadRequest:
    return BadRequest(message, _CODE, field=error_field)
