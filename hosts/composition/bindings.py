"""The values of a deployment by type: what handlers, resources and components request with their annotations."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints

from service_core.access.models import AnonymousCaller, Caller, SignupCaller
from service_core.api.bound_operation import BoundOperation
from service_core.changes.resource import ResourceType
from service_core.changes.resource_definition import ResourceDefinition
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import CredentialRequirement, Operation, strip_annotated
from service_core.kernel.unique_index import index_unique_or_startup_error

_CALLER_TYPES: Final[Mapping[CredentialRequirement, Any]] = {
    CredentialRequirement.PUBLIC: AnonymousCaller,
    CredentialRequirement.SIGNUP: SignupCaller,
    CredentialRequirement.KEY_REQUESTER: Caller | SignupCaller,
}
"""Credential of a route -> the type of caller its handler gets; a `Caller` for the others."""

_Component = TypeVar("_Component")


class Bindings:
    """Type -> the one value of that type.

    Args:
        providers: type -> gives its value when it is first requested.
    """

    def __init__(self, providers: Mapping[Any, Callable[[], object]]) -> None:
        self._providers = providers
        self._values: dict[Any, object] = {}

    def get_or_build(self, kind: type[_Component]) -> _Component:
        """Returns the value of a type.

        Raises:
            KeyError: nothing is bound to it.
        """
        if kind not in self._values:
            self._values[kind] = self._providers[kind]()
        return cast(_Component, self._values[kind])

    def bind(self, kind: Any, value: object) -> None:
        """Sets the value of a type."""
        self._values[kind] = value

    def build_and_bind(self, component: type[_Component], **arguments: object) -> _Component:
        """Builds a component, binds it to its class and returns it; see `build`."""
        value = self.build_with_bound_arguments(component, **arguments)
        self.bind(component, value)
        return value

    def build_with_bound_arguments(
        self, component: Callable[..., _Component], **arguments: object
    ) -> _Component:
        """Calls a class or function with the values of the types that its parameters name.

        Args:
            component: parameters with a default value keep it.
            arguments: values of parameters, instead of those by type.

        Raises:
            StartupError: nothing is bound to the type of a parameter.
        """
        for name, annotation in required_parameter_types(component).items():
            if name not in arguments:
                arguments[name] = self.resolve_parameter(component.__name__, name, annotation)
        return component(**arguments)

    def resolve_parameter(self, requester: str, parameter_name: str, annotation: Any) -> object:
        """Returns the value of the type that a parameter names.

        Args:
            requester: who requests it, for the message.
            parameter_name: the parameter.
            annotation: its type; the None of an optional type is ignored.

        Raises:
            StartupError: nothing is bound to the type.
        """
        kind = type_without_annotated_and_none(annotation)
        try:
            return self.get_or_build(kind)
        except KeyError:
            raise StartupError(
                f"{requester} asks for {parameter_name}: {_type_name(kind)}, which nothing provides. Ask for a port, or add a "
                "provider in hosts/composition."
            ) from None


def type_without_annotated_and_none(annotation: Any) -> Any:
    """Returns the type whose value a parameter with this annotation gets; the None of an optional type is ignored."""
    kind = strip_annotated(annotation)
    if NoneType in get_args(kind):
        (kind,) = {*get_args(kind)} - {NoneType}
    return kind


@lru_cache(maxsize=1024)
def required_parameter_types(component: Callable[..., object]) -> dict[str, Any]:
    """Returns the annotations of the parameters of a class or function that have no default value."""
    constructor: Any = component
    hints = get_type_hints(constructor.__init__ if isinstance(component, type) else constructor)
    parameters = inspect.signature(component).parameters.values()
    return {
        parameter.name: hints[parameter.name]
        for parameter in parameters
        if parameter.default is parameter.empty
    }


def bind_operation(operation: Operation, bindings: Bindings) -> BoundOperation:
    """Returns an operation with the values of its keyword-only parameters.

    Raises:
        StartupError: nothing is bound to a type, or the handler requests a caller that its credential cannot give.
    """
    dependencies: dict[str, object] = {}
    caller: str | None = None
    for name, annotation in operation.dependencies.items():
        if strip_annotated(annotation) in (Caller, *_CALLER_TYPES.values()):
            _require_caller_type_of_credential(operation, strip_annotated(annotation))
            caller = name
        else:
            dependent = f"{operation.id} ({operation.method} {operation.path})"
            dependencies[name] = bindings.resolve_parameter(dependent, name, annotation)
    return BoundOperation(operation, dependencies, caller)


def build_resource_types(
    resources: Iterable[ResourceDefinition], bindings: Bindings
) -> tuple[ResourceType, ...]:
    """Returns the type of each writable resource, with what its functions request.

    Raises:
        StartupError: nothing is bound to a requested type, or two resources have the same type.
    """
    types = [resource.resource_type.with_dependencies(bindings.resolve_parameter) for resource in resources]
    by_type = index_unique_or_startup_error(
        types,
        lambda resource_type: resource_type.model.resource_type,
        lambda resource_type: f"the resource {resource_type.model.resource_type!r}",
    )
    return tuple(by_type.values())


def _require_caller_type_of_credential(operation: Operation, requested: Any) -> None:
    given = _CALLER_TYPES.get(operation.credential, Caller)
    if requested == given:
        return
    if operation.credential is CredentialRequirement.PUBLIC:
        raise StartupError(f"{operation.id} asks who is calling, but takes no credential. Give it a scope.")
    raise StartupError(
        f"{operation.id} asks for {_type_name(requested)}, but its credential tells {_type_name(given)}."
    )


def _type_name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
