"""Reads the superseded events of a workspace; no other read uses their table."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import row_to_event, to_utc
from plugins.events_sql.schema.tables import EVENTS, SUPERSEDED_EVENTS
from service_core.plugin import COLUMNS, SupersededEvent

EVENTS_PER_PIECE: Final = 5_000
_ID_COLUMNS: Final = ("visitor_id", "strong_id", "sent_visitor_id", "distinct_id")


def stream_superseded_events(workspace_id: UUID, runner: StatementRunner) -> Iterator[list[SupersededEvent]]:
    """Yields the superseded events of a workspace, by sequence number, in lists of bounded length."""
    runner.begin_snapshot()
    c, last = SUPERSEDED_EVENTS.c, -1
    columns = [c[f.name] for f in COLUMNS]
    while True:
        own = (c.workspace_id == workspace_id, c.seq > sa.literal(last))
        query = sa.select(*columns, c.superseded_by).where(*own).order_by(c.seq).limit(EVENTS_PER_PIECE)
        rows = runner.fetch_rows(query)
        if rows:
            piece = [SupersededEvent(row_to_event(row[:-1]), row[-1]) for row in rows]
            last = piece[-1].event.seq
            yield piece
        if len(rows) < EVENTS_PER_PIECE:
            return


def list_ids_of_superseded_events(workspace_id: UUID, runner: StatementRunner) -> set[str]:
    """Returns the visitor ids and user ids that superseded events of a workspace carry."""
    c = SUPERSEDED_EVENTS.c
    query = sa.select(*(c[name] for name in _ID_COLUMNS)).where(c.workspace_id == workspace_id).distinct()
    return {id_ for row in runner.fetch_rows(query) for id_ in row if id_}


def first_event_time_with_superseded(workspace_id: UUID, runner: StatementRunner) -> datetime | None:
    """Returns the timestamp of the first event of a workspace, superseded ones and bots included."""
    found = (
        runner.fetch_rows(
            sa.select(sa.func.min(table.c.timestamp)).where(table.c.workspace_id == workspace_id)
        )
        for table in (EVENTS, SUPERSEDED_EVENTS)
    )
    return min((to_utc(first) for ((first,),) in found if first is not None), default=None)
