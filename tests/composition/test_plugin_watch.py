"""Calls of plugins are timed, their faults counted, and blocking of the event loop is logged."""

import asyncio
import logging
import time

import pytest

from hosts.composition import watched_calls
from hosts.composition.plugin_watch import watch_plugins, watch_value
from hosts.composition.transforms import build_event_transforms
from hosts.composition.watched_calls import watch_method
from service_core import builtin
from service_core.commerce.providers.ports import PollableProvider
from service_core.delivery.postbacks.ports import RelocatableSender
from service_core.extensions.discovery import InstalledPlugin, PluginOrigin
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.event_source import WEB
from service_core.ingestion.parse_event import parse_event
from service_core.kernel.plugin_faults import plugin_of_fault
from service_core.kernel.settings import PluginsSettings
from service_core.plugin import PlatformUnavailable
from service_core.testing.ingestion_stubs import make_queued_event, make_workspace
from tests.fixtures.plugin_packages import write_plugin_package


@pytest.fixture
def calls():
    return []


ACME = InstalledPlugin("acme", PluginOrigin.PACKAGE, lambda: None, "touchpoint-acme", "1.0")


def watched(method, calls):
    return watch_method(ACME, "send", method, calls.append)


async def test_async_call_gives_its_result_and_is_timed(calls):
    async def send(value):
        await asyncio.sleep(0)
        return value

    assert await watched(send, calls)(7) == 7
    (call,) = calls
    assert (call.plugin, call.method, call.is_fault) == ("acme", "send", False)
    assert call.seconds >= 0


async def test_function_that_returns_a_coroutine_is_timed_until_that_ends(calls):
    class Sender:
        async def __call__(self):
            raise KeyError("id")

    waiting = watched(Sender(), calls)()
    assert calls == []
    with pytest.raises(KeyError):
        await waiting
    assert [call.is_fault for call in calls] == [True]


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
            watch_method(ACME, name, fail, calls.append)()
    assert [call.is_fault for call in calls] == [False, True]


async def test_plugin_that_blocks_the_event_loop_is_named_in_the_log(calls, caplog, monkeypatch):
    monkeypatch.setattr(watched_calls, "BLOCKING_SECONDS", 0.01)

    async def send():
        await asyncio.sleep(0.02)
        time.sleep(0.02)  # noqa: ASYNC251 - the plugin under test blocks

    with caplog.at_level(logging.WARNING):
        await watched(send, calls)()
    (record,) = caplog.records
    assert "Plugin acme blocked the event loop for" in record.getMessage()


