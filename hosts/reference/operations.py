"""The page of endpoints, from the operations themselves."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from hosts.reference.markdown import code, page, section, table
from service_core.changes.envelope import Envelope
from service_core.kernel.files import File
from service_core.kernel.operations import Entry, Operation, Scope, Surface
from service_core.kernel.params import also_named

_CREDENTIALS: Final[Mapping[Entry, str]] = {
    Entry.PUBLIC: "No credential.",
    Entry.KEY: "Any key; which scope depends on what is asked for.",
    Entry.OAUTH: "OAuth access token.",
    Entry.KEY_OR_OAUTH: "Any key or OAuth access token.",
    Entry.SIGNUP: "Secret of the signup.",
    Entry.FILER: "The key, OAuth access token or signup secret that filed it.",
    Entry.INTERNAL: "Any key of the workspace, and the deployment's own token in `X-Internal-Token`.",
    Entry.WRITE_KEY: "Write key in `X-Service-API-Key` or `X-API-Key`.",
}
"""What opens a route that no single scope does."""

_MOST_INSIDE: Final = 32
"""Fields told of a part of an answer; what has more, such as an event, has a page of its own."""


def operations_page(operations: Iterable[Operation]) -> str:
    """One section per tag, one block per endpoint."""
    every = list(operations)
    sections = [
        section(tag.capitalize(), *(_block(op) for op in every if op.tag == tag))
        for tag in dict.fromkeys(op.tag for op in every)
    ]
    intro = (
        "The same declarations make the routes and `GET /openapi.json`, which has every type. Of an answer stand its fields, in "
        "parentheses those of an object and in brackets those of the rows of a list."
    )
    return page("Operations", intro, *sections)


def _block(op: Operation) -> str:
    prefix = "/v1" if op.surface is Surface.V1 else ""
    parts = [f"### {code(f'{op.method} {prefix}{op.path}')}", f"{op.summary} {_needs(op)}", op.description]
    for name, model in (("Path", op.path_model), ("Query", op.query), ("Body", op.body)):
        if model is not None and model.model_fields:
            parts.append(_fields(name, model))
    return "\n\n".join(part for part in [*parts, _answers(op)] if part)


def _needs(op: Operation) -> str:
    if isinstance(op.scope, Scope):
        return f"Scope {code(op.scope.value)}."
    return _CREDENTIALS[op.entry]


def _fields(name: str, model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = (
        (
            code(key),
            "required" if key in required else _default(field),
            kind(field, schema),
            f"{field.get('description', '')} {also_named(model, key)}",
        )
        for key, field in schema.get("properties", {}).items()
    )
    return table((name.lower(), "default", "type", "meaning"), rows)


def _answers(op: Operation) -> str:
    """The fields of the answer, and of what it holds."""
    if op.answer is File:
        return "Answers the file."
    if op.answer is Envelope:
        return "Answers the [envelope of a change](../consumers/changes.md)."
    schema = TypeAdapter(op.answer).json_schema(mode="serialization")
    shapes = [_members(shape, schema) for shape in _shapes(schema, schema)]
    told = " or ".join(", ".join(shape) for shape in shapes if shape)
    return f"Answers {told}." if told else ""


def _members(shape: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    return [f"{code(name)}{_inside(field, schema)}" for name, field in shape.get("properties", {}).items()]


def _inside(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The fields of a part that is an object, or a list of such."""
    for part in _shapes(field, schema):
        objects = _shapes(part["items"], schema) if "items" in part else [part]
        names = [code(name) for one in objects for name in one.get("properties", {})]
        if 0 < len(names) <= _MOST_INSIDE:
            listed = ", ".join(dict.fromkeys(names))
            return f" [{listed}]" if "items" in part else f" ({listed})"
    return ""


def _shapes(field: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas a field may have, without references."""
    if "$ref" in field:
        return _shapes(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    choices = field.get("anyOf") or field.get("oneOf")
    return [shape for choice in choices for shape in _shapes(choice, schema)] if choices else [field]


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None else code(value if isinstance(value, str) else json.dumps(value))


def kind(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A short name of a JSON schema: its type, its values or its bounds."""
    if "$ref" in field:
        return kind(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in field:
        kinds = (kind(part, schema) for part in field["anyOf"] if part.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(code(value) for value in field["enum"])
    if "const" in field:
        return code(field["const"])
    lowest, highest = field.get("minimum"), field.get("maximum")
    bounds = "" if lowest is None or highest is None else f" {lowest:.12g} to {highest:.12g}"
    return f"{field.get('type', 'any')}{bounds}"
