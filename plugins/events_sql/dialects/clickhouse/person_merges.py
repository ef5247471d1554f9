"""Recomputation of the merges of persons on ClickHouse."""

from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse.replacing_rows import insert_block
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.person_merges import compute_person_merges
from plugins.events_sql.schema.tables import PERSON_MERGES


def recompute_person_merges(writer: StatementRunner, version: int, workspace: UUID) -> None:
    """Recomputes and stores which ids are merged into another person; marks merges that no longer hold as deleted."""
    person_by_merged_id = compute_person_merges(writer, workspace)
    old = writer.fetch_rows(
        sa.select(PERSON_MERGES.c.number, PERSON_MERGES.c.person_no).where(
            PERSON_MERGES.c.workspace_id == workspace
        )
    )
    rows = [(workspace, no, person, version, 1) for no, person in old if no not in person_by_merged_id]
    rows += [(workspace, no, person, version + 1, 0) for no, person in person_by_merged_id.items()]
    insert_block(writer, PERSON_MERGES, rows)
