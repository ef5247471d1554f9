"""Switches for faults, put around an adapter of any port: calls fail, come late, or take effect and are not told.

What stands above a port is tried with `faulty` around whatever serves it: around an adapter of your own,
or, in a whole deployment, around every adapter of one port::

    faults = Faults()
    registry = wrapped(
        installed(), lambda port, adapter: faulty(adapter, faults) if port == "queue" else adapter
    )

`fail_each_call` is the loop: the first call fails, then the second, until a run passes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from inspect import isasyncgen, isawaitable, iscoroutine
from typing import Any, Final, TypeVar, cast

_T = TypeVar("_T")

_LIFE: Final = frozenset({"start", "aclose"})
MAX_CALLS: Final = 1_000
"""Calls of one run beyond which the loop over them is not going to end."""


def _connection_lost() -> Exception:
    return OSError("the store went away")


@dataclass
class FaultInjector:
    """Which calls fail, and how; it may be changed at any time.

    Attributes:
        at: the call that fails, counted from 1 since `begin`; 0 lets all pass.
        after: it fails once it has taken effect, as when the answer is lost.
        lasting: every later call fails too.
        delay: seconds each call takes longer.
        only: names of the methods that are counted, delayed and failed; None stands for all.
        error: makes what is raised.
        calls: names of the calls counted since `begin`, ``begin/commit`` for the end of a block.
    """

    call_number: int = 0
    fail_after_effect: bool = False
    persistent: bool = False
    delay: float = 0.0
    only_methods: frozenset[str] | None = None
    error: Callable[[], Exception] = _connection_lost
    calls: list[str] = field(default_factory=list)

    def start(self, call_number: int, *, fail_after_effect: bool = False, persistent: bool = False) -> None:
        """Count from the next call on, and let the ``at``-th fail."""
        self.call_number, self.fail_after_effect, self.persistent, self.calls = (
            call_number,
            fail_after_effect,
            persistent,
            [],
        )

    def stop(self) -> None:
        """Let every call pass, at its usual pace."""
        self.call_number, self.delay = 0, 0.0

    @property
    def has_failed(self) -> bool:
        """Whether a call has failed."""
        return 0 < self.call_number <= len(self.calls)

    @asynccontextmanager
    async def wrap_call(self, name: str) -> AsyncIterator[None]:
        """One call: what it does stands in the block."""
        if self.only_methods is not None and name.partition("/")[0] not in self.only_methods:
            yield
            return
        self.calls.append(name)
        number = len(self.calls)
        fails = number == self.call_number or (self.persistent and 0 < self.call_number < number)
        after = self.fail_after_effect
        if self.delay:
            await asyncio.sleep(self.delay)
        if fails and not after:
            raise self.error()
        yield
        if fails:
            raise self.error()


def with_faults(adapter: _T, faults: FaultInjector) -> _T:
    """The adapter with faults in its asynchronous calls; everything else is answered as before.

    A call that opens a block, such as a transaction, is two: its begin and its commit. A commit that
    fails before it took effect ends the block by an error. What a block gives, when it is a dataclass
    of ports, has the same faults. Starting and closing never fail.
    """
    return cast(_T, _FaultyProxy(adapter, faults))


async def fail_each_call(
    run: Callable[[FaultInjector], Awaitable[None]], *, fail_after_effect: bool = False
) -> int:
    """Run with the first call failing, then with the second, until a run passes without a failure.

    Args:
        run: does everything anew on each call, and looks whether what it finds is whole.
        after: the calls fail once they have taken effect.

    Returns:
        How many calls were failed.

    Raises:
        AssertionError: there was no end.
    """
    for number in range(1, MAX_CALLS):
        faults = FaultInjector(call_number=number, fail_after_effect=fail_after_effect)
        await run(faults)
        if len(faults.calls) < number:
            return number - 1
    raise AssertionError(f"each of {MAX_CALLS} calls was failed, and there were more")


class _FaultyProxy:
    def __init__(self, adapter: Any, faults: FaultInjector) -> None:
        self._adapter = adapter
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._adapter, name)
        if not callable(found) or name in _LIFE or name.startswith("_"):
            return found
        faults = self._faults

        @wraps(found)
        def call(*arguments: Any, **named: Any) -> Any:
            result = found(*arguments, **named)
            if isawaitable(result):
                return _await_with_faults(name, result, faults)
            if hasattr(result, "__aenter__"):
                return _context_with_faults(name, result, faults)
            return _generator_with_faults(name, result, faults) if isasyncgen(result) else result

        return call


async def _await_with_faults(name: str, result: Awaitable[Any], faults: FaultInjector) -> Any:
    try:
        async with faults.wrap_call(name):
            return await result
    finally:
        if iscoroutine(result):
            result.close()  # one that failed before it took effect was never begun


@asynccontextmanager
async def _context_with_faults(
    name: str, inner: AbstractAsyncContextManager[Any], faults: FaultInjector
) -> AsyncIterator[Any]:
    async with AsyncExitStack() as told, inner as given:
        async with faults.wrap_call(name):
            pass
        yield _wrap_arguments(given, faults)
        await told.enter_async_context(faults.wrap_call(f"{name}/commit"))


async def _generator_with_faults(name: str, inner: Any, faults: FaultInjector) -> AsyncIterator[Any]:
    async with aclosing(inner):
        async for batch in inner:
            async with faults.wrap_call(name):
                pass
            yield batch


def _wrap_arguments(given: Any, faults: FaultInjector) -> Any:
    if is_dataclass(given) and not isinstance(given, type):
        named = (part.name for part in fields(given))
        return replace(given, **{name: with_faults(getattr(given, name), faults) for name in named})
    return given
