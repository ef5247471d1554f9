"""Times the calls of a plugin's methods, counts their faults, and names a plugin that blocks the event loop."""

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Final

from service_core.extensions.discovery import InstalledPlugin
from service_core.kernel.plugin_faults import mark_as_fault_of_plugin

BLOCKING_SECONDS: Final = 0.1
"""A step on the event loop that takes longer is logged with the plugin."""

_LOG: Final = logging.getLogger(__name__)
_OWN_EXCEPTIONS: Final = "service_core."
_EXPECTED_BY_METHOD: Final = {"map_message": ValueError}
"""Exceptions that a port allows although they are none of the core's."""


@dataclass(frozen=True)
class PluginCall:
    """A finished call of a plugin.

    Attributes:
        plugin: name of the plugin.
        method: what was called.
        seconds: from call to result; of a stream, the time its own steps took.
        is_fault: whether it raised an exception that its port does not declare.
    """

    plugin: str
    method: str
    seconds: float
    is_fault: bool


Observe = Callable[[PluginCall], None]


def watch_method(
    plugin: InstalledPlugin, name: str, method: Callable[..., Any], observe: Observe
) -> Callable[..., Any]:
    """Returns a method whose calls are timed; coroutines and streams are timed step by step, too."""
    begin_call = _WatchedCall.bind_to(plugin, name, observe)
    if inspect.iscoroutinefunction(method):
        return _watch_coroutine_function(method, begin_call)
    if inspect.isasyncgenfunction(method):
        return _watch_async_generator_function(method, begin_call)
    if inspect.isgeneratorfunction(method):
        return _watch_generator_function(method, begin_call)
    return _watch_function(method, begin_call)


def log_if_blocking(plugin: str, method: str, seconds: float) -> None:
    """Logs a step on the event loop that took too long, with the plugin."""
    if seconds > BLOCKING_SECONDS:
        _LOG.warning("Plugin %s blocked the event loop for %.0f ms in %s.", plugin, 1000 * seconds, method)


class _WatchedCall:
    """A call that runs, with the time of its steps.

    Args:
        plugin, method: whose call.
        observe: gets the call when it is finished.
    """

    __slots__ = ("_method", "_observe", "_plugin", "_seconds")

    def __init__(self, plugin: InstalledPlugin, method: str, observe: Observe) -> None:
        self._plugin, self._method, self._observe = plugin, method, observe
        self._seconds = 0.0

    @classmethod
    def bind_to(cls, plugin: InstalledPlugin, method: str, observe: Observe) -> "Callable[[], _WatchedCall]":
        """Returns what begins a call of a method."""
        return partial(cls, plugin, method, observe)

    def add_step_and_log_if_blocking(self, began: float, *, on_loop: bool) -> None:
        """Adds a step; one that blocked the event loop is logged."""
        seconds = time.monotonic() - began
        self._seconds += seconds
        if on_loop:
            log_if_blocking(self._plugin.name, self._method, seconds)

    def report_call(self, error: Exception | None = None, seconds: float | None = None) -> None:
        """Reports the finished call; an exception that the port does not declare is marked with the plugin."""
        is_fault = error is not None and _is_fault(self._method, error)
        if is_fault and error is not None:
            mark_as_fault_of_plugin(error, self._plugin.described)
        self._observe(
            PluginCall(
                self._plugin.name, self._method, self._seconds if seconds is None else seconds, is_fault
            )
        )


def _watch_coroutine_function(
    method: Callable[..., Any], begin_call: Callable[[], _WatchedCall]
) -> Callable[..., Any]:
    @wraps(method)
    async def watched(*arguments: Any, **named: Any) -> Any:
        return await _await_and_finish(lambda: method(*arguments, **named), begin_call())

    return watched


async def _await_and_finish(begin: Callable[[], Awaitable[Any]], call: _WatchedCall) -> Any:
    began = time.monotonic()
    try:
        result = await _TimedSteps(begin(), call)
    except Exception as error:
        call.report_call(error, time.monotonic() - began)
        raise
    call.report_call(seconds=time.monotonic() - began)
    return result


def _watch_async_generator_function(
    method: Callable[..., Any], begin_call: Callable[[], _WatchedCall]
) -> Callable[..., Any]:
    @wraps(method)
    async def watched(*arguments: Any, **named: Any) -> AsyncGenerator[Any, None]:
        call = begin_call()
        async with aclosing(method(*arguments, **named)) as stream:
            try:
                while True:
                    try:
                        value = await _TimedSteps(anext(stream), call)
                    except StopAsyncIteration:
                        break
                    yield value
            except Exception as error:
                call.report_call(error)
                raise
        call.report_call()

    return watched


def _watch_generator_function(
    method: Callable[..., Any], begin_call: Callable[[], _WatchedCall]
) -> Callable[..., Any]:
    @wraps(method)
    def watched(*arguments: Any, **named: Any) -> Generator[Any, None, None]:
        call, on_loop = begin_call(), _runs_on_event_loop()
        values = method(*arguments, **named)
        try:
            while True:
                began = time.monotonic()
                try:
                    value = next(values)
                except StopIteration:
                    break
                finally:
                    call.add_step_and_log_if_blocking(began, on_loop=on_loop)
                yield value
        except Exception as error:
            call.report_call(error)
            raise
        finally:
            values.close()
        call.report_call()

    return watched


def _watch_function(method: Callable[..., Any], begin_call: Callable[[], _WatchedCall]) -> Callable[..., Any]:
    @wraps(method)
    def watched(*arguments: Any, **named: Any) -> Any:
        call, began = begin_call(), time.monotonic()
        try:
            result = method(*arguments, **named)
        except Exception as error:
            call.report_call(error, time.monotonic() - began)
            raise
        finally:
            call.add_step_and_log_if_blocking(began, on_loop=_runs_on_event_loop())
        if inspect.iscoroutine(result):
            return _await_and_finish(lambda: result, call)
        call.report_call()
        return result

    return watched


class _TimedSteps:
    """An awaitable that times each step between two suspensions.

    Args:
        awaitable: what is awaited.
        call: gets the time of each step.
    """

    __slots__ = ("_awaitable", "_call")

    def __init__(self, awaitable: Awaitable[Any], call: _WatchedCall) -> None:
        self._awaitable = awaitable
        self._call = call

    def __await__(self) -> Generator[Any, Any, Any]:
        """Runs the awaitable."""
        steps: Any = self._awaitable.__await__()
        step = partial(next, steps)
        while True:
            began = time.monotonic()
            try:
                awaited = step()
            except StopIteration as finished:
                return finished.value
            finally:
                self._call.add_step_and_log_if_blocking(began, on_loop=True)
            try:
                sent = yield awaited
                step = partial(next, steps) if sent is None else partial(steps.send, sent)
            except BaseException as error:  # noqa: BLE001 - a cancellation goes to the coroutine, as without the wrapper
                step = partial(steps.throw, error)


def _is_fault(method: str, error: Exception) -> bool:
    """Returns whether an exception is none that the port of the method declares."""
    expected = _EXPECTED_BY_METHOD.get(method)
    is_expected = expected is not None and isinstance(error, expected)
    return not is_expected and not any(
        class_.__module__.startswith(_OWN_EXCEPTIONS) for class_ in type(error).__mro__
    )


def _runs_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
