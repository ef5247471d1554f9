"""An endpoint, once: the declaration from which routes, OpenAPI, tools and reference pages are derived.

`operation` returns a frozen, callable `Operation`; nothing registers on import. A handler is an
``async def`` whose parameters are matched by name and by type:

``query``
    a pydantic model of the query parameters,
``body``
    a pydantic model of the JSON body,
``path``
    a pydantic model of the path parameters,
``raw``
    the body as bytes, for signatures; instead of ``body``,
keyword-only parameters
    dependencies, matched to ports by their annotation when the service is composed, and
    ``who: Caller``, which `gateway.dispatch` fills for each request (`Stranger` where no credential
    is asked for, `Applicant` where it is the secret of a signup).

The return annotation is the answer model, or a `Reply` of it, and writes the response schema.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from service_core.kernel.errors import ApiError


class Scope(StrEnum):
    """What a credential may do (contract 2.3)."""

    READ = "service:read"
    WRITE_RULES = "service:write:rules"
    WRITE_LINKS = "service:write:links"
    WRITE_REPORTS = "service:write:reports"
    PROPOSE_SCRIPTS = "service:propose:scripts"


AnyScope = Literal["any"]
ANY_SCOPE: Final[AnyScope] = "any"
"""Every identified credential may ask; the handler tests the scope once it knows what is asked for."""


class CredentialRequirement(StrEnum):
    """Which credential opens a route (contract 2.2, 12).

    ``KEY`` is an Agent key or named key. ``OAUTH`` is an access token; a valid key gets 403 there.
    ``FILER`` is whatever can file a request for a key: key, access token or signup secret.
    ``INTERNAL`` is a key beside the token of the deployment itself; a key alone gets 403 there.
    """

    PUBLIC = "public"
    KEY = "key"
    OAUTH = "oauth"
    KEY_OR_OAUTH = "key_or_oauth"
    SIGNUP = "signup"
    KEY_REQUESTER = "filer"
    WRITE_KEY = "write_key"
    INTERNAL = "internal"


class RateLimitClass(StrEnum):
    """Which budgets a request spends (contract 2.12, 14).

    ``KEYS`` makes credentials: it spends as a mutation does, and changes nothing a workspace owns.
    ``POLL`` spends a request, and is refused while the limit store is away.
    """

    READ = "read"
    MUTATION = "mutation"
    KEY_CREATION = "keys"
    POLL = "poll"
    NONE = "none"


class RoutePrefix(StrEnum):
    """Where an operation is mounted: under ``/v1`` or on the bare root (contract 1)."""

    V1 = "v1"
    ROOT = "root"


_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH_PARAMETER: Final = "{"
_MODEL_FIELD_BY_PARAMETER: Final = {"query": "query", "body": "body", "path": "path_model"}
"""Parameter of a handler that takes a model -> field of the `Operation`."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class HandlerResponse(Generic[_Answer]):
    """An answer that chooses its status or headers; a handler that needs neither returns the bare answer."""

    body: _Answer
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One declared endpoint. Calling it calls the handler.

    Attributes:
        method: HTTP method, upper case.
        path: template below the surface, e.g. ``/users/{userId}``.
        scope: needed scope; `ANY_SCOPE` when the handler tests it; None for routes without a credential.
        handler: the coroutine function.
        query, body, path_model, answer: pydantic models, or None where the handler has none.
        dependencies: keyword-only parameter -> annotated type, ``who`` included.
        statuses: the statuses that carry the answer; the first is that of a bare answer.
        errors: statuses of errors beyond those every route has.
        reshape: turns a refusal into the one this route answers, where its errors have a shape of
            their own.
        replays: a retry with the same ``Idempotency-Key`` gets the first answer again (contract 2.12).
        starts_background_work: begins something that outlives the request, as a mutation does: refused while the
            limit store is away, and to a workspace that is not active.
        entry: the credential that opens it.
        raw: takes the body as bytes.
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

    @property
    def fails_closed(self) -> bool:
        """Whether it is refused, not served on standby, while the limit store is away (contract 14)."""
        return self.requires_active_workspace or self.rate_limit in (
            RateLimitClass.KEY_CREATION,
            RateLimitClass.POLL,
        )

    @property
    def consumes_mutation_limit(self) -> bool:
        """Whether it needs room in both budgets."""
        return self.rate_limit in (RateLimitClass.MUTATION, RateLimitClass.KEY_CREATION)

    @property
    def requires_active_workspace(self) -> bool:
        """Whether it needs a limit store that answers and a workspace that is active (contract 14)."""
        return self.starts_background_work or self.rate_limit is RateLimitClass.MUTATION

    @property
    def id(self) -> str:
        """The handler's name: ``operationId`` in OpenAPI."""
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
        """Call the handler, as a test or another operation would."""
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
) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
    """Declare an endpoint from its handler.

    Args:
        route: method and path, e.g. ``"GET /overview"``.
        scope: the scope a credential needs; `ANY_SCOPE` when that depends on what is asked for; None
            only for public routes.
        budget: which budgets the request spends.
        surface: ``/v1`` or the bare root.
        tag: group in the reference and in OpenAPI.
        statuses: statuses that carry the answer; the first is that of a bare answer.
        errors: statuses the route may answer beyond those every route has.
        body_optional: an absent body is an empty object.
        reshape: turns a refusal into the one this route answers.
        replays: honours ``Idempotency-Key``.
        starts_background_work: begins something that outlives the request.
        entry: the credential that opens it; None for an Agent key or named key, or for no credential
            where ``scope`` is None.

    Raises:
        TypeError: at import, when the route is none, or the handler's signature does not follow the rules above.
    """
    method, _, path = route.partition(" ")
    if method not in _METHODS or not path.startswith("/"):
        raise TypeError(f"{route!r} is no route; write a method and a path, as in 'GET /overview'")
    opened_by = credential or (CredentialRequirement.PUBLIC if scope is None else CredentialRequirement.KEY)
    if (opened_by is CredentialRequirement.PUBLIC) != (scope is None):
        raise TypeError(f"{route}: a public route has no scope, and any other one has")

    def declare(handler: Callable[..., Awaitable[Any]]) -> Operation:
        taken = _signature_fields(handler)
        if (_PATH_PARAMETER in path) != (taken["path_model"] is not None):
            raise TypeError(f"{handler.__name__}: {path} and the parameter 'path' do not agree")
        return Operation(
            method=method,
            path=path,
            scope=scope,
            rate_limit=rate_limit,
            prefix=prefix,
            tag=tag,
            handler=handler,
            **taken,
            statuses=statuses,
            errors=errors,
            body_optional=body_optional,
            map_error=map_error,
            idempotent=idempotent,
            starts_background_work=starts_background_work,
            credential=opened_by,
        )

    return declare


