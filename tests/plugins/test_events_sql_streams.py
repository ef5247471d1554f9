"""Whoever leaves a question, or gives its session back, waits for no server that answers nobody."""

import asyncio
from pathlib import Path
from random import Random
from threading import Event, Thread
from unittest.mock import Mock

from plugins.events_sql.engine import Reader
from service_core.extension.registry import load
from service_core.insight.ports import ConversionSet, Scan
from service_core.testing.generated import world
from service_core.testing.postgres_server import PostgresServer
from service_core.testing.story import days


async def test_who_leaves_a_stream_waits_for_no_server_that_hangs(postgres_server: PostgresServer) -> None:
    store = load().open("events", f"{postgres_server.url}?connect_seconds=2", folder=Path())
    await store.start()
    story = world(Random(31)).story
    await store.append(story.events)
    span = days("2025-01-01", "2026-12-31")
    reading = store.event_batches(
        Scan(story.workspace_id, span, "USD", "UTC", ConversionSet(frozenset())), 1_000
    )
    assert len(await anext(reading))
    postgres_server.hang()
    async with asyncio.timeout(60):
        await reading.aclose()
    postgres_server.go_on()
    await store.aclose()


def test_who_gives_a_session_back_is_let_go_too() -> None:
    asked, cut = Event(), Event()
    session = Mock(close=lambda: asked.set() or cut.wait(30), abandon=cut.set)
    reader = Reader(Mock(session=lambda _: session), Mock())
    assert reader.session is session
    closing = Thread(target=reader.close)
    closing.start()
    assert asked.wait(30)
    reader.abandon()
    assert cut.is_set()
    closing.join(30)
    assert not closing.is_alive()
