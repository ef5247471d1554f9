"""Parses filters of events that a query parameter holds as JSON."""

import json
from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from service_core.analytics.measures import NOT_SET, FilterOperator, Operand, Predicate, property_column
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.parse_filters import MAX_FILTERS, parse_operand_for_operator, parse_operator
from service_core.analytics.query.schemas import FilterBody, parse_filters_accepted_by_metrics
from service_core.analytics.query.segments import compile_conditions_on_single_events
from service_core.kernel.dimension_ids import PROPERTY_PREFIX
from service_core.kernel.errors import BadRequest

_CODE: Final = "invalid_filter"
_ABSENCE_OPERATORS: Final = {
    FilterOperator.EQ: FilterOperator.IS_NOT_SET,
    FilterOperator.NEQ: FilterOperator.IS_SET,
}


def parse_event_filters(json_text: str | None, error_field: str, catalog: Catalog) -> tuple[Predicate, ...]:
    """Returns the conditions of the events that meet a JSON array of filters; nothing without a text.

    Raises:
        BadRequest: ``invalid_filter``, ``unknown_dimension`` or ``incompatible_dimension``.
    """
    return compile_event_filters(parse_filter_bodies(json_text, error_field), error_field, catalog)


def parse_filter_bodies(json_text: str | None, error_field: str) -> list[FilterBody]:
    """Returns the filters of a JSON array; nothing without a text.

    Raises:
        BadRequest: ``invalid_filter``.
    """
    return (
        [] if json_text is None else validate_filter_bodies(parse_json(json_text, error_field), error_field)
    )


def parse_json(json_text: str, error_field: str) -> Any:
    """Returns the value of a JSON text.

    Raises:
        BadRequest: ``invalid_filter``.
    """
    try:
        return json.loads(json_text)
    except (ValueError, RecursionError):
        raise invalid_filter(f"{error_field} must be JSON", error_field) from None


def validate_filter_bodies(filters: Any, error_field: str) -> list[FilterBody]:
    """Returns the filters of a JSON value.

    Raises:
        BadRequest: ``invalid_filter``.
    """
    if not isinstance(filters, list) or len(filters) > MAX_FILTERS:
        raise invalid_filter(f"{error_field} takes a list of at most {MAX_FILTERS} filters", error_field)
    try:
        return [FilterBody.model_validate(condition) for condition in filters]
    except ValidationError:
        raise invalid_filter("A filter is {dimension, op, value}", error_field) from None


def compile_event_filters(
    filters: Sequence[FilterBody], error_field: str, catalog: Catalog
) -> tuple[Predicate, ...]:
    """Returns the conditions of single events; ``property:<key>`` is a property of the event.

    Raises:
        BadRequest: ``invalid_filter``, ``unknown_dimension`` or ``incompatible_dimension``.
    """
    of_properties = [body for body in filters if body.dimension.startswith(PROPERTY_PREFIX)]
    of_dimensions = [body for body in filters if body not in of_properties]
    parsed = parse_filters_accepted_by_metrics(catalog, (), of_dimensions, error_field)
    return (
        *compile_conditions_on_single_events(catalog, parsed, error_field),
        *(_property_condition(body, error_field) for body in of_properties),
    )


def _property_condition(condition: FilterBody, error_field: str) -> Predicate:
    key = parse_property_key(condition.dimension, error_field)
    op = parse_operator(condition.op, _CODE, error_field)
    operand = parse_operand_for_operator(op, condition.value, _CODE, error_field)
    return _as_absence_if_not_set(Predicate(property_column(key), op, operand))


def _as_absence_if_not_set(condition: Predicate) -> Predicate:
    """Returns the condition with the label of an absent value understood as such."""
    operand: Operand = condition.value
    if operand == NOT_SET and condition.op in _ABSENCE_OPERATORS:
        return Predicate(condition.column, _ABSENCE_OPERATORS[condition.op])
    if isinstance(operand, tuple) and NOT_SET in operand:
        operand = tuple(None if part == NOT_SET else part for part in operand)
    return Predicate(condition.column, condition.op, operand)


def parse_property_key(dimension_id: str, error_field: str) -> str:
    """Returns the key of a dimension ``property:<key>``.

    Raises:
        BadRequest: ``invalid_filter``, without a key.
    """
    key = dimension_id.removeprefix(PROPERTY_PREFIX)
    if not key:
        raise invalid_filter("property: needs a key", error_field)
    return key


def invalid_filter(message: str, error_field: str) -> BadRequest:
    """Returns the error of a filter that cannot be read."""
    return BadRequest(message, _CODE, field=error_field)
