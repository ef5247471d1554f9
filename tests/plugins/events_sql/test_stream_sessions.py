"""Closing a stream or a session does not wait for a server that hangs."""

import asyncio
from pathlib import Path
from random import Random
from threading import Event, Thread
from unittest.mock import Mock

from plugins.events_sql.execution.query_executor import StatementRunner
from service_core.analytics.ports import ConversionSet, QueryScope
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_builder import whole_utc_days
from service_core.testing.postgres_server import PostgresServer
from service_core.testing.random_datasets import random_dataset


async def test_closing_a_stream_does_not_wait_for_a_hanging_server(postgres_server: PostgresServer) -> None:
    store = collect_plugins_into_registry().open_adapter(
        "events", f"{postgres_server.url}?connect_seconds=2", base_folder=Path()
    )
    await store.start()
    story = random_dataset(Random(31)).builder
    await store.append(story.events)
    span = whole_utc_days("2025-01-01", "2026-12-31")
    reading = store.stream_events_newest_first(
        QueryScope(story.workspace_id, span, "USD", "UTC", ConversionSet(frozenset())), 1_000
    )
    assert len(await anext(reading))
    postgres_server.suspend()
    async with asyncio.timeout(60):
        await reading.aclose()
    postgres_server.resume()
    await store.aclose()


def test_closing_a_session_ends_when_the_connection_is_dropped() -> None:
    request, cut = Event(), Event()
    session = Mock(
        close=lambda: request.set() or cut.wait(30), cancel=Mock(side_effect=lambda **_: cut.set())
    )
    reader = StatementRunner(Mock(open_session=lambda _: session), Mock())
    assert reader.lazily_opened_session is session
    closing = Thread(target=reader.close)
    closing.start()
    assert request.wait(30)
    reader.disconnect_and_refuse_further()
    assert cut.is_set()
    closing.join(30)
    assert not closing.is_alive()
