"""Keeps what stored events were before they change or are removed, on ClickHouse."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse.replacing_rows import insert_block
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import row_to_event, to_column_value, to_naive_utc
from plugins.events_sql.schema.tables import (
    EVENT_DELETIONS,
    EVENT_VERSIONS,
    EVENTS,
    REVOKED_LINKS,
    SUPERSEDED_EVENTS,
)
from plugins.events_sql.writes.event_conditions import has_sequence_number, superseded_with
from service_core.plugin import COLUMNS, REENRICHED_COLUMNS, Event, SupersededEvent


def keep_versions_of_reenriched_events(
    writer: StatementRunner, events: Sequence[Event]
) -> dict[tuple[UUID, int], datetime]:
    """Keeps the stored events that differ in an enriched column; returns by event when each became visible."""
    until = to_naive_utc(writer.read_recording_time())
    new = {(event.workspace_id, event.seq): event for event in events}
    recorded_at: dict[tuple[UUID, int], datetime] = {}
    changed = []
    for workspace in {event.workspace_id for event in events}:
        seqs = [event.seq for event in events if event.workspace_id == workspace]
        for condition in has_sequence_number(seqs):
            for *values, at in _rows(writer, "events", f"workspace_id = '{workspace}' AND {condition}"):
                stored = row_to_event(values)
                recorded_at[workspace, stored.seq] = at
                if _differs(stored, new[workspace, stored.seq]):
                    changed.append([*_event_values(stored), at, until])
    insert_block(writer, EVENT_VERSIONS, changed)
    return recorded_at


def keep_versions_of_removed_events(writer: StatementRunner, workspace_id: UUID, condition: str) -> None:
    """Keeps the events that meet a condition, and the superseded ones that are removed with them."""
    until = to_naive_utc(writer.read_recording_time())
    own = f"workspace_id = '{workspace_id}'"
    for table, where in (
        ("events", f"{own} AND {condition}"),
        ("superseded_events", superseded_with(own, condition)),
    ):
        rows = _rows(writer, table, where)
        insert_block(
            writer, EVENT_VERSIONS, [[*_event_values(row_to_event(v)), at, until] for *v, at in rows]
        )


def record_deletion(writer: StatementRunner, workspace_id: UUID) -> None:
    """Stores that events of a workspace were deleted now."""
    insert_block(writer, EVENT_DELETIONS, [(workspace_id, to_naive_utc(writer.read_recording_time()))])


def insert_revocation_once(writer: StatementRunner, workspace_id: UUID, event_id: str) -> None:
    """Stores that the links of an event were revoked now, unless they were before."""
    c = REVOKED_LINKS.c
    stored = writer.fetch_rows(
        sa.select(c.event_id).where(c.workspace_id == workspace_id, c.event_id == sa.literal(event_id))
    )
    if not stored:
        now = to_naive_utc(writer.read_recording_time())
        insert_block(writer, REVOKED_LINKS, [(workspace_id, event_id, now)])


def recorded_at_of_superseded_events(
    writer: StatementRunner, superseded: Sequence[SupersededEvent]
) -> Mapping[int, datetime]:
    """Returns by sequence number when the stored ones of some superseded events became visible."""
    c: Any = SUPERSEDED_EVENTS.c
    found: dict[int, datetime] = {}
    for workspace in {each.event.workspace_id for each in superseded}:
        for condition in has_sequence_number([each.event.seq for each in superseded]):
            query = sa.select(c.seq, c.recorded_at).where(c.workspace_id == workspace, sa.text(condition))
            found |= dict(tuple(row) for row in writer.fetch_rows(query))
    return found


def _rows(writer: StatementRunner, table: str, where: str) -> list[tuple[Any, ...]]:
    c = EVENTS.c if table == EVENTS.name else SUPERSEDED_EVENTS.c
    columns = [*(c[f.name] for f in COLUMNS), c.recorded_at]
    return writer.fetch_rows(sa.select(*columns).where(sa.text(where)))


def _event_values(event: Event) -> list[Any]:
    return [to_column_value(f.name, getattr(event, f.name)) for f in COLUMNS]


def _differs(stored: Event, new: Event) -> bool:
    return any(getattr(stored, name) != getattr(new, name) for name in REENRICHED_COLUMNS)
