"""The declaration of an endpoint. Routes, OpenAPI, MCP tools and reference pages are derived from it.

`operation` turns a handler into a frozen, callable `Operation`; nothing is registered on import. A handler is an
``async def`` whose parameters are matched by name and type:

``query``
    a pydantic model of the query parameters,
``body``
    a pydantic model of the JSON body,
``path``
    a pydantic model of the path parameters,
``raw``
    the body as bytes, to check a signature; instead of ``body``,
keyword-only parameters
    dependencies, matched by their annotation when the service is composed, and ``caller: Caller``, which
    `api.dispatch` sets for each request (`AnonymousCaller` where no credential is required, `SignupCaller` where the
    credential is a signup secret).

The return annotation is the response model, or a `HandlerResponse` of it, and defines the response schema.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from service_core.kernel.answer_table import AnswerTable
from service_core.kernel.errors import ApiError


class Scope(StrEnum):
    """Permissions a credential may have."""

    READ = "service:read"
    READ_AGGREGATES = "service:read:aggregates"
    WRITE_RULES = "service:write:rules"
    WRITE_LINKS = "service:write:links"
    WRITE_REPORTS = "service:write:reports"
    PROPOSE_SCRIPTS = "service:propose:scripts"


AnyScope = Literal["any"]
ANY_SCOPE: Final[AnyScope] = "any"
"""Any authenticated credential is accepted; the handler checks the scope itself."""


class CredentialRequirement(StrEnum):
    """Which credential an endpoint accepts.

    ``KEY`` is an agent key or a named key. ``OAUTH`` is an access token; a valid key gets 403. ``KEY_REQUESTER`` is any
    credential that can request a key: key, access token or signup secret. ``INTERNAL`` is a key together with the
    internal token of the deployment; a key without it gets 403.
    """

    PUBLIC = "public"
    KEY = "key"
    OAUTH = "oauth"
    KEY_OR_OAUTH = "key_or_oauth"
    SIGNUP = "signup"
    KEY_REQUESTER = "key_requester"
    WRITE_KEY = "write_key"
    INTERNAL = "internal"


class RateLimitClass(StrEnum):
    """Which rate limits a request counts against.

    ``DRY_RUN`` plans changes and makes none, and counts against the limit of plans. ``KEY_CREATION`` counts as a mutation although it changes no resource of the workspace. ``POLL`` counts as a read
    and is refused while the limit store is unavailable.
    """

    READ = "read"
    MUTATION = "mutation"
    DRY_RUN = "dry_run"
    KEY_CREATION = "keys"
    POLL = "poll"
    NONE = "none"


class Reversibility(StrEnum):
    """How far a change can be taken back."""

    REVERSIBLE = "reversible"
    REVERSIBLE_WITH_EFFECTS = "reversible_with_effects"
    IRREVERSIBLE = "irreversible"


class RoutePrefix(StrEnum):
    """Whether an operation is mounted under ``/v1`` or at the root."""

    V1 = "v1"
    ROOT = "root"


_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH_PARAMETER: Final = "{"
_MODEL_FIELD_BY_PARAMETER: Final = {"query": "query", "body": "body", "path": "path_model"}
"""Handler parameter that takes a model to the field of the `Operation` that holds it."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class HandlerResponse(Generic[_Answer]):
    """A response with its own status or headers. A handler that needs neither returns the bare body."""

    body: _Answer
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """A declared endpoint. Calling it calls the handler.

    Attributes:
        method: HTTP method, upper case.
        path: path template below the prefix, such as ``/users/{userId}``.
        scope: the required scope; `ANY_SCOPE` if the handler checks it; None for public endpoints.
        handler: the coroutine function.
        query, body, path_model, answer: pydantic models, or None where the handler has none.
        dependencies: keyword-only parameter to its annotated type, ``caller`` included.
        statuses: success statuses; the first is that of a bare response.
        errors: error statuses beyond those of every endpoint.
        map_error: converts an error for endpoints whose errors have another shape.
        idempotent: a retry with the same ``Idempotency-Key`` gets the first response again.
        starts_background_work: starts work that outlives the request. Like a mutation, it is refused while the limit
            store is unavailable and for inactive workspaces.
        credential: the credential it requires.
        raw: the handler takes the body as bytes.
        tool: name of its MCP tool; None for the id.
        has_tool: whether it is a tool of the MCP server, as far as its credential allows.
        tool_title: title of its MCP tool; None for the name in words.
        table: returns the rows of an answer, which a client may have as CSV, NDJSON or an Arrow stream; None for JSON only.
        is_aggregate: a read whose answer has no persons, raw events or files, so that
            `Scope.READ_AGGREGATES` suffices.
        reversibility: of a write, how far each of its changes can be taken back at least.
    """

    method: str
    path: str
    scope: Scope | AnyScope | None
    rate_limit: RateLimitClass
    prefix: RoutePrefix
    tag: str
    handler: Callable[..., Awaitable[Any]]
    query: type[BaseModel] | None
    body: type[BaseModel] | None
    path_model: type[BaseModel] | None
    answer: Any
    dependencies: Mapping[str, Any]
    statuses: tuple[int, ...] = (200,)
    errors: tuple[int, ...] = ()
    body_optional: bool = False
    map_error: Callable[[ApiError], ApiError] | None = None
    idempotent: bool = False
    starts_background_work: bool = False
    credential: CredentialRequirement = CredentialRequirement.KEY
    raw: bool = False
    tool: str | None = None
    has_tool: bool = True
    tool_title: str | None = None
    table: Callable[[Any], AnswerTable] | None = None
    is_aggregate: bool = False
    reversibility: Reversibility | None = None

    @property
    def accepted_scopes(self) -> frozenset[Scope]:
        """The scopes of which one suffices; empty if the handler checks the scope, and for public endpoints."""
        if not isinstance(self.scope, Scope):
            return frozenset()
        return frozenset({self.scope, Scope.READ_AGGREGATES} if self.is_aggregate else {self.scope})

    @property
    def is_refused_without_limit_store(self) -> bool:
        """Whether it is refused while the limit store is unavailable, instead of using the standby limit."""
        return self.requires_active_workspace or self.rate_limit in (
            RateLimitClass.DRY_RUN,
            RateLimitClass.KEY_CREATION,
            RateLimitClass.POLL,
        )

    @property
    def consumes_mutation_limit(self) -> bool:
        """Whether it counts against the limit of mutations, or that of plans, as well as the request limit."""
        return self.rate_limit in (
            RateLimitClass.MUTATION,
            RateLimitClass.DRY_RUN,
            RateLimitClass.KEY_CREATION,
        )

    @property
    def requires_active_workspace(self) -> bool:
        """Whether it needs an available limit store and an active workspace."""
        return self.starts_background_work or self.rate_limit is RateLimitClass.MUTATION

    @property
    def id(self) -> str:
        """The handler's name, used as ``operationId``."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """First line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        """The handler's docstring without its first line."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[2].strip()

    def __call__(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Calls the handler, as a test or another operation does."""
        return self.handler(*args, **kwargs)


