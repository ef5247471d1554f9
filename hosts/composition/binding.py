"""Matching what a handler or a kind of resource asks for to what the deployment has, by type."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from service_core.access.models import AnonymousCaller, Caller, SignupCaller
from service_core.api.bound_operation import BoundOperation
from service_core.changes.resource import ResourceType
from service_core.changes.resource_definition import ResourceDefinition
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import CredentialRequirement, Operation, strip_annotated
from service_core.kernel.unique_index import index_unique

_CALLER_TYPES: Final[Mapping[CredentialRequirement, Any]] = {
    CredentialRequirement.PUBLIC: AnonymousCaller,
    CredentialRequirement.SIGNUP: SignupCaller,
    CredentialRequirement.KEY_REQUESTER: Caller | SignupCaller,
}
"""Entry -> what the handler can learn of whoever asks; a `Caller` for the others."""


def bind_operation(operation: Operation, bindings: Mapping[Any, object]) -> BoundOperation:
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
        wanted = strip_annotated(annotation)
        if wanted in (Caller, *_CALLER_TYPES.values()):
            _check_caller_type(operation, wanted)
            caller = name
        else:
            asking = f"{operation.id} ({operation.method} {operation.path})"
            dependencies[name] = _resolve_dependency(asking, name, wanted, bindings)
    return BoundOperation(operation, dependencies, caller)


def build_resource_kinds(
    resources: Iterable[ResourceDefinition], bindings: Mapping[Any, object]
) -> tuple[ResourceType, ...]:
    """Every type of resource that can be written, as this deployment writes it.

    Args:
        resources: what is installed.
        offers: type -> the one value of that type, for the kinds that ask.

    Raises:
        StartupError: nobody provides a type, or two kinds write one type of resource.
    """

    def provide(function: str, name: str, wanted: Any) -> object:
        return _resolve_dependency(function, name, wanted, bindings)

    kinds = [resource.resource_type.bind(provide) for resource in resources]
    by_type = index_unique(
        kinds,
        lambda kind: kind.model.resource_type,
        lambda kind: f"the resource {kind.model.resource_type!r}",
    )
    return tuple(by_type.values())


def _resolve_dependency(dependent: str, name: str, wanted: Any, bindings: Mapping[Any, object]) -> object:
    if wanted not in bindings:
        raise StartupError(
            f"{dependent} asks for {name}: {_type_name(wanted)}, which nothing provides. Ask for a port, or add a "
            "provider in hosts/composition."
        )
    return bindings[wanted]


def _check_caller_type(operation: Operation, wanted: Any) -> None:
    told = _CALLER_TYPES.get(operation.credential, Caller)
    if wanted == told:
        return
    if operation.credential is CredentialRequirement.PUBLIC:
        raise StartupError(f"{operation.id} asks who is calling, but takes no credential. Give it a scope.")
    raise StartupError(
        f"{operation.id} asks for {_type_name(wanted)}, but its credential tells {_type_name(told)}."
    )


def _type_name(wanted: Any) -> str:
    return getattr(wanted, "__name__", str(wanted))
