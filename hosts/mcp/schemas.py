"""What tools take and give as JSON Schema: all of it has to stay under 64 KiB (contract 9).

So a schema says every name and kind, and words only where a program starts: at the arguments, and at the
fields of a resource a write nests under its name. Nothing refers to anything, and nothing is null: what is
not meant is left out. An answer tells its fields; what they mean stands in the reference of the route.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from service_core.gateway.openapi import WireSchema
from service_core.kernel.operations import Budget, Operation

Schema = dict[str, Any]

_KEPT: Final = frozenset({"type", "format", "enum", "const", "required"})
_TOLD: Final = frozenset({"description", "default", "minimum", "maximum"})
_NULL: Final = {"type": "null"}

_DRY_RUN: Final = {"type": "boolean", "default": True, "description": "Show the change and make none."}
_ONCE: Final = {"type": "string", "maxLength": 255, "description": "A create or undo is made once per key."}


def input_schema(op: Operation) -> Schema:
    """Arguments of a tool: parameters of path and query, and fields of the body."""
    properties: Schema = {}
    required: list[str] = []
    writes = op.budget is Budget.MUTATION
    for model in (op.path_model, op.query, op.body):
        if model is not None:
            schema = TypeAdapter(model).json_schema(schema_generator=WireSchema)
            lean = _lean(schema, schema.get("$defs", {}), told=2 if writes else 1)
            properties |= lean.get("properties", {})
            required += lean.get("required", ())
    if op.method == "PATCH":
        properties |= {name: _changed(name) for name, one in properties.items() if "properties" in one}
    if writes:
        properties["dry_run"] = _DRY_RUN
    if writes or op.replays:
        properties["idempotency_key"] = _ONCE
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def output_schema(op: Operation) -> Schema:
    """The fields an answer always has."""
    schema = TypeAdapter(op.answer).json_schema(mode="serialization", schema_generator=WireSchema)
    answer = _resolved(schema, schema.get("$defs", {}))
    return {"type": "object", "required": answer["required"]}


def _changed(resource: str) -> Schema:
    """The fields of a resource once more would be most of what an update says."""
    text = f"Fields to change, as create_{resource} takes them; null clears an optional one."
    return {"type": "object", "description": text}


def _lean(schema: Mapping[str, Any], defs: Mapping[str, Any], *, told: int) -> Schema:
    """A schema without references, null and titles, and without words below ``told`` levels."""
    schema = _resolved(schema, defs)
    names = _KEPT | _TOLD if told >= 0 else _KEPT
    lean = {key: value for key, value in schema.items() if key in names and not _goes_without_saying(value)}
    if "properties" in schema:
        inside = schema["properties"].items()
        lean["properties"] = {name: _lean(one, defs, told=told - 1) for name, one in inside}
    if "items" in schema:
        lean["items"] = _lean(schema["items"], defs, told=told - 1)
    choices = [one for one in schema.get("anyOf", schema.get("oneOf", ())) if one != _NULL]
    if len(choices) == 1:
        return _lean(choices[0], defs, told=told) | lean
    return lean | ({"anyOf": [_lean(one, defs, told=told) for one in choices]} if choices else {})


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference leads to; words about the type are not words about the field."""
    if "$ref" not in schema:
        return schema
    named = defs[schema["$ref"].rpartition("/")[2]]
    return {key: value for key, value in named.items() if key != "description"} | dict(schema)


def _goes_without_saying(value: Any) -> bool:
    return value is None or value is False or value == []
