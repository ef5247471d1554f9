"""Injects failures and delays into the calls of an adapter of any port.

Wrap an adapter with `with_faults` and pass it to the code under test, or wrap every adapter of one port
of a deployment::

    faults = FaultInjector()
    registry = wrap_adapters(
        load_installed_registry_once(),
        lambda port, adapter: with_faults(adapter, faults) if port == "queue" else adapter,
    )

`fail_each_call` repeats a test: the first call fails, then the second, until a run has no failure.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from inspect import isasyncgen, isawaitable, iscoroutine
from typing import Any, Final, TypeVar, cast

from service_core.extensions.workspace_store import WorkspaceStore

_T = TypeVar("_T")

_WORKSPACE_STORE_ATTRIBUTES: Final = frozenset(field.name for field in fields(WorkspaceStore))
_NEVER_FAILING_METHODS: Final = frozenset({"start", "aclose"})
MAX_CALLS: Final = 1_000
"""Limit of the calls of one run; more means that the test does not end."""


def _connection_lost() -> Exception:
    return OSError("the store went away")


@dataclass
class FaultInjector:
    """Defines which calls fail, and how. The attributes may be changed at any time.

    Attributes:
        call_number: the call that fails, counted from 1 since `fail_at_call`; 0 means none.
        fail_after_effect: the call fails after it took effect, as if only its response was lost.
        persistent: every later call fails too.
        delay: seconds by which each call is delayed.
        only_methods: names of the methods that are counted, delayed and failed; None means all.
        error: creates the exception.
        calls: names of the calls since `fail_at_call`; ``write/commit`` is the end of a context manager.
    """

    call_number: int = 0
    fail_after_effect: bool = False
    persistent: bool = False
    delay: float = 0.0
    only_methods: frozenset[str] | None = None
    error: Callable[[], Exception] = _connection_lost
    calls: list[str] = field(default_factory=list)

    def fail_at_call(
        self, call_number: int, *, fail_after_effect: bool = False, persistent: bool = False
    ) -> None:
        """Restarts the count; the call with this number fails."""
        self.call_number, self.fail_after_effect, self.persistent, self.calls = (
            call_number,
            fail_after_effect,
            persistent,
            [],
        )

    def stop_faults(self) -> None:
        """Ends failures and delays."""
        self.call_number, self.delay = 0, 0.0

    @property
    def has_failed(self) -> bool:
        """Returns whether a call has failed since `fail_at_call`."""
        return 0 < self.call_number <= len(self.calls)

    @asynccontextmanager
    async def inject_around_call(self, name: str) -> AsyncIterator[None]:
        """Runs one call in the context, with its delay and failure."""
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
    """Returns the adapter with faults in its asynchronous calls.

    A call that returns a context manager, such as a transaction, counts twice: for its begin and its
    commit. A commit that fails before its effect raises inside the context, so the transaction is rolled
    back. A dataclass of ports that a context manager yields has the same faults. `start` and `aclose` never fail.
    """
    return cast(_T, _FaultyProxy(adapter, faults))


async def fail_each_call(
    run: Callable[[FaultInjector], Awaitable[None]], *, fail_after_effect: bool = False
) -> int:
    """Repeats a test with the first call failing, then the second, until no call fails.

    Args:
        run: performs the whole test and checks the resulting state.
        fail_after_effect: calls fail after they took effect.

    Returns:
        The number of calls that were made to fail.

    Raises:
        AssertionError: the test makes more than `MAX_CALLS` calls.
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
        attribute = getattr(self._adapter, name)
        if isinstance(self._adapter, WorkspaceStore) and name in _WORKSPACE_STORE_ATTRIBUTES:
            return with_faults(attribute, self._faults)
        if not callable(attribute) or name in _NEVER_FAILING_METHODS or name.startswith("_"):
            return attribute
        faults = self._faults

        @wraps(attribute)
        def call_with_faults(*arguments: Any, **keyword_arguments: Any) -> Any:
            result = attribute(*arguments, **keyword_arguments)
            if isawaitable(result):
                return _await_with_faults(name, result, faults)
            if hasattr(result, "__aenter__"):
                return _context_with_faults(name, result, faults)
            return _generator_with_fault_per_item(name, result, faults) if isasyncgen(result) else result

        return call_with_faults


async def _await_with_faults(name: str, result: Awaitable[Any], faults: FaultInjector) -> Any:
    try:
        async with faults.inject_around_call(name):
            return await result
    finally:
        if iscoroutine(result):
            result.close()  # one that failed before it took effect was never begun


@asynccontextmanager
async def _context_with_faults(
    name: str, inner: AbstractAsyncContextManager[Any], faults: FaultInjector
) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack, inner as resource:
        async with faults.inject_around_call(name):
            pass
        yield _with_faults_in_dataclass_ports(resource, faults)
        await stack.enter_async_context(faults.inject_around_call(f"{name}/commit"))


async def _generator_with_fault_per_item(name: str, inner: Any, faults: FaultInjector) -> AsyncIterator[Any]:
    """Yields the items of a generator; each item counts as one call, which fails before it is yielded."""
    async with aclosing(inner):
        async for batch in inner:
            async with faults.inject_around_call(name):
                pass
            yield batch


def _with_faults_in_dataclass_ports(resource: Any, faults: FaultInjector) -> Any:
    """Returns a dataclass with faults in each of its fields; any other value unchanged."""
    if is_dataclass(resource) and not isinstance(resource, type):
        names = (part.name for part in fields(resource))
        return replace(resource, **{name: with_faults(getattr(resource, name), faults) for name in names})
    return resource
