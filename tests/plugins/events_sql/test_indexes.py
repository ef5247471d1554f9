"""DuckDB indexes: one person is read without scanning the tables of all persons."""

import re
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import UUID

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.people.people_list import list_people
from plugins.events_sql.reads.people.person_journey import read_person_activity
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.plugin import PeoplePageQuery, PersonActivityQuery
from service_core.testing.event_builder import EventBuilder
from service_core.testing.random_datasets import random_dataset
from tests.plugins.events_sql.conftest import SPAN

SCANNED = re.compile(r'"Table": "events\.main\.(\w+)",\s*"Type": "Sequential Scan"')


class ExplainingRunner:
    """A statement runner that records which tables each statement scans."""

    def __init__(self, reader: StatementRunner) -> None:
        self.reader = reader
        self.scanned: dict[str, set[str]] = {}

    def create_temp_table(self, name, statement):
        self._record_indexes(name, statement)
        self.reader.create_temp_table(name, statement)

    def fetch_rows(self, statement):
        self._record_indexes(f"answer {len(self.scanned)}", statement)
        return self.reader.fetch_rows(statement)

    def _record_indexes(self, name, statement):
        text, values = self.reader._statements.render_from_cache(statement)
        plan = self.reader.execute_text(f"EXPLAIN (ANALYZE, FORMAT json) {text}", values)[0][1]
        self.scanned[name] = set(SCANNED.findall(plan))


def many_persons_story(story: EventBuilder) -> EventBuilder:
    """Returns twenty days of ten visitors and five persons, with an order for every fourth event."""
    for number in range(40):
        paid = {"order_id": f"o{number}", "revenue": 5} if number % 4 == 0 else {}
        story.add_event(
            "purchase" if paid else "page_view",
            at=f"2026-03-{1 + number // 2:02}",
            visitor=f"A{number % 10}",
            strong_id=f"U{number % 5}" if number % 3 else None,
            **paid,
        )
    return story


async def test_person_activity_is_read_through_indexes(duckdb: SqlEventStore) -> None:
    story = many_persons_story(EventBuilder())
    await duckdb.append(story.events)
    await duckdb.append(many_persons_story(EventBuilder(UUID(int=9))).events)
    plan = PersonActivityQuery(story.query_scope(SPAN), "u:U1", timedelta(days=1), 9)

    def explained(reader: StatementRunner) -> dict[str, set[str]]:
        noting = ExplainingRunner(reader)
        assert len(read_person_activity(plan, noting).conversions) == 2  # type: ignore[arg-type]
        return noting.scanned

    scanned = await duckdb._engine.run_read_within_time_budget(explained)
    assert {
        "selected_persons",
        "selected_visitors",
        "selected_events",
        "sharing_persons",
        "own_touches",
        "order_events",
    } < scanned.keys()
    assert set().union(*scanned.values()) <= {"person_merges"}, scanned


async def test_page_of_persons_scans_events_only_to_find_the_matching_persons(
    duckdb: SqlEventStore,
) -> None:
    story = many_persons_story(EventBuilder())
    await duckdb.append(story.events)
    plan = PeoplePageQuery(story.query_scope(SPAN), 3, 0, "last_seen")

    def explained(reader: StatementRunner) -> dict[str, set[str]]:
        noting = ExplainingRunner(reader)
        assert len(list_people(plan, noting)[0]) == 3  # type: ignore[arg-type]
        return noting.scanned

    scanned = await duckdb._engine.run_read_within_time_budget(explained)
    assert "events" in scanned.pop("matching_persons")
    assert set().union(*scanned.values()) <= {"person_merges"}, scanned


async def test_missing_indexes_are_created_on_open(tmp_path: Path) -> None:
    story = random_dataset(Random(3)).builder
    plans = [
        PersonActivityQuery(story.query_scope(SPAN), person, timedelta(days=9), 9)
        for person in ("u:U1", "v:A3")
    ]

    def earlier(writer: StatementRunner) -> None:
        for (name,) in writer.execute_text("SELECT index_name FROM duckdb_indexes()"):
            writer.execute_text(f"DROP INDEX {name}")

    answers = []
    for _ in range(2):
        store = collect_plugins_into_registry().open_adapter(
            "events", "duckdb:///events.db", base_folder=tmp_path
        )
        await store.start()
        await store.append(story.events)
        indexes = await store._engine.run_read_within_time_budget(
            lambda reader: reader.execute_text("FROM duckdb_indexes()")
        )
        answers.append((len(indexes), [await store.read_activity(plan) for plan in plans]))
        await store._engine.run_write_to_its_end(earlier)
        await store.aclose()
    assert answers[0] == answers[1]
    assert answers[0][0] > 0
