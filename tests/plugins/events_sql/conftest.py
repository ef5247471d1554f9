"""The store over SQL on each engine, and what a test asks of it."""

import asyncio
from pathlib import Path

import pytest

from plugins.events_sql.adapter import SqlEvents
from service_core.extension.registry import load
from service_core.insight.measures import count
from service_core.insight.ports import Aggregate
from service_core.plugin import Relation
from service_core.testing.postgres_server import fresh_database
from service_core.testing.story import Story, days

CACHES = ("sessions", "candidates", "told_touches", "weak_links", "kin", "mails", "owners", "persons")
SPAN = days("2025-01-01", "2026-12-31")


@pytest.fixture
async def duckdb(tmp_path: Path):
    store = load().open("events", "duckdb:///events.db?threads=2&timeout_seconds=300", folder=tmp_path)
    await store.start()
    yield store
    await store.aclose()


@pytest.fixture(scope="module")
def postgresql(postgres_session):
    with fresh_database(postgres_session) as url:
        store = load().open("events", f"{url}?timeout_seconds=300&readers=2", folder=Path())
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


@pytest.fixture(params=["duckdb", "postgresql"])
def store(request):
    return request.getfixturevalue(request.param)


async def contents(store: SqlEvents) -> dict[str, list[str]]:
    asked = {table: f"SELECT * FROM {table}" for table in CACHES}
    return {
        table: sorted(map(repr, await store._engine.read(lambda reader, text=text: reader.text(text))))
        for table, text in asked.items()
    }


async def stored(store: SqlEvents, story: Story) -> int:
    plan = Aggregate(story.scan(SPAN, include_bots=True), (count(Relation.EVENTS),))
    return (await store.aggregate(plan)).rows[0][0]
