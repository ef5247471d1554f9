"""Reads the events of a workspace as they were known at an earlier instant."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import row_to_event, to_naive_utc, to_utc
from plugins.events_sql.schema.tables import (
    EVENT_DELETIONS,
    EVENT_VERSIONS,
    EVENTS,
    RECORDING_STARTS,
    REVOKED_LINKS,
    SUPERSEDED_EVENTS,
)
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import COLUMNS, Event, EventHistoryState

EVENTS_PER_PIECE: Final = 10_000
_VERSION_ENDS: Final = EVENT_VERSIONS.alias("version_ends")


def stream_events_as_of(
    workspace_id: UUID, as_of: datetime, runner: StatementRunner
) -> Iterator[list[Event]]:
    """Yields the events that were recorded by an instant, superseded ones included, in lists of bounded length."""
    runner.begin_snapshot()
    for table in (EVENTS, SUPERSEDED_EVENTS, EVENT_VERSIONS):
        yield from _stream_table(table, workspace_id, as_of, runner)


def read_history_state(workspace_id: UUID, as_of: datetime, runner: StatementRunner) -> EventHistoryState:
    """Returns what the store knows of an earlier instant."""
    runner.begin_snapshot()
    counts = (
        runner.fetch_rows(
            sa.select(sa.func.count()).select_from(table).where(*_was_known(table, workspace_id, as_of))
        )[0][0]
        for table in (EVENTS, SUPERSEDED_EVENTS, EVENT_VERSIONS)
    )
    event_count = sum(map(int, counts))
    e, d, moment = EVENTS.c, EVENT_DELETIONS.c, sa.literal(to_naive_utc(as_of))
    ((started_at,),) = runner.fetch_rows(sa.select(sa.func.min(RECORDING_STARTS.c.started_at)))
    return EventHistoryState(
        starts_at=to_utc(started_at),
        event_count=event_count,
        deleted_at=_fetch_instant(runner, sa.func.max(d.deleted_at), d.workspace_id == workspace_id),
        waiting_since=_fetch_instant(
            runner, sa.func.min(e.received_at), e.received_at <= moment, e.recorded_at > moment
        ),
    )


def _fetch_instant(
    runner: StatementRunner, extreme: sa.ColumnElement[Any], *conditions: Expression
) -> datetime | None:
    """Returns the first or last instant of rows that meet conditions; None without rows, where ClickHouse gives one, too."""
    ((rows, instant),) = runner.fetch_rows(sa.select(sa.func.count(), extreme).where(*conditions))
    return to_utc(instant) if rows else None


def list_revoked_links_as_of(workspace_id: UUID, as_of: datetime, runner: StatementRunner) -> list[str]:
    """Returns the ids of the events whose identity links were revoked by an instant."""
    c = REVOKED_LINKS.c
    query = sa.select(c.event_id).where(
        c.workspace_id == workspace_id, c.recorded_at <= sa.literal(to_naive_utc(as_of))
    )
    return [event_id for (event_id,) in runner.fetch_rows(query.distinct())]


def _stream_table(
    table: sa.Table, workspace_id: UUID, as_of: datetime, runner: StatementRunner
) -> Iterator[list[Event]]:
    last = -1
    columns = [table.c[f.name] for f in COLUMNS]
    while True:
        known = (*_was_known(table, workspace_id, as_of), table.c.seq > sa.literal(last))
        rows = runner.fetch_rows(
            sa.select(*columns).where(*known).order_by(table.c.seq).limit(EVENTS_PER_PIECE)
        )
        if rows:
            piece = list(map(row_to_event, rows))
            last = piece[-1].seq
            yield piece
        if len(rows) < EVENTS_PER_PIECE:
            return


def _was_known(table: sa.Table, workspace_id: UUID, as_of: datetime) -> tuple[Expression, ...]:
    """Returns the conditions of rows that were the latest version of their event at an instant."""
    c, moment = table.c, sa.literal(to_naive_utc(as_of))
    known = (c.workspace_id == workspace_id, c.recorded_at <= moment)
    v: Any = _VERSION_ENDS.c
    later_version = sa.select(v.seq).where(v.workspace_id == workspace_id, v.recorded_until > moment)
    if table is not EVENT_VERSIONS:
        return (*known, c.seq.not_in(later_version))
    first_end = (
        sa.select(v.seq, sa.func.min(v.recorded_until))
        .where(v.workspace_id == workspace_id, v.recorded_until > moment)
        .group_by(v.seq)
    )
    return (*known, c.recorded_until > moment, sa.tuple_(c.seq, c.recorded_until).in_(first_end))
