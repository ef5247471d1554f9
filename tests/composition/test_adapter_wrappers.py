"""What is put around an adapter: nobody who uses the port notices, and a fault is one of the things to put there."""

from pathlib import Path

import pytest

from hosts.composition.adapter_wrappers import WrappedAdapter, wrap_adapters
from hosts.composition.compose import load_installed_registry_once


class FailAfterFirstCalls:
    """Lets the first calls of a method pass, and fails the others."""

    def __init__(self, method, passing):
        self.method, self.passing = method, passing

    def __call__(self, port, adapter):
        if port != "events":
            return adapter
        inner, calls = getattr(adapter, self.method), iter(range(self.passing))

        async def failing(*given):
            if next(calls, None) is None:
                raise OSError("disk full")
            return await inner(*given)

        return WrappedAdapter(adapter, {self.method: failing})


def open_wrapped_adapter(*wraps):
    return wrap_adapters(load_installed_registry_once(), *wraps).open_adapter(
        "events", "memory://", base_folder=Path()
    )


async def test_wrapped_adapter_delegates_other_methods():
    store = open_wrapped_adapter(FailAfterFirstCalls("append", passing=1))
    assert await store.append([]) == 0
    with pytest.raises(OSError, match="disk full"):
        await store.append([])
    assert await store.first_and_last_event_time(None) is None
    assert not hasattr(store, "work_apart")


async def test_last_wrapper_is_outermost():
    def tagged(name):
        def tag(_port, adapter):
            async def append(events):
                return [name, await adapter.append(events)]

            return WrappedAdapter(adapter, {"append": append})

        return tag

    assert await open_wrapped_adapter(tagged("inner"), tagged("outer")).append([]) == ["outer", ["inner", 0]]


def test_other_registry_entries_are_unchanged():
    before = load_installed_registry_once()
    after = wrap_adapters(before)
    assert after.adapters.keys() == before.adapters.keys()
    assert (after.operations, after.catalog, after.models) == (
        before.operations,
        before.catalog,
        before.models,
    )
