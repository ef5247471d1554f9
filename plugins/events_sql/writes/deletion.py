"""Deletion of events and truncation of IP addresses on engines with transactions."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import DeletedRowsByTable, StatementRunner
from plugins.events_sql.identity.person_merges import recompute_and_store_person_merges
from plugins.events_sql.schema.tables import PERSON_MERGES
from plugins.events_sql.writes.append_statements import insert_rows
from plugins.events_sql.writes.derived_tables import workspace_rebuild_queries
from plugins.events_sql.writes.event_conditions import (
    HAS_WHOLE_ADDRESS,
    TABLES_OF_EVENTS,
    received_between,
    superseded_with,
)
from plugins.events_sql.writes.event_versions import record_deletion
from service_core.plugin import ADDRESS_PATTERNS, POSSIBLE_ADDRESS_PATTERN

_TRUNCATED_ADDRESS: Final = r"""
CASE
  WHEN ip LIKE '::%' THEN '::/48'
  WHEN ip LIKE '%:%' THEN regexp_replace(ip, '^(([0-9a-fA-F]+:){1,3}).*$', '\1:/48')
  ELSE regexp_replace(ip, '^([0-9]+[.][0-9]+[.][0-9]+)[.].*$', '\1.0/24')
END
"""
_PROPERTIES: Final = "CAST(event_data AS TEXT)"
_TRUNCATED_PROPERTIES: Final = reduce(
    lambda text, rule: f"regexp_replace({text}, '{rule[0]}', '{rule[1]}', 'g')", ADDRESS_PATTERNS, _PROPERTIES
)
_HAS_ADDRESS_IN_PROPERTIES: Final = (
    f"(regexp_replace({_PROPERTIES}, '{POSSIBLE_ADDRESS_PATTERN}', '') <> {_PROPERTIES}"
    f" AND {_TRUNCATED_PROPERTIES} <> {_PROPERTIES})"
)
_USED_NUMBERS: Final = """
SELECT visitor_no FROM events WHERE workspace_id = '{0}'
UNION SELECT strong_no FROM events WHERE workspace_id = '{0}' AND strong_no IS NOT NULL
UNION SELECT visitor_no FROM weak_links WHERE workspace_id = '{0}'
UNION SELECT number FROM person_merges WHERE workspace_id = '{0}'
UNION SELECT person_no FROM person_merges WHERE workspace_id = '{0}'
"""


def truncate_day_of_addresses(
    writer: StatementRunner, before: datetime, since: datetime | None
) -> tuple[int, datetime | None]:
    """Cuts the addresses of the earliest day of a range that has whole ones, in properties, too.

    Returns:
        How many were cut, and the start of the rest of the range; None when nothing is left.
    """
    due = f"{received_between(since, before)} AND ({HAS_WHOLE_ADDRESS} OR {_HAS_ADDRESS_IN_PROPERTIES})"
    first = _earliest_receipt(writer, due)
    if first is None:
        return 0, None
    day = first.replace(tzinfo=UTC)
    end = min(day + timedelta(days=1), before)
    count = sum(_truncate_addresses_in(writer, name, received_between(day, end)) for name in TABLES_OF_EVENTS)
    return count, end if end < before else None


def _earliest_receipt(writer: StatementRunner, condition: str) -> datetime | None:
    """Returns the earliest receipt of the events that meet a condition, superseded ones included."""
    found = (
        writer.execute_text(f"SELECT min(received_at) FROM {name} WHERE {condition}")[0][0]  # noqa: S608 - no input
        for name in TABLES_OF_EVENTS
    )
    return min(filter(None, found), default=None)


def _truncate_addresses_in(writer: StatementRunner, table: str, received: str) -> int:
    """Cuts the addresses of the received events of a table and returns how many had whole ones."""
    count = _count(
        writer, f"{table} WHERE {received} AND ({HAS_WHOLE_ADDRESS} OR {_HAS_ADDRESS_IN_PROPERTIES})"
    )
    for column, value, is_whole in (
        ("ip", _TRUNCATED_ADDRESS, HAS_WHOLE_ADDRESS),
        ("event_data", f"CAST({_TRUNCATED_PROPERTIES} AS JSON)", _HAS_ADDRESS_IN_PROPERTIES),
    ):
        if count:
            writer.execute_text(f"UPDATE {table} SET {column} = {value} WHERE {received} AND {is_whole}")  # noqa: S608 - no input
    return count


def delete_events(
    writer: StatementRunner, workspace_id: UUID, conditions: Sequence[str], *, keep_versions: bool = False
) -> DeletedRowsByTable:
    """Deletes the events of a workspace that meet any of the conditions, and everything that follows from them only.

    Args:
        writer: of the store.
        workspace_id: the workspace.
        conditions: of the events, in SQL.
        keep_versions: whether what the events were stays readable at an earlier instant.
    """
    own = f"workspace_id = '{workspace_id}'"
    deleted = Counter(events=0)
    for condition in conditions:
        deleted += Counter(
            superseded_events=_delete(writer, f"superseded_events WHERE {superseded_with(own, condition)}"),
            revoked_links=_delete(
                writer,
                f"revoked_links WHERE {own} AND event_id IN "  # noqa: S608 - no input
                f"(SELECT event_id FROM events WHERE {own} AND {condition})",
            ),
        )
        deleted["events"] += _delete(writer, f"events WHERE {own} AND {condition}")
        if not keep_versions:
            deleted["event_versions"] += _delete(writer, f"event_versions WHERE {own} AND {condition}")
    if deleted.total() and (not keep_versions or deleted["revoked_links"]):
        record_deletion(writer, workspace_id)
    if not deleted["events"]:
        return deleted
    for table, query in workspace_rebuild_queries(workspace_id).items():
        before = _count(writer, f"{table.name} WHERE {own}")
        writer.fetch_rows(sa.delete(table).where(table.c.workspace_id == workspace_id))
        writer.fetch_rows(insert_rows(table, query))
        deleted[table.name] = before - _count(writer, f"{table.name} WHERE {own}")
    merges = _count(writer, f"{PERSON_MERGES.name} WHERE {own}")
    recompute_and_store_person_merges(writer, [workspace_id])
    deleted[PERSON_MERGES.name] = merges - _count(writer, f"{PERSON_MERGES.name} WHERE {own}")
    unused = f"id_numbers WHERE {own} AND number NOT IN ({_USED_NUMBERS.format(workspace_id)})"
    deleted["id_numbers"] = _delete(writer, unused)
    return deleted


def _delete(writer: StatementRunner, rows: str) -> int:
    count = _count(writer, rows)
    if count:
        writer.execute_text(f"DELETE FROM {rows}")  # noqa: S608 - no input
    return count


def _count(writer: StatementRunner, rows: str) -> int:
    ((count,),) = writer.execute_text(f"SELECT count(*) FROM {rows}")  # noqa: S608 - no input
    return int(count)
