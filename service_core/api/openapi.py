"""The OpenAPI 3.1 document, derived from the operations."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from service_core.api.examples import load_examples
from service_core.api.host_routes.models import Host, HostRoutes
from service_core.api.openapi_errors import (
    IDEMPOTENCY_KEY_PARAMETER,
    RATE_HEADERS,
    error_responses,
    error_schemas,
    list_error_statuses,
)
from service_core.api.openapi_security import describe_required_credentials, describe_security_schemes
from service_core.api.openapi_tags import describe_tags
from service_core.api.routes import V1_PREFIX
from service_core.kernel.file_response import ARROW_MEDIA_TYPE, FILE_MEDIA_TYPES, FileResponse
from service_core.kernel.operations import Operation, RateLimitClass, RoutePrefix, Scope
from service_core.kernel.request_parsing import describe_parameter_aliases
from service_core.kernel.row_selection import RowSelection, row_list_field_of_answer

API_VERSION: Final = "1.0.0"
PROJECT_URL: Final = "https://github.com/touchpoint-analytics/touchpoint"
_DESCRIPTION: Final = (
    "Events come in at the ingest host. Everything else is read and changed at the API host, with a key or an OAuth access "
    "token. Errors are JSON objects with an `error` sentence and a stable `code`. A value that is not known is null, with a "
    "reason, and never zero."
)
_COMPONENT_PREFIX: Final = "#/components/schemas/"
_WAITING_SCHEMA: Final = "ApprovalAnswer"


@dataclass(frozen=True, slots=True)
class HostUrls:
    """Root URLs of a deployment, without a trailing slash.

    Attributes:
        link_host: None while no link domain is set; the document then leaves the host open.
    """

    api: str
    ingest: str
    link_host: str | None = None

    def describe_servers(self, host: Host) -> list[dict[str, Any]]:
        """Returns the OpenAPI servers of a host."""
        if host is Host.LINKS and self.link_host is None:
            domain = {"default": "links.example.com", "description": "The link domain of a workspace."}
            return [{"url": "https://{link_domain}", "variables": {"link_domain": domain}}]
        return [{"url": {Host.API: self.api, Host.INGEST: self.ingest, Host.LINKS: self.link_host}[host]}]


def build_openapi(
    operations: Sequence[Operation],
    *,
    public_url: str,
    host_routes: Sequence[HostRoutes] = (),
    host_urls: HostUrls | None = None,
) -> dict[str, Any]:
    """Returns the OpenAPI document of the operations.

    Args:
        operations: all operations of the API.
        public_url: root URL of the deployment, without a trailing slash.
        host_routes: further routes that hosts serve without an operation.
        host_urls: where these are served; by default all of them at ``public_url``.
    """
    schemas = _OperationSchemas(operations)
    routes = [route for group in host_routes for route in group.routes]
    paths: dict[str, dict[str, Any]] = {}
    for op in operations:
        paths.setdefault(_full_path(op), {})[op.method.lower()] = _describe_operation(op, schemas)
    urls = host_urls or HostUrls(public_url, public_url, public_url)
    for route in routes:
        servers = {} if route.host is Host.API else {"servers": urls.describe_servers(route.host)}
        paths.setdefault(route.path, servers)[route.method.lower()] = route.to_openapi()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Touchpoint",
            "version": API_VERSION,
            "summary": "Web analytics, attribution and revenue.",
            "description": _DESCRIPTION,
            "contact": {"name": "Touchpoint", "url": PROJECT_URL},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url}],
        "tags": describe_tags([*(op.tag for op in operations), *(route.tag for route in routes)]),
        "security": [],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": _merge_schemas(schemas.components, host_routes),
            "responses": error_responses(),
            "headers": RATE_HEADERS,
            "securitySchemes": describe_security_schemes(public_url),
        },
    }


class ResponseSchemaGenerator(GenerateJsonSchema):
    """Generates schemas as answers have them: decimals are numbers, and field names are not repeated as titles."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:  # noqa: ARG002
        """Returns the number schema."""
        return {"type": "number"}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Returns the schema without a default of null, which says no more than that the field is optional."""
        described = super().default_schema(schema)
        return {key: value for key, value in described.items() if (key, value) != ("default", None)}

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
        for op in operations:
            if op.query is not None and issubclass(op.query, RowSelection):
                self._make_row_fields_optional(op, row_list_field_of_answer(op.path, op.answer))
        for key in self._parameters:
            self.components.pop(self._schemas[key].get("$ref", "").removeprefix(_COMPONENT_PREFIX), None)

    def _make_row_fields_optional(self, op: Operation, row_list: str) -> None:
        """Makes no field of a row required, since a request may leave fields out."""
        answer = self._schemas["answer", op.id]
        for choice in answer.get("anyOf", [answer]):
            rows = self._resolve_reference(choice)["properties"][row_list]
            rows["items"] = self._row_schema_without_required_fields(rows["items"])

    def _row_schema_without_required_fields(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Returns the schema of a row; its component becomes another one if reads of one record answer with it, too."""
        if "anyOf" in schema:
            return schema | {
                "anyOf": [self._row_schema_without_required_fields(part) for part in schema["anyOf"]]
            }
        name = schema.get("$ref", "").removeprefix(_COMPONENT_PREFIX)
        row = {key: value for key, value in self._resolve_reference(schema).items() if key != "required"}
        if not name:
            return row
        is_shared = self._count_references(name) > 1 and "required" in self.components[name]
        row_name = f"Partial{name}" if is_shared else name
        self.components[row_name] = row | {"title": row_name}
        return {"$ref": _COMPONENT_PREFIX + row_name}

    def _count_references(self, name: str) -> int:
        reference = f'"{_COMPONENT_PREFIX}{name}"'
        return sum(json.dumps(part).count(reference) for part in (self.components, [*self._schemas.values()]))

    def body_schema(self, part: str, op: Operation) -> Any:
        """Returns the schema of a body or an answer: a reference, or the schema itself."""
        return self._schemas[part, op.id]

    def parameters_schema(self, part: str, op: Operation) -> Mapping[str, Any]:
        """Returns the object schema of an operation's query or path; empty if it has none."""
        return self._parameters.get((part, op.id), {})

    def _resolve_reference(self, schema: Any) -> dict[str, Any]:
        reference = schema.get("$ref")
        resolved: dict[str, Any] = (
            self.components[reference.removeprefix(_COMPONENT_PREFIX)] if reference else schema
        )
        return resolved


