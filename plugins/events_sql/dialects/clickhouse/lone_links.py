"""Links distinct ids that were sent alone to the strong id of their name, on ClickHouse."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse.replacing_rows import (
    CHANGED_NUMBERS,
    id_number,
    insert_versioned_and_mark_deleted,
    set_changed_numbers,
)
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.tables import EVENTS, ID_NUMBERS, VISITOR_ID_PAIRS, WEAK_LINKS
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.writes import derived_tables
from service_core.plugin import Event


def visitors_with_new_strong_id(
    writer: StatementRunner, ids: Iterable[tuple[UUID, str]]
) -> defaultdict[UUID, set[int]]:
    """Returns by workspace the numbers of stored visitors whose id a batch names as a strong id for the first time.

    Args:
        writer: runs the statements.
        ids: all ids of the batch with their workspaces.
    """
    visitors: defaultdict[UUID, set[int]] = defaultdict(set)
    strong_by_visitor: dict[int, tuple[UUID, int]] = {}
    for workspace, name in ids:
        if name.startswith("u:"):
            number = id_number(workspace, f"v:{name.removeprefix('u:')}")
            strong_by_visitor[number] = workspace, id_number(workspace, name)
    if not strong_by_visitor:
        return visitors
    set_changed_numbers(writer, strong_by_visitor)
    numbers = sa.select(CHANGED_NUMBERS.c.number)
    workspaces = {workspace for workspace, _ in strong_by_visitor.values()}
    numbered, pairs = ID_NUMBERS.c, VISITOR_ID_PAIRS.c
    stored = sa.select(numbered.number).where(
        _is_any_of(numbered.workspace_id, workspaces), numbered.number.in_(numbers)
    )
    linked = sa.select(pairs.visitor_no, pairs.strong_no).where(
        _is_any_of(pairs.workspace_id, workspaces), pairs.visitor_no.in_(numbers)
    )
    known = set(map(tuple, writer.fetch_rows(linked)))
    for (visitor,) in writer.fetch_rows(stored):
        workspace, strong = strong_by_visitor[visitor]
        if (visitor, strong) not in known:
            visitors[workspace].add(visitor)
    return visitors


def _is_any_of(workspace_id: Expression, workspaces: Iterable[UUID]) -> Expression:
    """Returns whether a workspace is one of several; the driver binds no lists of UUIDs."""
    return sa.or_(*(workspace_id == workspace for workspace in workspaces))


def insert_lone_links(
    writer: StatementRunner,
    version: int,
    workspace: UUID,
    events: Sequence[Event],
    became_strong: set[int],
) -> set[int]:
    """Stores links of distinct ids that were sent alone to the strong id of this name.

    Returns:
        The numbers of the linked visitors.
    """
    lone = {id_number(workspace, f"v:{id_}") for event in events if (id_ := event.lone_distinct_id)}
    if not (visitors := lone | became_strong):
        return set()
    set_changed_numbers(writer, visitors)
    c = EVENTS.c
    stored = sa.select(EVENTS).where(
        c.workspace_id == workspace,
        c.visitor_no.in_(sa.select(CHANGED_NUMBERS.c.number)),
        derived_tables.is_lone_distinct_id(c),
    )
    source = sa.table("lone_events", *(sa.column(column.name, column.type) for column in EVENTS.columns))
    writer.create_temp_table(source.name, stored)
    strong = sa.select(ID_NUMBERS).where(ID_NUMBERS.c.workspace_id == workspace).subquery("own_ids")
    links = derived_tables.lone_distinct_id_links(source, strong)
    rows = links.subquery("links").c
    linked = {number for (number,) in writer.fetch_rows(sa.select(rows.visitor_no))}
    if linked:
        insert_versioned_and_mark_deleted(writer, version, WEAK_LINKS, links, [])
        pairs = sa.select(*(rows[column.name] for column in VISITOR_ID_PAIRS.columns))
        insert_versioned_and_mark_deleted(writer, version, VISITOR_ID_PAIRS, pairs.distinct(), [])
    return linked
