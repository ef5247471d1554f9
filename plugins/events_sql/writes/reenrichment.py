"""Replaces enriched columns of stored events, and rebuilds what is derived, on engines with transactions."""

from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.person_merges import recompute_and_store_person_merges
from plugins.events_sql.writes.append_statements import insert_rows
from plugins.events_sql.writes.derived_tables import workspace_rebuild_queries
from service_core.plugin import REENRICHED_COLUMNS

UPDATE_EVENTS_FROM_BATCH: Final = (
    f"UPDATE events SET {', '.join(f'{name} = batch.{name}' for name in REENRICHED_COLUMNS)} FROM batch "  # noqa: S608 - column names
    "WHERE events.workspace_id = batch.workspace_id AND events.timestamp = batch.timestamp "
    "AND events.seq = batch.seq"
)


def rebuild_workspace(writer: StatementRunner, workspace_id: UUID) -> None:
    """Recomputes all derived rows of a workspace, in the transaction of the caller."""
    for table, query in workspace_rebuild_queries(workspace_id).items():
        writer.fetch_rows(sa.delete(table).where(table.c.workspace_id == workspace_id))
        writer.fetch_rows(insert_rows(table, query))
    recompute_and_store_person_merges(writer, [workspace_id])
