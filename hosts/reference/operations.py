"""The page of endpoints, from the operations themselves."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from hosts.reference.markdown import code, page, section, table
from service_core.kernel.operations import Operation, Surface


def operations_page(operations: Iterable[Operation]) -> str:
    """One section per tag, one block per endpoint."""
    every = list(operations)
    sections = [
        section(tag.capitalize(), *(_block(op) for op in every if op.tag == tag))
        for tag in dict.fromkeys(op.tag for op in every)
    ]
    intro = "The same declarations make the routes and `GET /openapi.json`."
    return page("Operations", intro, *sections)


def _block(op: Operation) -> str:
    prefix = "/v1" if op.surface is Surface.V1 else ""
    needs = f"Scope {code(str(op.scope))}." if op.scope else "No credential."
    parts = [f"### {code(f'{op.method} {prefix}{op.path}')}", f"{op.summary} {needs}", op.description]
    for name, model in (("Path", op.path_model), ("Query", op.query), ("Body", op.body)):
        if model is not None and model.model_fields:
            parts.append(_fields(name, model))
    return "\n\n".join(part for part in parts if part)


def _fields(name: str, model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = (
        (
            code(key),
            "required" if key in required else _default(field),
            _kind(field, schema),
            field.get("description", ""),
        )
        for key, field in schema.get("properties", {}).items()
    )
    return table((name.lower(), "default", "type", "meaning"), rows)


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None else code(value)


def _kind(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A short name of a JSON schema: its type, its values or its bounds."""
    if "$ref" in field:
        return _kind(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in field:
        kinds = (_kind(part, schema) for part in field["anyOf"] if part.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(code(value) for value in field["enum"])
    if "const" in field:
        return code(field["const"])
    bounds = f" {field['minimum']:g} to {field['maximum']:g}" if {"minimum", "maximum"} <= set(field) else ""
    return f"{field.get('type', 'any')}{bounds}"
