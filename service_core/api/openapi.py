"""The OpenAPI 3.1 document, derived from the operations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from service_core.api.openapi_errors import (
    IDEMPOTENCY_KEY_PARAMETER,
    RATE_HEADERS,
    error_responses,
    list_error_statuses,
)
from service_core.api.openapi_security import ADDITIONAL_SCHEMES, SCHEMES_BY_REQUIREMENT, SECURITY_SCHEMES
from service_core.api.routes import V1_PREFIX
from service_core.kernel.file_response import FILE_MEDIA_TYPES, FileResponse
from service_core.kernel.operations import Operation, RoutePrefix, Scope
from service_core.kernel.request_parsing import describe_parameter_aliases

API_VERSION: Final = "1.0.0"
_COMPONENT_PREFIX: Final = "#/components/schemas/"


def build_openapi(operations: Sequence[Operation], *, public_url: str) -> dict[str, Any]:
    """Returns the OpenAPI document of the operations.

    Args:
        operations: all operations of the API.
        public_url: root URL of the deployment, without a trailing slash.
    """
    schemas = _OperationSchemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for op in operations:
        paths.setdefault(_full_path(op), {})[op.method.lower()] = _describe_operation(op, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Touchpoint",
            "version": API_VERSION,
            "summary": "Web analytics, attribution and revenue.",
        },
        "servers": [{"url": public_url}],
        "tags": [{"name": tag} for tag in dict.fromkeys(op.tag for op in operations)],
        "security": [],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": schemas.components,
            "responses": error_responses(),
            "headers": RATE_HEADERS,
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


class ResponseSchemaGenerator(GenerateJsonSchema):
    """Generates schemas as answers have them: decimals are numbers, and field names are not repeated as titles."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:  # noqa: ARG002
        """Returns the number schema."""
        return {"type": "number"}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """Returns False, because the title would repeat the field name."""
        return False


class _OperationSchemas:
    """Schemas of all models, generated together so that shared ones become one component."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        models = [entry for op in operations for entry in _iterate_models_to_describe(op)]
        schemas, definitions = TypeAdapter.json_schemas(
            models, ref_template=_COMPONENT_PREFIX + "{model}", schema_generator=ResponseSchemaGenerator
        )
        self._schemas = {key: schema for (key, _), schema in schemas.items()}
        self.components: dict[str, Any] = dict(definitions.get("$defs", {}))
        self._parameters = {
            key: self._resolve_reference(schema)
            for key, schema in self._schemas.items()
            if key[0] in ("query", "path")
        }
        for key in self._parameters:
            self.components.pop(self._schemas[key].get("$ref", "").removeprefix(_COMPONENT_PREFIX), None)

    def body_schema(self, part: str, op: Operation) -> Any:
        """Returns the schema of a body or an answer: a reference, or the schema itself."""
        return self._schemas[part, op.id]

    def parameters_schema(self, part: str, op: Operation) -> Mapping[str, Any]:
        """Returns the object schema of an operation's query or path; empty if it has none."""
        return self._parameters.get((part, op.id), {})

    def _resolve_reference(self, schema: Any) -> Mapping[str, Any]:
        reference = schema.get("$ref")
        resolved: Mapping[str, Any] = (
            self.components[reference.removeprefix(_COMPONENT_PREFIX)] if reference else schema
        )
        return resolved


def _iterate_models_to_describe(
    op: Operation,
) -> Iterable[tuple[tuple[str, str], JsonSchemaMode, TypeAdapter[Any]]]:
    for part, model in (("query", op.query), ("path", op.path_model), ("body", op.body)):
        if model is not None:
            yield (part, op.id), "validation", TypeAdapter(model)
    if op.answer is not FileResponse:
        yield ("answer", op.id), "serialization", TypeAdapter(op.answer)


def _full_path(op: Operation) -> str:
    return f"/{V1_PREFIX}{op.path}" if op.prefix is RoutePrefix.V1 else op.path


def _describe_operation(op: Operation, schemas: _OperationSchemas) -> dict[str, Any]:
    result: dict[str, Any] = {
        "operationId": op.id,
        "summary": op.summary.rstrip("."),
        "description": op.description,
        "tags": [op.tag],
        "parameters": [
            *_describe_parameters("path", op.path_model, schemas.parameters_schema("path", op)),
            *_describe_parameters("query", op.query, schemas.parameters_schema("query", op)),
            *([IDEMPOTENCY_KEY_PARAMETER] if op.idempotent else []),
        ],
        "responses": _describe_responses(op, schemas),
    }
    if op.scope is not None:
        scopes = [op.scope.value] if isinstance(op.scope, Scope) else []
        additional: dict[str, list[str]] = {
            scheme: [] for scheme in ADDITIONAL_SCHEMES.get(op.credential, ())
        }
        result["security"] = [
            {scheme: scopes, **additional} for scheme in SCHEMES_BY_REQUIREMENT[op.credential]
        ]
    if op.raw:
        result["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
    if op.body is not None:
        content = {"application/json": {"schema": schemas.body_schema("body", op)}}
        result["requestBody"] = {"required": not op.body_optional, "content": content}
    return {name: value for name, value in result.items() if value not in ("", [])}


def _describe_parameters(
    location: str, model: type[BaseModel] | None, schema: Mapping[str, Any]
) -> list[dict[str, Any]]:
    required = schema.get("required", ())
    described = []
    for name, raw in schema.get("properties", {}).items():
        field_schema = dict(raw)
        aliases = describe_parameter_aliases(model, name) if model else ""
        description = " ".join(filter(None, [field_schema.pop("description", None), aliases]))
        parameter = {
            "name": name,
            "in": location,
            "required": location == "path" or name in required,
            "schema": _remove_null_choice_and_default(field_schema),
        }
        described.append(parameter | ({"description": description} if description else {}))
    return described


def _remove_null_choice_and_default(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a parameter without null, because parameters are absent rather than null."""
    rest = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    choices = [choice for choice in rest.pop("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **rest}
    return rest | ({"anyOf": choices} if choices else {})


def _response_content(op: Operation, schemas: _OperationSchemas) -> dict[str, Any]:
    if op.answer is FileResponse:
        return {kind: {"schema": {"type": "string"}} for kind in FILE_MEDIA_TYPES}
    return {"application/json": {"schema": schemas.body_schema("answer", op)}}


def _describe_responses(op: Operation, schemas: _OperationSchemas) -> dict[str, Any]:
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in RATE_HEADERS} if op.scope else {}
    answer = {"description": op.summary, "content": _response_content(op, schemas)}
    answer |= {"headers": headers} if headers else {}
    success = {str(status): answer for status in op.statuses}
    errors = {str(status): {"$ref": f"#/components/responses/{status}"} for status in list_error_statuses(op)}
    return dict(sorted((errors | success).items()))
