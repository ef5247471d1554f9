"""Matching what a handler asks for to what the deployment has, by type."""

from collections.abc import Mapping
from typing import Any

from service_core.access.model import Caller
from service_core.gateway.bound import Bound
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Operation, unwrapped


def bind(operation: Operation, offers: Mapping[Any, object]) -> Bound:
    """Give a handler its dependencies.

    Args:
        operation: its keyword-only parameters are matched by their annotations.
        offers: type -> the one value of that type.

    Raises:
        StartupError: nobody provides a type, or a public operation asks who is calling.
    """
    dependencies: dict[str, object] = {}
    caller: str | None = None
    for name, annotation in operation.dependencies.items():
        wanted = unwrapped(annotation)
        if wanted is Caller:
            caller = name
        elif wanted in offers:
            dependencies[name] = offers[wanted]
        else:
            raise StartupError(
                f"{operation.id} ({operation.method} {operation.path}) asks for {name}: {_title(wanted)}, which "
                "nothing provides. Ask for a port, or add a provider in hosts/composition."
            )
    if caller and operation.scope is None:
        raise StartupError(f"{operation.id} asks who is calling, but takes no credential. Give it a scope.")
    return Bound(operation, dependencies, caller)


def _title(wanted: Any) -> str:
    return getattr(wanted, "__name__", str(wanted))
