"""The reference page of endpoints."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from hosts.reference.markdown import format_code, render_page, render_section, render_table
from service_core.changes.envelope import Envelope
from service_core.kernel.file_response import FileResponse
from service_core.kernel.operations import CredentialRequirement, Operation, RoutePrefix, Scope
from service_core.kernel.request_parsing import describe_parameter_aliases

_CREDENTIAL_SENTENCES: Final[Mapping[CredentialRequirement, str]] = {
    CredentialRequirement.PUBLIC: "No credential.",
    CredentialRequirement.KEY: "Any key; which scope depends on what is asked for.",
    CredentialRequirement.OAUTH: "OAuth access token.",
    CredentialRequirement.KEY_OR_OAUTH: "Any key or OAuth access token.",
    CredentialRequirement.SIGNUP: "Secret of the signup.",
    CredentialRequirement.KEY_REQUESTER: "The key, OAuth access token or signup secret that made the request.",
    CredentialRequirement.INTERNAL: "Any key of the workspace, and the deployment's own token in `X-Internal-Token`.",
    CredentialRequirement.WRITE_KEY: "Write key in `X-Service-API-Key` or `X-API-Key`.",
}
"""Text on access to a route that needs no single scope."""

_MAX_NESTED_FIELDS: Final = 32
"""Fields listed of a part of an answer; larger parts, such as an event, have a page of their own."""


def render_operations_page(operations: Iterable[Operation]) -> str:
    """Renders the page of endpoints: one section per tag, one block per endpoint."""
    every = list(operations)
    sections = [
        render_section(tag.capitalize(), *(_render_operation(op) for op in every if op.tag == tag))
        for tag in dict.fromkeys(op.tag for op in every)
    ]
    intro = (
        "The same declarations make the routes and `GET /openapi.json`, which has every type. Of an answer stand its fields, in "
        "parentheses those of an object and in brackets those of the rows of a list."
    )
    return render_page("Operations", intro, *sections)


def _render_operation(op: Operation) -> str:
    prefix = "/v1" if op.prefix is RoutePrefix.V1 else ""
    parts = [
        f"### {format_code(f'{op.method} {prefix}{op.path}')}",
        f"{op.summary} {_describe_access(op)}",
        op.description,
    ]
    for name, model in (("Path", op.path_model), ("Query", op.query), ("Body", op.body)):
        if model is not None and model.model_fields:
            parts.append(_render_parameter_table(name, model))
    return "\n\n".join(part for part in [*parts, _render_response_fields(op)] if part)


def _describe_access(op: Operation) -> str:
    if isinstance(op.scope, Scope):
        totals = f", or {format_code(Scope.READ_AGGREGATES.value)}" if op.is_aggregate else ""
        return f"Scope {format_code(op.scope.value)}{totals}."
    return _CREDENTIAL_SENTENCES[op.credential]


def _render_parameter_table(heading: str, model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = (
        (
            format_code(key),
            "required" if key in required else _format_default(field),
            format_schema_type(field, schema),
            f"{field.get('description', '')} {describe_parameter_aliases(model, key)}",
        )
        for key, field in schema.get("properties", {}).items()
    )
    return render_table((heading.lower(), "default", "type", "meaning"), rows)


def _render_response_fields(op: Operation) -> str:
    """Renders the fields of the response and of the objects in it."""
    if op.answer is FileResponse:
        return "Answers the file."
    if op.answer is Envelope:
        return "Answers the [envelope of a change](../consumers/writes.md)."
    schema = TypeAdapter(op.answer).json_schema(mode="serialization")
    shapes = [_render_members(shape, schema) for shape in _resolve_schema_alternatives(schema, schema)]
    text = " or ".join(", ".join(shape) for shape in shapes if shape)
    return f"Answers {text}." if text else ""


def _render_members(shape: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    return [
        f"{format_code(name)}{_describe_nested_fields_unless_many(field, schema)}"
        for name, field in shape.get("properties", {}).items()
    ]


def _describe_nested_fields_unless_many(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Describes the fields of a field that is an object or a list of objects."""
    for part in _resolve_schema_alternatives(field, schema):
        objects = _resolve_schema_alternatives(part["items"], schema) if "items" in part else [part]
        names = [
            format_code(name) for object_schema in objects for name in object_schema.get("properties", {})
        ]
        if 0 < len(names) <= _MAX_NESTED_FIELDS:
            listed = ", ".join(dict.fromkeys(names))
            return f" [{listed}]" if "items" in part else f" ({listed})"
    return ""


def _resolve_schema_alternatives(
    field: Mapping[str, Any], schema: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Returns the schemas a field may have, with references resolved."""
    if "$ref" in field:
        return _resolve_schema_alternatives(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    choices = field.get("anyOf") or field.get("oneOf")
    return (
        [shape for choice in choices for shape in _resolve_schema_alternatives(choice, schema)]
        if choices
        else [field]
    )


def _format_default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None else format_code(value if isinstance(value, str) else json.dumps(value))


def format_schema_type(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Formats a JSON schema in short: its type, its values or its bounds."""
    if "$ref" in field:
        return format_schema_type(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in field:
        kinds = (format_schema_type(part, schema) for part in field["anyOf"] if part.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(format_code(value) for value in field["enum"])
    if "const" in field:
        return format_code(field["const"])
    lowest, highest = field.get("minimum"), field.get("maximum")
    bounds = "" if lowest is None or highest is None else f" {lowest:.12g} to {highest:.12g}"
    return f"{field.get('type', 'any')}{bounds}"
