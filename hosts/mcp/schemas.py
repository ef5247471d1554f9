"""JSON Schemas of tool arguments and results; all of them together stay under 64 KiB.

So a schema says every name and kind, and words only where a program starts: at the arguments, and at the
fields of a resource a write nests under its name. Nothing refers to anything, and nothing is null: what is
not meant is left out. An answer tells its fields; what they mean stands in the reference of the route.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from hosts.mcp.range_arguments import DATE_ARGUMENTS, RANGE_ARGUMENT, add_common_range_arguments
from service_core.analytics.attribution_reads.operations import AttributionQuery
from service_core.analytics.cohorts.schemas import CohortQuery, RetentionQuery
from service_core.analytics.funnels.operations import FunnelQuery
from service_core.analytics.people.operations import UsersQuery
from service_core.analytics.query.breakdown import BreakdownQuery
from service_core.analytics.query.schemas import MetricsRequestBase
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.reads.event_list import EventsQuery
from service_core.analytics.reads.overview import OverviewQuery
from service_core.analytics.reads.query.schemas import SavedQuery
from service_core.api.openapi import ResponseSchemaGenerator
from service_core.kernel.operations import Operation, RateLimitClass
from service_core.kernel.row_selection import RowSelection

Schema = dict[str, Any]

_KEPT_KEYWORDS: Final = frozenset({"type", "format", "enum", "const", "required"})
_DESCRIPTIVE_KEYWORDS: Final = frozenset({"description", "default", "minimum", "maximum"})
_NULL_SCHEMA: Final = {"type": "null"}

_DRY_RUN_SCHEMA: Final = {"type": "boolean", "default": True}
_IDEMPOTENCY_KEY_SCHEMA: Final = {"type": "string"}

_SHARED_FIELDS: Final = RangeQuery.model_fields
_SHORT_DESCRIPTIONS: Final[Mapping[str | None, str | None]] = {
    _SHARED_FIELDS["start_date"].description: "Date or ISO 8601 instant; both inclusive.",
    _SHARED_FIELDS["end_date"].description: None,
    _SHARED_FIELDS["include_bots"].description: None,
    _SHARED_FIELDS["as_of"].description: None,
    RowSelection.model_fields["fields"].description: None,
    RowSelection.model_fields["omit_nulls"].description: None,
    OverviewQuery.model_fields["segment_id"].description: None,
    EventsQuery.model_fields["channel"].description: None,
    CohortQuery.model_fields["channel"].description: "First touch.",
    **{
        query.model_fields["segment_id"].description: None
        for query in (UsersQuery, CohortQuery, AttributionQuery)
    },
    MetricsRequestBase.model_fields["segment_id"].description: None,
    BreakdownQuery.model_fields["breakdown"].description: "Dimension or `property:<key>`.",
    BreakdownQuery.model_fields["top"].description: None,
    BreakdownQuery.model_fields["other"].description: None,
    CohortQuery.model_fields[
        "filters"
    ].description: "JSON: `[{dimension, op, value}]`, of the acquiring event.",
    RetentionQuery.model_fields["event_filters"].description: "JSON likewise, of the returning event.",
    RetentionQuery.model_fields["event_name"].description: "What makes active.",
    CohortQuery.model_fields["include_partial"].description: None,
    CohortQuery.model_fields["granularity"].description: None,
    CohortQuery.model_fields["periods"].description: None,
    FunnelQuery.model_fields["channel"].description: "Of step 1.",
    FunnelQuery.model_fields["exclude"].description: "Event that removes a unit between steps.",
    FunnelQuery.model_fields[
        "step_filters"
    ].description: "JSON: per step a list of `{dimension, op, value}`.",
}
"""Descriptions of the routes that many tools share -> the short one of the tools; None for no words."""


_STORED_QUERY_SCHEMA: Final = {"type": "object", "required": ["metrics"]}
"""Schema of a stored query: its fields are those that ``analytics_query`` takes, and stand there."""


def tool_arguments_schema(op: Operation) -> Schema:
    """Returns the schema of the arguments: parameters of path and query, and fields of the body; a range in both forms."""
    properties, required = add_common_range_arguments(*_parameter_schemas_and_required_names(op))
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def operation_parameter_names(op: Operation) -> frozenset[str]:
    """Returns the names of the parameters of path and query, and of the fields of the body."""
    fields = (model.model_fields.items() for model in (op.path_model, op.query, op.body) if model is not None)
    return frozenset(field.alias or name for pairs in fields for name, field in pairs)


def operation_requires_range(op: Operation) -> bool:
    """Returns whether the operation has no answer without a range."""
    _, required = _parameter_schemas_and_required_names(op)
    return any(name in required for name in (RANGE_ARGUMENT, *DATE_ARGUMENTS))


def _parameter_schemas_and_required_names(op: Operation) -> tuple[Schema, list[str]]:
    properties: Schema = {}
    required: list[str] = []
    is_write = op.rate_limit is RateLimitClass.MUTATION
    for model in (op.path_model, op.query, op.body):
        if model is not None:
            schema = TypeAdapter(model).json_schema(schema_generator=ResponseSchemaGenerator)
            lean = _inline_and_strip_schema(
                schema, schema.get("$defs", {}), described_levels=2 if is_write else 1
            )
            properties |= lean.get("properties", {})
            required += lean.get("required", ())
    if op.method == "PATCH":
        properties |= {
            name: _patch_field_schema_naming_create_tool(name, has_create_tool=op.path_model is not None)
            for name, property_schema in properties.items()
            if "properties" in property_schema
        }
    if is_write:
        properties["dry_run"] = _DRY_RUN_SCHEMA
    if is_write or op.idempotent:
        properties["idempotency_key"] = _IDEMPOTENCY_KEY_SCHEMA
    return {name: _shorten_argument_schema(schema) for name, schema in properties.items()}, required


def _shorten_argument_schema(schema: Schema) -> Schema:
    """Returns the schema of an argument with a short description, and without what its name says already."""
    description = schema.get("description")
    if description in _SHORT_DESCRIPTIONS:
        schema = {**schema, "description": _SHORT_DESCRIPTIONS[description]}
    return {
        key: value
        for key, value in schema.items()
        if value is not None and (key, value) != ("format", "uuid")
    }


def required_fields_result_schema(op: Operation) -> Schema:
    """Returns the schema of a result: the fields that are always present."""
    schema = TypeAdapter(op.answer).json_schema(
        mode="serialization", schema_generator=ResponseSchemaGenerator
    )
    answer = _resolve_reference_without_description(schema, schema.get("$defs", {}))
    return {"type": "object", "required": answer["required"]}


def _patch_field_schema_naming_create_tool(resource_name: str, *, has_create_tool: bool) -> Schema:
    """Returns a schema that refers to the create tool, or to the description, instead of repeating its fields."""
    source = f", as create_{resource_name} takes them" if has_create_tool else ""
    text = f"Fields to change{source}; null clears."
    return {"type": "object", "description": text}


def _inline_and_strip_schema(
    schema: Mapping[str, Any], defs: Mapping[str, Any], *, described_levels: int
) -> Schema:
    """Returns a schema without references, null and titles, and without descriptions below ``described_levels`` levels."""
    schema = _resolve_reference_without_description(schema, defs)
    names = _KEPT_KEYWORDS | _DESCRIPTIVE_KEYWORDS if described_levels >= 0 else _KEPT_KEYWORDS
    lean = {key: value for key, value in schema.items() if key in names and not _is_redundant(value)}
    if "properties" in schema:
        inside = schema["properties"].items()
        lean["properties"] = {
            name: _inline_and_strip_schema(part, defs, described_levels=described_levels - 1)
            for name, part in inside
        }
    if "items" in schema:
        lean["items"] = _inline_and_strip_schema(schema["items"], defs, described_levels=described_levels - 1)
    choices = [part for part in schema.get("anyOf", schema.get("oneOf", ())) if part != _NULL_SCHEMA]
    if len(choices) == 1:
        return _inline_and_strip_schema(choices[0], defs, described_levels=described_levels) | lean
    return lean | (
        {
            "anyOf": [
                _inline_and_strip_schema(part, defs, described_levels=described_levels) for part in choices
            ]
        }
        if choices
        else {}
    )


def _resolve_reference_without_description(
    schema: Mapping[str, Any], defs: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Returns a schema with its reference resolved; the description of the type is dropped."""
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    named = _STORED_QUERY_SCHEMA if name == SavedQuery.__name__ else defs[name]
    return {key: value for key, value in named.items() if key != "description"} | dict(schema)


def _is_redundant(value: Any) -> bool:
    return value is None or value is False or value == []
