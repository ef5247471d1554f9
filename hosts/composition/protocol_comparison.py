"""Compares an opened adapter with the protocols of its port: methods, signatures and async."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

_DUMMY: Final = object()


def describe_protocol_differences(adapter: object, protocol: type) -> list[str]:
    """Returns a text for each method of a protocol that an adapter lacks or declares differently."""
    return [
        problem
        for name, declared in _methods_of_protocol(protocol)
        if (problem := _describe_method_difference(adapter, name, declared)) is not None
    ]


def _methods_of_protocol(protocol: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yields the public methods that a protocol and its base protocols declare."""
    bases = [
        base for base in protocol.__mro__ if getattr(base, "_is_protocol", False) and base is not Protocol
    ]
    methods = {
        name: member
        for base in reversed(bases)
        for name, member in vars(base).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }
    yield from methods.items()


def _describe_method_difference(adapter: object, name: str, declared: Callable[..., Any]) -> str | None:
    """Returns how a method differs from the protocol's; None if it can be called as declared."""
    signature = inspect.signature(declared)
    actual = getattr(adapter, name, None)
    if not callable(actual):
        return f"it has no method {name}{_without_self(signature)}"
    if inspect.iscoroutinefunction(declared) and _is_annotated_as_not_awaitable(actual):
        return f"{name} has to be async"
    if _is_plain_function(declared) and inspect.iscoroutinefunction(actual):
        return f"{name} must not be async"
    if not _accepts_all_and_only_required_arguments(actual, signature):
        return f"{name} does not take {_without_self(signature)}"
    return None


def _is_annotated_as_not_awaitable(actual: Callable[..., Any]) -> bool:
    """Returns whether a method is a plain function that is annotated to return something else than an awaitable."""
    if not (inspect.ismethod(actual) or inspect.isfunction(actual)) or inspect.iscoroutinefunction(actual):
        return False
    returned = str(inspect.signature(actual).return_annotation)
    is_declared = inspect.signature(actual).return_annotation is not inspect.Signature.empty
    return not is_declared or not any(
        word in returned for word in ("Await", "Coroutine", "Future", "Any", "Task")
    )


def _is_plain_function(declared: Callable[..., Any]) -> bool:
    returned = str(inspect.signature(declared).return_annotation)
    return not inspect.iscoroutinefunction(declared) and not any(
        word in returned for word in ("Await", "Coroutine", "Async")
    )


def _accepts_all_and_only_required_arguments(
    actual: Callable[..., Any], signature: inspect.Signature
) -> bool:
    """Returns whether a method takes every argument of a signature, and no more than its required ones."""
    try:
        own = inspect.signature(actual)
    except (TypeError, ValueError):
        return True
    parameters = list(signature.parameters.values())[1:]
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    for arguments in (parameters, required):
        try:
            own.bind(*_positional(arguments), **_keyword_only(arguments))
        except TypeError:
            return False
    return True


def _positional(parameters: list[inspect.Parameter]) -> list[object]:
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return [_DUMMY for parameter in parameters if parameter.kind in kinds]


def _keyword_only(parameters: list[inspect.Parameter]) -> dict[str, object]:
    return {
        parameter.name: _DUMMY for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _without_self(signature: inspect.Signature) -> str:
    parameters = list(signature.parameters.values())[1:]
    return f"({', '.join(parameter.name for parameter in parameters)})"