def operation(
    route: str,
    *,
    scope: Scope | AnyScope | None = Scope.READ,
    rate_limit: RateLimitClass = RateLimitClass.READ,
    prefix: RoutePrefix = RoutePrefix.V1,
    tag: str,
    statuses: tuple[int, ...] = (200,),
    errors: tuple[int, ...] = (),
    body_optional: bool = False,
    map_error: Callable[[ApiError], ApiError] | None = None,
    idempotent: bool = False,
    starts_background_work: bool = False,
    credential: CredentialRequirement | None = None,
    tool: str | None = None,
    has_tool: bool = True,
    tool_title: str | None = None,
    table: Callable[[Any], AnswerTable] | None = None,
    is_aggregate: bool = False,
    reversibility: Reversibility | None = None,
) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
    """Declares an endpoint from its handler.

    Args:
        route: method and path, such as ``"GET /overview"``.
        scope: the required scope; `ANY_SCOPE` if the handler checks it; None for public endpoints.
        rate_limit: which rate limits the request counts against.
        prefix: ``/v1`` or the root.
        tag: group in the reference and in OpenAPI.
        statuses: success statuses; the first is that of a bare response.
        errors: error statuses beyond those of every endpoint.
        body_optional: a missing body counts as an empty object.
        map_error: converts an error of this endpoint.
        idempotent: honours ``Idempotency-Key``.
        starts_background_work: starts work that outlives the request.
        credential: the required credential; None means an agent key or named key, or no credential if ``scope`` is None.
        tool: name of the MCP tool; None for the handler's name.
        has_tool: whether it is an MCP tool, as far as its credential allows.
        tool_title: title of the MCP tool; None for its name in words.
        table: returns the rows of an answer, which a client may have as CSV, NDJSON or an Arrow stream.
        is_aggregate: a read without persons, raw events and files.
        reversibility: of a write, how far each of its changes can be taken back at least.

    Raises:
        TypeError: at import, if the route or the handler's signature breaks the rules above.
    """
    method, _, path = route.partition(" ")
    if method not in _METHODS or not path.startswith("/"):
        raise TypeError(f"{route!r} is not a route; write a method and a path, as in 'GET /overview'")
    required_credential = credential or (
        CredentialRequirement.PUBLIC if scope is None else CredentialRequirement.KEY
    )
    if (required_credential is CredentialRequirement.PUBLIC) != (scope is None):
        raise TypeError(f"{route}: a public endpoint has no scope, every other endpoint has one")
    if is_aggregate and scope is not Scope.READ:
        raise TypeError(f"{route}: only a read can be an aggregate")

    def declare(handler: Callable[..., Awaitable[Any]]) -> Operation:
        fields = _validated_fields_of_handler_signature(handler)
        if (_PATH_PARAMETER in path) != (fields["path_model"] is not None):
            raise TypeError(f"{handler.__name__}: {path} and the parameter 'path' do not match")
        return Operation(
            method=method,
            path=path,
            scope=scope,
            rate_limit=rate_limit,
            prefix=prefix,
            tag=tag,
            handler=handler,
            **fields,
            statuses=statuses,
            errors=errors,
            body_optional=body_optional,
            map_error=map_error,
            idempotent=idempotent,
            starts_background_work=starts_background_work,
            credential=required_credential,
            tool=tool,
            has_tool=has_tool,
            tool_title=tool_title,
            table=table,
            is_aggregate=is_aggregate,
            reversibility=reversibility,
        )

    return declare


