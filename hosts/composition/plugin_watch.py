"""Watches the calls of plugins of other packages: faults, durations, and steps that block the event loop."""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hosts.composition.adapter_wrappers import WrappedAdapter
from service_core.extensions.adapters import Adapter
from service_core.extensions.discovery import InstalledPlugin, PluginOrigin
from service_core.extensions.registry import Registry

BLOCKING_SECONDS: Final = 0.1
"""A step on the event loop that takes longer is logged with the plugin."""

_LOG: Final = logging.getLogger(__name__)
_OWN_EXCEPTIONS: Final = "service_core."
_EXPECTED_BY_METHOD: Final[Mapping[str, type[Exception]]] = {"map_message": ValueError}
"""Exceptions that a port allows although they are none of the core's."""

_METHODS_BY_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "revenue_providers": ("verify_signature", "map_message"),
    "ad_platforms": ("list_accessible_accounts", "fetch_daily_spend"),
    "conversion_senders": ("send",),
}

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class PluginCall:
    """A finished call of a plugin.

    Attributes:
        plugin: name of the plugin.
        method: what was called.
        seconds: from call to result.
        is_fault: whether it raised an exception that its port does not declare.
    """

    plugin: str
    method: str
    seconds: float
    is_fault: bool


Observe = Callable[[PluginCall], None]


def watch_plugins_of_other_packages(registry: Registry, observe: Observe) -> Registry:
    """Returns the registry in which calls of plugins that are not built in are watched.

    Args:
        registry: the registry.
        observe: gets each finished call.
    """
    adapters = {
        key: _with_watched_open(adapter, plugin, observe)
        if (plugin := registry.plugin_of_adapter(*key)) is not None and _is_of_other_package(plugin)
        else adapter
        for key, adapter in registry.adapters.items()
    }
    providers: dict[str, Any] = {
        kind: MappingProxyType(
            {id_: _watch_value(registry, kind, id_, value, observe) for id_, value in values.items()}
        )
        for kind in _METHODS_BY_KIND
        if (values := getattr(registry, kind))
    }
    return replace(registry, adapters=MappingProxyType(adapters), **providers)


def watch_method(plugin: str, name: str, method: Callable[..., Any], observe: Observe) -> Callable[..., Any]:
    """Returns a method whose calls are timed; an async one is timed step by step, too."""
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def watched_async(*arguments: Any, **named: Any) -> Any:
            steps = _TimedSteps(method(*arguments, **named), partial(_log_if_blocking, plugin, name))
            return await _observed(steps, partial(_finish, plugin, name, time.monotonic(), observe), name)

        return watched_async

    @wraps(method)
    def watched(*arguments: Any, **named: Any) -> Any:
        finish = partial(_finish, plugin, name, began := time.monotonic(), observe)
        try:
            result = method(*arguments, **named)
        except Exception as error:
            finish(is_fault=_is_fault(name, error))
            raise
        finish(is_fault=False)
        if _runs_on_event_loop():
            _log_if_blocking(plugin, name, time.monotonic() - began)
        return result

    return watched


class _TimedSteps:
    """An awaitable that times each step of a coroutine between two suspensions.

    Args:
        coroutine: what is awaited.
        on_step: gets the seconds of each step.
    """

    def __init__(self, coroutine: Any, on_step: Callable[[float], None]) -> None:
        self._coroutine = coroutine
        self._on_step = on_step

    def __await__(self) -> Generator[Any, Any, Any]:
        """Runs the coroutine."""
        step = partial(self._coroutine.send, None)
        while True:
            began = time.monotonic()
            try:
                awaited = step()
            except StopIteration as finished:
                return finished.value
            finally:
                self._on_step(time.monotonic() - began)
            try:
                step = partial(self._coroutine.send, (yield awaited))
            except BaseException as error:  # noqa: BLE001 - a cancellation goes to the coroutine, as without the wrapper
                step = partial(self._coroutine.throw, error)


async def _observed(steps: Awaitable[Any], finish: Callable[..., None], name: str) -> Any:
    try:
        result = await steps
    except Exception as error:
        finish(is_fault=_is_fault(name, error))
        raise
    finish(is_fault=False)
    return result


def _finish(plugin: str, method: str, began: float, observe: Observe, *, is_fault: bool) -> None:
    observe(PluginCall(plugin, method, time.monotonic() - began, is_fault))


def _is_fault(method: str, error: Exception) -> bool:
    """Returns whether an exception is none that the port of the method declares."""
    expected = _EXPECTED_BY_METHOD.get(method)
    is_expected = expected is not None and isinstance(error, expected)
    return not is_expected and not type(error).__module__.startswith(_OWN_EXCEPTIONS)


def _log_if_blocking(plugin: str, method: str, seconds: float) -> None:
    if seconds > BLOCKING_SECONDS:
        _LOG.warning("Plugin %s blocked the event loop for %.0f ms in %s.", plugin, 1000 * seconds, method)


def _runs_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_of_other_package(plugin: InstalledPlugin) -> bool:
    return plugin.origin is not PluginOrigin.BUILT_IN


def _with_watched_open(adapter: Adapter, plugin: InstalledPlugin, observe: Observe) -> Adapter:
    def open_watched(settings: Any) -> Any:
        opened = adapter.open(settings)
        methods = {
            name: watch_method(plugin.name, name, getattr(opened, name), observe)
            for name in dir(type(opened))
            if not name.startswith("_") and inspect.isroutine(getattr(type(opened), name))
        }
        return WrappedAdapter(opened, methods)

    return replace(adapter, open=open_watched)


def _watch_value(registry: Registry, kind: str, id_: str, value: _Value, observe: Observe) -> _Value:
    """Returns a copy of a provider with its methods watched; the provider itself if it cannot be copied so."""
    plugin = registry.plugin_of_value(kind, id_)
    if plugin is None or not _is_of_other_package(plugin) or not hasattr(value, "__dict__"):
        return value
    watched = copy(value)
    for name in _METHODS_BY_KIND[kind]:
        object.__setattr__(watched, name, watch_method(plugin.name, name, getattr(value, name), observe))
    return watched
