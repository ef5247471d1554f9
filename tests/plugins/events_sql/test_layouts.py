"""A store of an earlier version is opened as it is, and gets what it lacks."""

from pathlib import Path

import duckdb
import psycopg
import sqlalchemy as sa
from sqlalchemy.schema import CreateTable

from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.schema.tables import ADDED, EVENTS
from service_core.analytics.measures import count_rows, sum_column
from service_core.analytics.ports import AggregateQuery
from service_core.extensions.registry import load_plugins
from service_core.plugin import Relation
from service_core.testing.event_builder import EventBuilder
from service_core.testing.postgres_server import fresh_database
from tests.plugins.events_sql.conftest import SPAN

EARLIER = sa.Table(
    "events",
    sa.MetaData(),
    *(sa.Column(one.name, one.type) for one in EVENTS.columns if one not in set(ADDED)),
)


async def keeps_charge_components(store):
    story = EventBuilder()
    paid = {"source": "stripe", "revenue": 100, "payment_id": "pi_1", "tax": 8}
    story.add_event("purchase", at="2026-03-02", visitor="A1", **paid)
    story.add_event("purchase", at="2026-03-02", visitor="A1", revenue=108, order_id="pi_1")
    await store.start()
    await store.append(story.events)
    plan = AggregateQuery(
        story.scan(SPAN), (count_rows(Relation.PAYMENTS), sum_column("tax", Relation.PAYMENTS))
    )
    assert (await store.aggregate(plan)).rows == [(1, 8)]
    await store.aclose()


async def test_a_file_gets_the_columns_it_lacks(tmp_path: Path):
    with duckdb.connect(
        str(tmp_path / "events.db"), config={"storage_compatibility_version": "v2.0.0"}
    ) as file:
        file.execute(str(CreateTable(EARLIER).compile(dialect=DuckDialect())))
    await keeps_charge_components(
        load_plugins().open_adapter("events", "duckdb:///events.db", folder=tmp_path)
    )


async def test_a_schema_gets_the_columns_it_lacks(postgres_session):
    with fresh_database(postgres_session) as url:
        store = load_plugins().open_adapter("events", url, folder=Path())
        await store.start()
        await store.aclose()
        with psycopg.connect(url) as server:
            for column in ADDED:
                server.execute(f"ALTER TABLE events DROP COLUMN {column.name}")
        await keeps_charge_components(load_plugins().open_adapter("events", url, folder=Path()))