def test_transform_that_blocks_the_event_loop_is_named_in_the_log(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(watched_calls, "BLOCKING_SECONDS", 0.01)
    code = """
        import time
        from service_core.plugin import Transform, hook

        @hook
        def transforms():
            transform = Transform(id="slow", label="Slow", reads=("event_name",), build=lambda _: lambda _: time.sleep(0.02))
            return [transform]
        """
    monkeypatch.syspath_prepend(str(write_plugin_package(tmp_path / "site", "slow_one", code)))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    uses = []
    transforms = build_event_transforms(registry, PluginsSettings(), lambda plugin, use: uses.append(plugin))
    queued = make_queued_event(b'{"event":"pageview","user_id":"u1"}')
    transforms.begin_batch()
    parsed = parse_event(
        queued.arrival, {"event": "pageview", "user_id": "u1"}, make_workspace(), is_storable=True
    )
    with caplog.at_level(logging.WARNING):
        transforms.apply_until_dropped(parsed, queued.arrival, WEB)
        transforms.report_batch()
    assert uses == ["slow_one"]
    (record,) = caplog.records
    assert record.getMessage().startswith("Plugin slow_one blocked the event loop for")
    assert record.getMessage().endswith("in slow.")


async def test_waiting_does_not_block_the_event_loop(calls, caplog, monkeypatch):
    monkeypatch.setattr(watched_calls, "BLOCKING_SECONDS", 0.5)
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


def test_plugins_are_watched_but_for_built_in_adapters_of_each_event_or_request(tmp_path, monkeypatch, calls):
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
    watched_registry = watch_plugins(registry, calls.append)
    assert watched_registry.adapters["queue", "spool"] is registry.adapters["queue", "spool"]
    assert watched_registry.adapters["events", "duckdb"] is not registry.adapters["events", "duckdb"]
    assert isinstance(watched_registry.revenue_providers["stripe"], PollableProvider)
    with pytest.raises(KeyError):
        watched_registry.open_adapter("geo", "acme://", base_folder=tmp_path).locate("203.0.113.7")
    with pytest.raises(KeyError) as raised:
        watched_registry.revenue_providers["till"].map_message({}, None, "account")
    assert plugin_of_fault(raised.value) == "'acme' (touchpoint-acme 1.0)"
    moved = watched_registry.revenue_providers["stripe"].with_base_url("https://other.example")
    assert moved.can_poll({}) is False
    assert [(call.plugin, call.method, call.is_fault) for call in calls] == [
        ("acme", "locate", True),
        ("acme", "map_message", True),
        ("revenue_stripe", "can_poll", False),
    ]


async def test_stream_that_fails_between_two_items_is_a_fault_and_its_generator_is_closed(calls):
    closed = []

    async def pages():
        try:
            yield 1
            raise KeyError("id")
        finally:
            closed.append(True)

    stream = watched(pages, calls)()
    assert await anext(stream) == 1
    with pytest.raises(KeyError):
        await anext(stream)
    assert (closed, [call.is_fault for call in calls]) == ([True], [True])


def test_iterator_that_is_closed_early_closes_that_of_the_plugin(calls):
    closed = []

    def rows():
        try:
            yield from (1, 2)
        finally:
            closed.append(True)

    read = watched(rows, calls)()
    assert next(read) == 1
    read.close()
    assert closed == [True]
    assert list(watched(rows, calls)()) == [1, 2]
    assert [call.is_fault for call in calls] == [False]


async def test_sender_with_slots_is_watched_and_stays_one_of_its_protocol(calls):
    sender = collect_plugins_into_registry([("builtin", builtin)]).conversion_senders["meta"]
    wrapped = watch_value(ACME, sender, RelocatableSender, calls.append)
    assert isinstance(wrapped, RelocatableSender)
    assert (wrapped.id, wrapped.limits) == (sender.id, sender.limits)
    with pytest.raises(AttributeError):
        await wrapped.send(None, [None], {})
    assert [(call.method, call.is_fault) for call in calls] == [("send", True)]


def test_exception_of_a_plugin_that_extends_one_of_the_core_is_no_fault(calls):
    class ShopAway(PlatformUnavailable):
        pass

    def send():
        raise ShopAway("Away.")

    with pytest.raises(ShopAway):
        watched(send, calls)()
    assert [call.is_fault for call in calls] == [False]


async def test_operation_of_another_package_is_watched(tmp_path, monkeypatch, calls):
    code = """
        from service_core.plugin import Caller, ResponseModel, hook, operation

        class Greeting(ResponseModel):
            workspace: str

        @operation("GET /greeting", tag="shop")
        async def greeting(*, caller: Caller) -> Greeting:
            "Fail."
            return {}["unknown"]

        @hook
        def operations():
            return [greeting]
        """
    monkeypatch.syspath_prepend(str(write_plugin_package(tmp_path / "site", "greeter", code)))
    registry = watch_plugins(collect_plugins_into_registry([("builtin", builtin)]), calls.append)
    (greeting,) = [operation for operation in registry.operations if operation.path == "/greeting"]
    assert set(greeting.dependencies) == {"caller"}
    with pytest.raises(KeyError):
        await greeting(caller=None)
    assert [(call.plugin, call.method, call.is_fault) for call in calls] == [("greeter", "greeting", True)]
