"""An endpoint, once: the declaration from which routes, OpenAPI, tools and reference pages are derived.

`operation` returns a frozen, callable `Operation`; nothing registers on import. A handler is an
``async def`` whose parameters are matched by name and by type:

``query``
    a pydantic model of the query parameters,
``body``
    a pydantic model of the JSON body,
``path``
    a pydantic model of the path parameters,
keyword-only parameters
    dependencies, matched to ports by their annotation when the service is composed, and
    ``who: Caller``, which `gateway.dispatch` fills for each request.

The return annotation is the answer model, or a `Reply` of it, and writes the response schema.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from service_core.kernel.errors import Refusal


class Scope(StrEnum):
    """What a credential may do (contract 2.3)."""

    READ = "service:read"
    WRITE_RULES = "service:write:rules"
    WRITE_LINKS = "service:write:links"
    WRITE_REPORTS = "service:write:reports"
    PROPOSE_SCRIPTS = "service:propose:scripts"


class Budget(StrEnum):
    """Which budgets a request spends (contract 2.12, 14)."""

    READ = "read"
    MUTATION = "mutation"
    NONE = "none"


class Surface(StrEnum):
    """Where an operation is mounted: under ``/v1`` or on the bare root (contract 1)."""

    V1 = "v1"
    ROOT = "root"


_PATH_PARAMETER: Final = "{"

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Reply(Generic[_Answer]):
    """An answer that chooses its status or headers; a handler that needs neither returns the bare answer."""

    answer: _Answer
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One declared endpoint. Calling it calls the handler.

    Attributes:
        method: HTTP method, upper case.
        path: template below the surface, e.g. ``/users/{userId}``.
        scope: needed scope; None for routes without a credential.
        handler: the coroutine function.
        query, body, path_model, answer: pydantic models, or None where the handler has none.
        dependencies: keyword-only parameter -> annotated type, ``who`` included.
        statuses: the statuses that carry the answer; the first is that of a bare answer.
        errors: statuses of errors beyond those every route has.
        reshape: turns a refusal into the one this route answers, where its errors have a shape of
            their own.
    """

    method: str
    path: str
    scope: Scope | None
    budget: Budget
    surface: Surface
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
    reshape: Callable[[Refusal], Refusal] | None = None

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
    scope: Scope | None = Scope.READ,
    budget: Budget = Budget.READ,
    surface: Surface = Surface.V1,
    tag: str,
    statuses: tuple[int, ...] = (200,),
    errors: tuple[int, ...] = (),
    body_optional: bool = False,
    reshape: Callable[[Refusal], Refusal] | None = None,
) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
    """Declare an endpoint from its handler.

    Args:
        route: method and path, e.g. ``"GET /overview"``.
        scope: the scope a credential needs; None only for public routes.
        budget: which budgets the request spends.
        surface: ``/v1`` or the bare root.
        tag: group in the reference and in OpenAPI.
        statuses: statuses that carry the answer; the first is that of a bare answer.
        errors: statuses the route may answer beyond those every route has.
        body_optional: an absent body is an empty object.
        reshape: turns a refusal into the one this route answers.

    Raises:
        TypeError: at import, when the handler's signature does not follow the rules above.
    """
    method, _, path = route.partition(" ")

    def declare(handler: Callable[..., Awaitable[Any]]) -> Operation:
        if not inspect.iscoroutinefunction(handler) or not inspect.getdoc(handler):
            raise TypeError(f"{handler.__name__}: an operation is an async def with a docstring")
        hints = get_type_hints(handler, include_extras=True)
        models: dict[str, type[BaseModel] | None] = {"query": None, "body": None, "path": None}
        dependencies: dict[str, Any] = {}
        for name, parameter in inspect.signature(handler).parameters.items():
            annotation = hints[name]
            if parameter.kind is parameter.KEYWORD_ONLY:
                dependencies[name] = annotation
            elif name in models:
                models[name] = annotation
            else:
                raise TypeError(
                    f"{handler.__name__}: unknown parameter {name!r}; dependencies are keyword-only"
                )
        if (_PATH_PARAMETER in path) != (models["path"] is not None):
            raise TypeError(f"{handler.__name__}: {path} and the parameter 'path' do not agree")
        return Operation(
            method=method,
            path=path,
            scope=scope,
            budget=budget,
            surface=surface,
            tag=tag,
            handler=handler,
            query=models["query"],
            body=models["body"],
            path_model=models["path"],
            answer=_answer(hints.get("return")),
            dependencies=dependencies,
            statuses=statuses,
            errors=errors,
            body_optional=body_optional,
            reshape=reshape,
        )

    return declare


def _answer(returned: Any) -> Any:
    """The answer's type: what a `Reply` carries, or what is returned bare."""
    return get_args(returned)[0] if get_origin(returned) is Reply else returned


def unwrapped(annotation: Any) -> Any:
    """The bare type of an ``Annotated[...]``, or the annotation itself."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
