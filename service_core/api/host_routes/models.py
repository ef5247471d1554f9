"""The description of a route that a host serves itself, and its OpenAPI form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
HTML: Final = "text/html"
JAVASCRIPT: Final = "text/javascript"

Schema = Mapping[str, Any]
ResponseStatus = int | Literal["default"]


class Host(StrEnum):
    """The host that serves a route."""

    API = "api"
    INGEST = "ingest"
    LINKS = "links"


@dataclass(frozen=True, slots=True)
class Content:
    """A request or response body.

    Attributes:
        schema: its JSON schema; a reference names a schema of the same `HostRoutes`.
        example: one value of the schema, as sent; None for a body without one.
    """

    media_type: str
    schema: Schema
    example: Any = None

    def to_openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI ``content`` object."""
        example = {} if self.example is None else {"example": self.example}
        return {self.media_type: {"schema": dict(self.schema), **example}}


@dataclass(frozen=True, slots=True)
class HostResponse:
    """A response of a route.

    Attributes:
        contents: one for each media type; none for an empty body.
        headers: name to description.
    """

    description: str
    contents: tuple[Content, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI response object."""
        described: dict[str, Any] = {"description": self.description}
        if self.contents:
            described["content"] = {
                kind: value for content in self.contents for kind, value in content.to_openapi().items()
            }
        if self.headers:
            described["headers"] = {
                name: {"description": text, "schema": {"type": "string"}}
                for name, text in self.headers.items()
            }
        return described


@dataclass(frozen=True, slots=True)
class HostRoute:
    """A route that a host serves without an `Operation`.

    Attributes:
        id: the ``operationId``.
        security: names of security schemes of which one is required; empty for a public route.
        parameters: OpenAPI parameter objects.
        body: None if the route takes no body.
        responses: status to response; ``default`` stands for all other statuses.
    """

    method: str
    path: str
    host: Host
    id: str
    tag: str
    summary: str
    description: str
    responses: Mapping[ResponseStatus, HostResponse]
    security: tuple[str, ...] = ()
    parameters: tuple[Mapping[str, Any], ...] = ()
    body: Content | None = None

    def to_openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI operation object."""
        described: dict[str, Any] = {
            "operationId": self.id,
            "summary": self.summary,
            "description": self.description,
            "tags": [self.tag],
            "responses": {
                str(status): self.responses[status].to_openapi() for status in sorted(self.responses, key=str)
            },
        }
        if self.parameters:
            described["parameters"] = [dict(parameter) for parameter in self.parameters]
        if self.security:
            described["security"] = [{name: []} for name in self.security]
        if self.body is not None:
            described["requestBody"] = {"required": True, "content": self.body.to_openapi()}
        return described


@dataclass(frozen=True, slots=True)
class HostRoutes:
    """Routes with the schemas that they refer to."""

    routes: tuple[HostRoute, ...]
    schemas: Mapping[str, Schema]


def reference(name: str) -> Schema:
    """Returns a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def path_parameter(
    name: str, description: str, example: str, pattern: str | None = None
) -> Mapping[str, Any]:
    """Returns an OpenAPI path parameter that holds a string."""
    schema = {"type": "string"} | ({} if pattern is None else {"pattern": pattern})
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": schema,
        "description": description,
        "example": example,
    }


def query_parameter(
    name: str, description: str, example: str, *, required: bool = False
) -> Mapping[str, Any]:
    """Returns an OpenAPI query parameter that holds a string."""
    return {
        "name": name,
        "in": "query",
        "required": required,
        "schema": {"type": "string"},
        "description": description,
        "example": example,
    }