def _validated_fields_of_handler_signature(handler: Callable[..., Awaitable[Any]]) -> dict[str, Any]:
    """Returns the fields of an `Operation` that follow from the handler's signature."""
    if not inspect.iscoroutinefunction(handler) or not inspect.getdoc(handler):
        raise TypeError(f"{handler.__name__}: a handler is an async def with a docstring")
    hints = get_type_hints(handler, include_extras=True)
    parameters = inspect.signature(handler).parameters
    untyped = next((name for name in parameters if name not in hints), None)
    if untyped is not None:
        raise TypeError(f"{handler.__name__}: parameter {untyped!r} needs a type annotation")
    models: dict[str, Any] = dict.fromkeys(_MODEL_FIELD_BY_PARAMETER.values())
    dependencies: dict[str, Any] = {}
    raw = False
    for name, parameter in parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            dependencies[name] = hints[name]
        elif name == "raw" and hints[name] is bytes:
            raw = True
        elif name in _MODEL_FIELD_BY_PARAMETER:
            models[_MODEL_FIELD_BY_PARAMETER[name]] = hints[name]
        else:
            raise TypeError(f"{handler.__name__}: unknown parameter {name!r}; dependencies are keyword-only")
    return {
        **models,
        "dependencies": dependencies,
        "answer": _unwrap_response_model(hints.get("return")),
        "raw": raw,
    }


def _unwrap_response_model(return_annotation: Any) -> Any:
    """Returns the response model of a return annotation, unwrapped from `HandlerResponse`."""
    return (
        get_args(return_annotation)[0]
        if get_origin(return_annotation) is HandlerResponse
        else return_annotation
    )


def strip_annotated(annotation: Any) -> Any:
    """Returns the bare type of an ``Annotated[...]``, or the annotation itself."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
