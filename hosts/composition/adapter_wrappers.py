"""Wraps adapters, to measure them, hold back calls or inject failures."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Any

from service_core.extensions.adapters import Adapter
from service_core.extensions.registry import Registry

AdapterWrapper = Callable[[str, Any], Any]
"""Port and opened adapter -> what takes its place; most give the adapter back."""


class WrappedAdapter:
    """An adapter with some of its methods replaced.

    Args:
        adapter: answers everything else.
        methods: name -> what is called instead.
    """

    def __init__(self, adapter: Any, methods: Mapping[str, Any]) -> None:
        self._adapter = adapter
        vars(self).update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)


def awaitable_methods(*ports: type) -> tuple[str, ...]:
    """Returns the coroutine methods that protocols declare; streams are not among them."""
    return tuple(name for port in ports for name, method in vars(port).items() if iscoroutinefunction(method))


def wrap_adapters(registry: Registry, *wraps: AdapterWrapper) -> Registry:
    """Returns the registry with every adapter wrapped when it is opened; the last wrapper is the outermost."""
    adapters = {
        key: replace(adapter, open=_wrap_open(adapter, wraps)) for key, adapter in registry.adapters.items()
    }
    return replace(registry, adapters=MappingProxyType(adapters))


def _wrap_open(adapter: Adapter, wraps: tuple[AdapterWrapper, ...]) -> Callable[[Any], Any]:
    return lambda settings: reduce(
        lambda inner, wrap: wrap(adapter.port, inner), wraps, adapter.open(settings)
    )
