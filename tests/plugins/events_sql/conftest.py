"""Fixtures: SQL event stores on DuckDB and PostgreSQL, and the contents of their derived tables."""

import asyncio
from pathlib import Path

import pytest

from plugins.events_sql.adapter import SqlEventStore
from service_core.analytics.measures import count_rows
from service_core.analytics.ports import AggregateQuery
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.plugin import Relation
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.postgres_server import temporary_database

DERIVED_TABLES = (
    *("sessions", "touch_candidates", "reported_touches", "weak_links"),
    *("visitor_id_pairs", "email_digests", "visitor_owners", "person_merges"),
)
SPAN = whole_utc_days("2025-01-01", "2026-12-31")


@pytest.fixture
async def duckdb(tmp_path: Path):
    store = collect_plugins_into_registry().open_adapter(
        "events", "duckdb:///events.db?threads=2&timeout_seconds=300", base_folder=tmp_path
    )
    await store.start()
    yield store
    await store.aclose()


@pytest.fixture(scope="module")
def postgresql(postgres_session):
    with temporary_database(postgres_session) as url:
        store = collect_plugins_into_registry().open_adapter(
            "events", f"{url}?timeout_seconds=300&readers=2", base_folder=Path()
        )
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


@pytest.fixture(params=["duckdb", "postgresql"])
def store(request):
    return request.getfixturevalue(request.param)


async def derived_table_contents(store: SqlEventStore) -> dict[str, list[str]]:
    request = {table: f"SELECT * FROM {table}" for table in DERIVED_TABLES}
    return {
        table: sorted(
            map(
                repr,
                await store._engine.run_read_within_time_budget(
                    lambda reader, text=text: reader.execute_text(text)
                ),
            )
        )
        for table, text in request.items()
    }


async def count_stored_events(store: SqlEventStore, story: EventBuilder) -> int:
    plan = AggregateQuery(story.query_scope(SPAN, include_bots=True), (count_rows(Relation.EVENTS),))
    return (await store.aggregate(plan)).rows[0][0]