def _merge_schemas(components: Mapping[str, Any], host_routes: Sequence[HostRoutes]) -> dict[str, Any]:
    """Returns the schemas of operations and host routes.

    Raises:
        ValueError: two schemas have the same name.
    """
    merged = dict(components)
    for schemas in (error_schemas(), *(group.schemas for group in host_routes)):
        shared = merged.keys() & schemas.keys()
        if shared:
            raise ValueError(f"two schemas have the same name: {', '.join(sorted(shared))}")
        merged |= schemas
    return merged


def _iterate_models_to_describe(
    op: Operation,
) -> Iterable[tuple[tuple[str, str], JsonSchemaMode, TypeAdapter[Any]]]:
    for part, model in (("query", op.query), ("path", op.path_model), ("body", op.body)):
        if model is not None:
            yield (part, op.id), "validation", TypeAdapter(model)
    if op.answer is not FileResponse:
        yield ("answer", op.id), "serialization", TypeAdapter(op.answer)


def _media_type(schema: Any, example: Any) -> dict[str, Any]:
    """Returns an OpenAPI media type object; None is no example."""
    return {"schema": schema} | ({} if example is None else {"example": example})


def _full_path(op: Operation) -> str:
    return f"/{V1_PREFIX}{op.path}" if op.prefix is RoutePrefix.V1 else op.path


def _describe_operation(op: Operation, schemas: _OperationSchemas) -> dict[str, Any]:
    example = load_examples().get(op.id, {})
    result: dict[str, Any] = {
        "operationId": op.id,
        "summary": op.summary.rstrip("."),
        "description": op.description or op.summary,
        "tags": [op.tag],
        "parameters": [
            *_describe_parameters(
                "path", op.path_model, schemas.parameters_schema("path", op), example.get("path", {})
            ),
            *_describe_parameters(
                "query", op.query, schemas.parameters_schema("query", op), example.get("query", {})
            ),
            *([IDEMPOTENCY_KEY_PARAMETER] if op.idempotent else []),
        ],
        "responses": _describe_responses(op, schemas, example),
    }
    if op.scope is not None:
        result["security"] = describe_required_credentials(op)
    if isinstance(op.scope, Scope):
        result["x-required-scope"] = op.scope.value
    if op.raw:
        result["requestBody"] = {
            "required": True,
            "content": {"application/json": _media_type({}, example.get("body"))},
        }
    if op.body is not None:
        content = {"application/json": _media_type(schemas.body_schema("body", op), example.get("body"))}
        result["requestBody"] = {"required": not op.body_optional, "content": content}
    return {name: value for name, value in result.items() if value not in ("", [])}


def _describe_parameters(
    location: str, model: type[BaseModel] | None, schema: Mapping[str, Any], examples: Mapping[str, Any]
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
        if name in examples:
            parameter["example"] = examples[name]
        described.append(parameter | ({"description": description} if description else {}))
    return described


def _remove_null_choice_and_default(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a parameter without null, because parameters are absent rather than null."""
    rest = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    choices = [choice for choice in rest.pop("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **rest}
    return rest | ({"anyOf": choices} if choices else {})


def _json_and_table_file_content(op: Operation, schemas: _OperationSchemas, answer: Any) -> dict[str, Any]:
    if op.answer is FileResponse:
        return {kind: _media_type({"type": "string"}, answer) for kind in FILE_MEDIA_TYPES}
    files = (
        {kind: _media_type({"type": "string"}, None) for kind in FILE_MEDIA_TYPES}
        | {ARROW_MEDIA_TYPE: _media_type({"type": "string", "format": "binary"}, None)}
        if op.table
        else {}
    )
    return {"application/json": _media_type(schemas.body_schema("answer", op), answer), **files}


def _describe_responses(
    op: Operation, schemas: _OperationSchemas, example: Mapping[str, Any]
) -> dict[str, Any]:
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in RATE_HEADERS} if op.scope else {}
    success = {
        str(status): {
            "description": op.summary,
            "content": _json_and_table_file_content(
                op, schemas, example.get("answer") if status == example.get("status") else None
            ),
            **({"headers": headers} if headers else {}),
        }
        for status in op.statuses
    }
    errors = {str(status): {"$ref": f"#/components/responses/{status}"} for status in list_error_statuses(op)}
    return dict(sorted((errors | _describe_202_of_write_awaiting_approval(op, schemas) | success).items()))


def _describe_202_of_write_awaiting_approval(op: Operation, schemas: _OperationSchemas) -> dict[str, Any]:
    """Returns the response of a write that a person has to approve; nothing for an operation that applies no change."""
    is_write = op.rate_limit is RateLimitClass.MUTATION and "applied" in getattr(
        op.answer, "model_fields", ()
    )
    if not is_write or _WAITING_SCHEMA not in schemas.components:
        return {}
    content = {"application/json": _media_type({"$ref": _COMPONENT_PREFIX + _WAITING_SCHEMA}, None)}
    return {"202": {"description": "The write waits for the approval of a person.", "content": content}}
