"""Keeps what stored events were before they change or are removed, on engines with transactions."""

from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import EVENT_DELETIONS
from plugins.events_sql.writes.append_statements import insert_rows
from plugins.events_sql.writes.event_conditions import superseded_with, timestamp_value
from service_core.plugin import COLUMNS, REENRICHED_COLUMNS

_NAMES: Final = ", ".join(f.name for f in COLUMNS)
_VALUES: Final = ", ".join(f"e.{f.name}" for f in COLUMNS)
_CHANGES: Final = " OR ".join(
    f"CAST(e.{name} AS TEXT) IS DISTINCT FROM CAST(b.{name} AS TEXT)" for name in REENRICHED_COLUMNS
)


def keep_versions_of_reenriched_events(writer: StatementRunner) -> None:
    """Keeps the stored events that differ from those of the table ``batch`` in an enriched column."""
    _insert_versions(
        writer,
        "events e JOIN batch b ON e.workspace_id = b.workspace_id AND e.timestamp = b.timestamp AND e.seq = b.seq "
        f"WHERE {_CHANGES}",
    )


def keep_versions_of_removed_events(writer: StatementRunner, workspace_id: UUID, condition: str) -> None:
    """Keeps the events that meet a condition, and the superseded ones that are removed with them."""
    own = f"workspace_id = '{workspace_id}'"
    _insert_versions(writer, f"events e WHERE {own} AND {condition}")
    _insert_versions(writer, f"superseded_events e WHERE {superseded_with(own, condition)}")


def record_deletion(writer: StatementRunner, workspace_id: UUID) -> None:
    """Stores that events of a workspace were deleted now."""
    now = to_naive_utc(writer.read_recording_time())
    writer.fetch_rows(insert_rows(EVENT_DELETIONS, sa.select(sa.literal(workspace_id), sa.literal(now))))


def _insert_versions(writer: StatementRunner, rows: str) -> None:
    until = timestamp_value(to_naive_utc(writer.read_recording_time()))
    writer.execute_text(
        f"INSERT INTO event_versions ({_NAMES}, recorded_at, recorded_until) "  # noqa: S608 - names, and a time
        f"SELECT {_VALUES}, e.recorded_at, {until} FROM {rows}"
    )