def _signature_fields(handler: Callable[..., Awaitable[Any]]) -> dict[str, Any]:
    """The fields of an `Operation` that the handler's signature tells."""
    if not inspect.iscoroutinefunction(handler) or not inspect.getdoc(handler):
        raise TypeError(f"{handler.__name__}: an operation is an async def with a docstring")
    hints = get_type_hints(handler, include_extras=True)
    parameters = inspect.signature(handler).parameters
    untyped = next((name for name in parameters if name not in hints), None)
    if untyped is not None:
        raise TypeError(f"{handler.__name__}: {untyped!r} needs a type, by which it is known what it is for")
    taken: dict[str, Any] = dict.fromkeys(_MODEL_FIELD_BY_PARAMETER.values())
    dependencies: dict[str, Any] = {}
    raw = False
    for name, parameter in parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            dependencies[name] = hints[name]
        elif name == "raw" and hints[name] is bytes:
            raw = True
        elif name in _MODEL_FIELD_BY_PARAMETER:
            taken[_MODEL_FIELD_BY_PARAMETER[name]] = hints[name]
        else:
            raise TypeError(f"{handler.__name__}: unknown parameter {name!r}; dependencies are keyword-only")
    return {**taken, "dependencies": dependencies, "answer": _response_model(hints.get("return")), "raw": raw}


def _response_model(returned: Any) -> Any:
    """The answer's type: what a `Reply` carries, or what is returned bare."""
    return get_args(returned)[0] if get_origin(returned) is HandlerResponse else returned


def strip_annotated(annotation: Any) -> Any:
    """The bare type of an ``Annotated[...]``, or the annotation itself."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
