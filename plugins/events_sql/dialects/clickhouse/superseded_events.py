"""Moves events of senders without a key that keyed events of the same id supersede to their own table, on ClickHouse.

Only the sessions, visitors and ids of the moved events are recomputed: both a page and its server may report each order
under one id, so a rebuild of the workspace would come with every order.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse import deletion
from plugins.events_sql.dialects.clickhouse.replacing_rows import (
    CHANGED_NUMBERS,
    insert_block,
    insert_versioned_and_mark_deleted,
    set_changed_numbers,
)
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import row_to_event, to_column_value, to_naive_utc
from plugins.events_sql.schema.tables import (
    EMAIL_DIGESTS,
    EVENTS,
    REPORTED_TOUCHES,
    SESSIONS,
    SUPERSEDED_EVENTS,
    TOUCH_CANDIDATES,
    WEAK_LINKS,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.writes import derived_tables
from plugins.events_sql.writes.session_rows import session_rows
from service_core.plugin import COLUMNS, ORDER_DEDUP_WINDOW, WEB, Event, SupersededEvent

_NUMBERS: Final = sa.select(CHANGED_NUMBERS.c.number)
_REST: Final = sa.table("rest_of_sessions", *(sa.column(c.name, c.type) for c in EVENTS.columns))
"""The events that remain in the changed sessions, or of the changed ids."""


class NewlySuperseded(NamedTuple):
    """The numbers of a stored event that a keyed event of a batch, ``superseded_by``, supersedes."""

    superseded_by: int
    seq: int
    visitor_no: int
    strong_no: int | None
    session_no: int


def find_superseded_events(
    writer: StatementRunner, batch: Sequence[Event], batch_event_ids: sa.TableClause
) -> dict[UUID, list[NewlySuperseded]]:
    """Returns by workspace the stored events of senders without a key whose id an event of the batch has, sent with a key.

    Args:
        writer: runs the statement.
        batch: the events of an append.
        batch_event_ids: temporary table of their workspaces and event ids.
    """
    c = EVENTS.c
    stored = writer.fetch_rows(
        sa.select(c.workspace_id, c.event_id, c.seq, c.visitor_no, c.strong_no, c.session_no).where(
            c.source == WEB, *_has_id_of_batch(batch, batch_event_ids)
        )
    )
    keyed: dict[tuple[UUID, str], int] = {}
    for event in batch:
        if event.source != WEB:
            keyed.setdefault((event.workspace_id, event.event_id), event.seq)
    superseded: defaultdict[UUID, list[NewlySuperseded]] = defaultdict(list)
    for workspace, event_id, *numbers in stored:
        if (workspace, event_id) in keyed:
            superseded[workspace].append(NewlySuperseded(keyed[workspace, event_id], *numbers))
    return superseded


def choose_those_of_stored_events(
    writer: StatementRunner,
    batch: Sequence[Event],
    superseded: Iterable[SupersededEvent],
    batch_event_ids: sa.TableClause,
) -> list[SupersededEvent]:
    """Returns the superseded events whose superseding event is stored; it is not if it is a repeat itself.

    Args:
        writer: runs the statement.
        batch: the events of an append.
        superseded: those that an event of the batch supersedes.
        batch_event_ids: temporary table of the workspaces and event ids of the batch.
    """
    c = EVENTS.c
    stored = set(
        writer.fetch_rows(
            sa.select(c.workspace_id, c.seq).where(c.source != WEB, *_has_id_of_batch(batch, batch_event_ids))
        )
    )
    return [each for each in superseded if (each.event.workspace_id, each.superseded_by) in stored]


def _has_id_of_batch(batch: Sequence[Event], batch_event_ids: sa.TableClause) -> tuple[Expression, ...]:
    """Returns the conditions of stored events with an id of the batch, received at about its time."""
    c, received = EVENTS.c, [event.received_at for event in batch]
    return (
        c.received_at > sa.literal(to_naive_utc(min(received) - ORDER_DEDUP_WINDOW)),
        c.received_at < sa.literal(to_naive_utc(max(received) + ORDER_DEDUP_WINDOW)),
        sa.tuple_(c.workspace_id, c.event_id).in_(
            sa.select(batch_event_ids.c.workspace_id, batch_event_ids.c.event_id)
        ),
    )


def insert_superseded_events(
    writer: StatementRunner, superseded: Iterable[SupersededEvent], recorded_at: Mapping[int, datetime]
) -> None:
    """Inserts superseded events; one that is there is replaced by itself.

    Args:
        writer: runs the statement.
        superseded: the events.
        recorded_at: sequence number to the naive UTC at which the event became visible.
    """
    rows = [
        [
            *(to_column_value(f.name, getattr(each.event, f.name)) for f in COLUMNS),
            each.superseded_by,
            recorded_at[each.event.seq],
        ]
        for each in superseded
    ]
    insert_block(writer, SUPERSEDED_EVENTS, rows)


def move_superseded_events_and_recompute_derived_tables(
    writer: StatementRunner,
    cluster: str,
    version: int,
    workspace: UUID,
    superseded: Sequence[NewlySuperseded],
) -> set[int]:
    """Moves events to the superseded ones and recomputes the sessions, touches and e-mails they were part of.

    They are inserted there before they are deleted, so that an append that was interrupted loses none.

    Returns:
        The numbers of the visitors whose owner may change.
    """
    seqs = [event.seq for event in superseded]
    visitors = {event.visitor_no for event in superseded}
    visitors |= _visitors_of_weak_links(writer, workspace, seqs)
    insert_superseded_events(writer, *_read_superseded_events(writer, workspace, superseded))
    deletion.delete_events_by_seq(writer, cluster, workspace, seqs)
    set_changed_numbers(writer, {event.session_no for event in superseded})
    own_sessions = (EVENTS.c.workspace_id == workspace, EVENTS.c.session_no.in_(_NUMBERS))
    writer.create_temp_table(_REST.name, sa.select(EVENTS).where(*own_sessions))
    for table, rows in (
        (SESSIONS, session_rows(_REST)),
        (TOUCH_CANDIDATES, derived_tables.touch_candidate_rows(_REST)),
    ):
        changed = [table.c.workspace_id == workspace, table.c.session_no.in_(_NUMBERS)]
        insert_versioned_and_mark_deleted(writer, version, table, rows, changed)
    set_changed_numbers(writer, visitors)
    for table in (REPORTED_TOUCHES, WEAK_LINKS):
        nothing = sa.select(*table.c).where(sa.false())
        insert_versioned_and_mark_deleted(writer, version, table, nothing, _has_seq(table, workspace, seqs))
    _recompute_email_digests(writer, version, workspace, superseded)
    return visitors


def _read_superseded_events(
    writer: StatementRunner, workspace: UUID, superseded: Iterable[NewlySuperseded]
) -> tuple[list[SupersededEvent], dict[int, datetime]]:
    """Returns the events with what supersedes them, and by sequence number when they became visible."""
    superseded_by = {each.seq: each.superseded_by for each in superseded}
    columns = [*(EVENTS.c[f.name] for f in COLUMNS), EVENTS.c.recorded_at]
    rows = writer.fetch_rows(
        sa.select(*columns).where(
            EVENTS.c.workspace_id == workspace, _is_any_seq(EVENTS.c.seq, superseded_by)
        )
    )
    events = [row_to_event(row[:-1]) for row in rows]
    return (
        [SupersededEvent(event, superseded_by[event.seq]) for event in events],
        {event.seq: row[-1] for event, row in zip(events, rows, strict=True)},
    )


def _visitors_of_weak_links(writer: StatementRunner, workspace: UUID, seqs: Iterable[int]) -> set[int]:
    c = WEAK_LINKS.c
    rows = writer.fetch_rows(
        sa.select(c.visitor_no).where(c.workspace_id == workspace, _is_any_seq(c.seq, seqs))
    )
    return {visitor for (visitor,) in rows}


def _has_seq(table: sa.Table, workspace: UUID, seqs: Iterable[int]) -> list[Expression]:
    """Returns the conditions of rows of visitors in ``changed_numbers`` that events with these numbers made."""
    c = table.c
    return [c.workspace_id == workspace, c.visitor_no.in_(_NUMBERS), _is_any_seq(c.seq, seqs)]


def _is_any_seq(column: Expression, seqs: Iterable[int]) -> Expression:
    """Returns whether a sequence number is one of several."""
    return sa.or_(*(column == seq for seq in seqs))


def _recompute_email_digests(
    writer: StatementRunner, version: int, workspace: UUID, superseded: Iterable[NewlySuperseded]
) -> None:
    numbers = {no for event in superseded for no in (event.visitor_no, event.strong_no) if no is not None}
    set_changed_numbers(writer, numbers)
    c: Any = EVENTS.c
    of_ids = sa.or_(c.visitor_no.in_(_NUMBERS), c.strong_no.in_(_NUMBERS))
    writer.create_temp_table(_REST.name, sa.select(EVENTS).where(c.workspace_id == workspace, of_ids))
    digests = derived_tables.email_owner_and_seeker_rows(_REST).subquery("digests")
    insert_versioned_and_mark_deleted(
        writer,
        version,
        EMAIL_DIGESTS,
        sa.select(*digests.c).where(digests.c.number.in_(_NUMBERS)),
        [EMAIL_DIGESTS.c.workspace_id == workspace, EMAIL_DIGESTS.c.number.in_(_NUMBERS)],
    )
