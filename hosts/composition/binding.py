"""Matching what a handler or a kind of resource asks for to what the deployment has, by type."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_type_hints

from service_core.access.model import Applicant, Caller, Stranger
from service_core.changes.resource import Kind, Writable
from service_core.gateway.bound import Bound
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Entry, Operation, unwrapped
from service_core.kernel.unique import unique

_WHO: Final[Mapping[Entry, Any]] = {
    Entry.PUBLIC: Stranger,
    Entry.SIGNUP: Applicant,
    Entry.FILER: Caller | Applicant,
}
"""Entry -> what the handler can learn of whoever asks; a `Caller` for the others."""


def bind(operation: Operation, offers: Mapping[Any, object]) -> Bound:
    """Give a handler its dependencies.

    Args:
        operation: its keyword-only parameters are matched by their annotations.
        offers: type -> the one value of that type.

    Raises:
        StartupError: nobody provides a type, or the handler asks for somebody its credential does not tell.
    """
    dependencies: dict[str, object] = {}
    caller: str | None = None
    for name, annotation in operation.dependencies.items():
        wanted = unwrapped(annotation)
        if wanted in (Caller, *_WHO.values()):
            _check(operation, wanted)
            caller = name
        else:
            asking = f"{operation.id} ({operation.method} {operation.path})"
            dependencies[name] = _given(asking, name, wanted, offers)
    return Bound(operation, dependencies, caller)


def kinds_of(resources: Iterable[Writable], offers: Mapping[Any, object]) -> tuple[Kind, ...]:
    """Every type of resource that can be written, as this deployment writes it.

    Args:
        resources: what is installed.
        offers: type -> the one value of that type, for the kinds that ask.

    Raises:
        StartupError: nobody provides a type, or two kinds write one type of resource.
    """
    kinds = [_made(resource.kind, offers) for resource in resources]
    by_type = unique(
        kinds,
        lambda kind: kind.model.resource_type,
        lambda kind: f"the resource {kind.model.resource_type!r}",
    )
    return tuple(by_type.values())


def _made(kind: Kind | Callable[..., Kind], offers: Mapping[Any, object]) -> Kind:
    if isinstance(kind, Kind):
        return kind
    wanted = get_type_hints(kind)
    wanted.pop("return", None)
    return kind(**{name: _given(kind.__name__, name, type_, offers) for name, type_ in wanted.items()})


def _given(asking: str, name: str, wanted: Any, offers: Mapping[Any, object]) -> object:
    if wanted not in offers:
        raise StartupError(
            f"{asking} asks for {name}: {_title(wanted)}, which nothing provides. Ask for a port, or add a "
            "provider in hosts/composition."
        )
    return offers[wanted]


def _check(operation: Operation, wanted: Any) -> None:
    told = _WHO.get(operation.entry, Caller)
    if wanted == told:
        return
    if operation.entry is Entry.PUBLIC:
        raise StartupError(f"{operation.id} asks who is calling, but takes no credential. Give it a scope.")
    raise StartupError(f"{operation.id} asks for {_title(wanted)}, but its credential tells {_title(told)}.")


def _title(wanted: Any) -> str:
    return getattr(wanted, "__name__", str(wanted))
