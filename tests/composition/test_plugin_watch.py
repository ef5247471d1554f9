"""Calls of plugins of other packages are timed, their faults counted, and blocking of the event loop is logged."""

import asyncio
import logging
import time

import pytest

from hosts.composition import plugin_watch
from hosts.composition.plugin_watch import watch_method, watch_plugins_of_other_packages
from service_core import builtin
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.plugin import PlatformUnavailable
from tests.fixtures.plugin_packages import write_plugin_package


@pytest.fixture
def calls():
    return []


def watched(method, calls):
    return watch_method("acme", "send", method, calls.append)


async def test_async_call_gives_its_result_and_is_timed(calls):
    async def send(value):
        await asyncio.sleep(0)
        return value

    assert await watched(send, calls)(7) == 7
    (call,) = calls
    assert (call.plugin, call.method, call.is_fault) == ("acme", "send", False)
    assert call.seconds >= 0


@pytest.mark.parametrize(
    ("error", "is_fault"), [(KeyError("id"), True), (PlatformUnavailable("Away."), False)]
)
async def test_exceptions_of_the_port_are_no_faults(calls, error, is_fault):
    async def send():
        raise error

    with pytest.raises(type(error)):
        await watched(send, calls)()
    assert [call.is_fault for call in calls] == [is_fault]


def test_value_error_is_a_fault_unless_the_method_maps_messages(calls):
    def fail():
        raise ValueError("at is missing")

    for name in ("map_message", "locate"):
        with pytest.raises(ValueError, match="at is missing"):
            watch_method("acme", name, fail, calls.append)()
    assert [call.is_fault for call in calls] == [False, True]


async def test_plugin_that_blocks_the_event_loop_is_named_in_the_log(calls, caplog, monkeypatch):
    monkeypatch.setattr(plugin_watch, "BLOCKING_SECONDS", 0.01)

    async def send():
        await asyncio.sleep(0.02)
        time.sleep(0.02)  # noqa: ASYNC251 - the plugin under test blocks

    with caplog.at_level(logging.WARNING):
        await watched(send, calls)()
    (record,) = caplog.records
    assert "Plugin acme blocked the event loop for" in record.getMessage()


async def test_waiting_does_not_block_the_event_loop(calls, caplog, monkeypatch):
    monkeypatch.setattr(plugin_watch, "BLOCKING_SECONDS", 0.5)
    released = asyncio.Event()

    async def send():
        await released.wait()

    task = asyncio.create_task(watched(send, calls)())
    await asyncio.sleep(0)
    released.set()
    await task
    assert caplog.records == []


async def test_cancellation_reaches_the_plugin(calls):
    cancelled = []

    async def send():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    task = asyncio.create_task(watched(send, calls)())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (cancelled, calls) == ([True], [])


def test_only_plugins_of_other_packages_are_watched(tmp_path, monkeypatch, calls):
    code = """
        from plugins.revenue_stripe.adapter import Stripe
        from service_core.plugin import Adapter, hook

        class Locations:
            @property
            def rows(self):
                raise RuntimeError("not started")

            def locate(self, ip):
                return {}["unknown"]

        class Till(Stripe):
            id = "till"

            def map_message(self, message, delivery, account_id):
                raise KeyError("id")

        @hook
        def adapters():
            return [Adapter("geo", "acme", open=lambda settings: Locations())]

        @hook
        def revenue_providers():
            return [Till()]
        """
    monkeypatch.syspath_prepend(str(write_plugin_package(tmp_path / "site", "acme", code)))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    watched_registry = watch_plugins_of_other_packages(registry, calls.append)
    assert watched_registry.adapters["events", "duckdb"] is registry.adapters["events", "duckdb"]
    assert watched_registry.revenue_providers["stripe"] is registry.revenue_providers["stripe"]
    with pytest.raises(KeyError):
        watched_registry.open_adapter("geo", "acme://", base_folder=tmp_path).locate("203.0.113.7")
    with pytest.raises(KeyError):
        watched_registry.revenue_providers["till"].map_message({}, None, "account")
    assert [(call.plugin, call.method, call.is_fault) for call in calls] == [
        ("acme", "locate", True),
        ("acme", "map_message", True),
    ]
