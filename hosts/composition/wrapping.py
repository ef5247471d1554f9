"""Something around an adapter: it is measured, held back or made to fail, and who uses the port notices nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Any

from service_core.extension.adapters import Adapter
from service_core.extension.registry import Registry

Wrap = Callable[[str, Any], Any]
"""Port and opened adapter -> what takes its place; most give the adapter back."""


class Around:
    """An adapter some of whose methods are others.

    Args:
        adapter: answers everything else.
        methods: name -> what is called instead.
    """

    def __init__(self, adapter: Any, methods: Mapping[str, Any]) -> None:
        self._adapter = adapter
        vars(self).update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)


def asked(*ports: type) -> tuple[str, ...]:
    """The methods that are awaited for one answer, as these ports name them; streams are none."""
    return tuple(name for port in ports for name, method in vars(port).items() if iscoroutinefunction(method))


def wrapped(registry: Registry, *wraps: Wrap) -> Registry:
    """The registry, with every adapter it opens wrapped; the last of ``wraps`` lies outermost."""
    adapters = {
        key: replace(adapter, open=_opening(adapter, wraps)) for key, adapter in registry.adapters.items()
    }
    return replace(registry, adapters=MappingProxyType(adapters))


def _opening(adapter: Adapter, wraps: tuple[Wrap, ...]) -> Callable[[Any], Any]:
    return lambda settings: reduce(
        lambda inner, wrap: wrap(adapter.port, inner), wraps, adapter.open(settings)
    )
