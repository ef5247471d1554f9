"""Matching what a handler asks for to what the deployment has, by type."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.access.model import Applicant, Caller, Stranger
from service_core.gateway.bound import Bound
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Entry, Operation, unwrapped

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
        elif wanted in offers:
            dependencies[name] = offers[wanted]
        else:
            raise StartupError(
                f"{operation.id} ({operation.method} {operation.path}) asks for {name}: {_title(wanted)}, which "
                "nothing provides. Ask for a port, or add a provider in hosts/composition."
            )
    return Bound(operation, dependencies, caller)


def _check(operation: Operation, wanted: Any) -> None:
    told = _WHO.get(operation.entry, Caller)
    if wanted == told:
        return
    if operation.entry is Entry.PUBLIC:
        raise StartupError(f"{operation.id} asks who is calling, but takes no credential. Give it a scope.")
    raise StartupError(f"{operation.id} asks for {_title(wanted)}, but its credential tells {_title(told)}.")


def _title(wanted: Any) -> str:
    return getattr(wanted, "__name__", str(wanted))
