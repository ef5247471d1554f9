"""Moves events of senders without a key that an event of the same id, sent with a key, supersedes to their own table.

Runs within the transaction of an append. Only the sessions, visitors and ids of the moved events are recomputed: both a
page and its server may report each order under one id.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.tables import (
    EMAIL_DIGESTS,
    EVENTS,
    REPORTED_TOUCHES,
    SESSIONS,
    SUPERSEDED_EVENTS,
    TOUCH_CANDIDATES,
    WEAK_LINKS,
)
from plugins.events_sql.writes import derived_tables
from plugins.events_sql.writes.append_statements import NEWLY_SUPERSEDED, insert_rows
from plugins.events_sql.writes.event_conditions import timestamp_value
from plugins.events_sql.writes.session_rows import session_rows
from service_core.plugin import COLUMNS, WEB

_SUPERSEDED: Final = NEWLY_SUPERSEDED.c
_WORKSPACES: Final = sa.select(_SUPERSEDED.workspace_id)
_SESSIONS: Final = sa.select(_SUPERSEDED.session_no)
_NUMBERS: Final = sa.union(
    sa.select(_SUPERSEDED.visitor_no),
    sa.select(_SUPERSEDED.strong_no).where(_SUPERSEDED.strong_no.is_not(None)),
)

SELECT_LINKED_VISITORS: Final = sa.union(
    sa.select(_SUPERSEDED.visitor_no),
    sa.select(WEAK_LINKS.c.visitor_no).where(
        WEAK_LINKS.c.workspace_id.in_(_WORKSPACES), WEAK_LINKS.c.seq.in_(sa.select(_SUPERSEDED.seq))
    ),
)
"""The visitors whose owner may change; selected before the links are removed."""


def superseded_workspaces(writer: StatementRunner) -> list[Any]:
    """Returns the workspaces with newly superseded events."""
    return [workspace for (workspace,) in writer.fetch_rows(_WORKSPACES.distinct())]


def move_superseded_events(writer: StatementRunner) -> None:
    """Moves the events in ``newly_superseded`` and recomputes sessions, touches, links and e-mails of the rest."""
    writer.fetch_rows(insert_rows(SUPERSEDED_EVENTS, _events_to_move()))
    for table in (EVENTS, WEAK_LINKS, REPORTED_TOUCHES):
        writer.fetch_rows(_delete_rows(table))
    rest = sa.select(EVENTS).where(EVENTS.c.session_no.in_(_SESSIONS)).subquery("rest_of_sessions")
    for table, rows in (
        (SESSIONS, session_rows(rest)),
        (TOUCH_CANDIDATES, derived_tables.touch_candidate_rows(rest)),
    ):
        writer.fetch_rows(sa.delete(table).where(table.c.session_no.in_(_SESSIONS)))
        writer.fetch_rows(insert_rows(table, rows))
    _recompute_email_digests(writer)


def insert_events_of_batch(
    writer: StatementRunner, superseded: Sequence[tuple[int, int]], recorded_at: datetime
) -> None:
    """Inserts the events of the table ``batch`` unless they are there.

    Args:
        writer: of the store.
        superseded: row number and sequence number of the superseding event, of each event.
        recorded_at: naive UTC at which they became visible.
    """
    names = ", ".join(f.name for f in COLUMNS)
    numbers = ", ".join(f"({place}, {superseded_by})" for place, superseded_by in superseded)
    writer.execute_text(
        f"INSERT INTO superseded_events ({names}, superseded_by, recorded_at) "  # noqa: S608 - names and numbers
        f"SELECT {', '.join(f'b.{f.name}' for f in COLUMNS)}, n.superseded_by, {timestamp_value(recorded_at)} FROM batch b "
        f"JOIN (VALUES {numbers}) AS n(row_no, superseded_by) ON n.row_no = b.row_no "
        "WHERE NOT EXISTS (SELECT 1 FROM superseded_events s "
        "WHERE s.workspace_id = b.workspace_id AND s.seq = b.seq)"
    )


def _events_to_move() -> sa.Select[Any]:
    """Selects the newly superseded events that are not in their table yet."""
    e, kept = EVENTS.c, SUPERSEDED_EVENTS.c
    same = sa.and_(_SUPERSEDED.workspace_id == e.workspace_id, _SUPERSEDED.seq == e.seq)
    is_kept = sa.exists().where(kept.workspace_id == e.workspace_id, kept.seq == e.seq)
    return (
        sa.select(*(e[f.name] for f in COLUMNS), _SUPERSEDED.superseded_by, e.recorded_at)
        .join_from(EVENTS, NEWLY_SUPERSEDED, same)
        .where(e.source == WEB, ~is_kept)
    )


def _delete_rows(table: sa.Table) -> sa.Delete:
    of_events = (table.c.workspace_id.in_(_WORKSPACES), table.c.seq.in_(sa.select(_SUPERSEDED.seq)))
    return sa.delete(table).where(*of_events, *((table.c.source == WEB,) if table is EVENTS else ()))


def _recompute_email_digests(writer: StatementRunner) -> None:
    of_numbers = sa.or_(EVENTS.c.visitor_no.in_(_NUMBERS), EVENTS.c.strong_no.in_(_NUMBERS))
    rest = sa.select(EVENTS).where(of_numbers).subquery("rest_of_ids")
    digests = derived_tables.email_owner_and_seeker_rows(rest).subquery("digests")
    writer.fetch_rows(sa.delete(EMAIL_DIGESTS).where(EMAIL_DIGESTS.c.number.in_(_NUMBERS)))
    writer.fetch_rows(insert_rows(EMAIL_DIGESTS, sa.select(*digests.c).where(digests.c.number.in_(_NUMBERS))))
