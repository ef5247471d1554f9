"""Reads the persons, visitors and sessions of a few events, given by their positions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.relations.relation_rows import PERSON, EventRows
from plugins.events_sql.sql import functions as fn
from service_core.plugin import QueryScope, TimeRange

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class EventPosition(NamedTuple):
    """The microsecond since 1970 and the sequence number of an event."""

    microsecond: int
    seq: int


class EventWithPerson(NamedTuple):
    """The person, visitor and session of an event."""

    person: str
    visitor_id: str
    session_id: str


def instant_of_microsecond(microsecond: int) -> datetime:
    """Returns the instant of a number of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microsecond)


def read_events_with_person(
    scope: QueryScope, positions: Sequence[EventPosition], runner: StatementRunner
) -> Mapping[int, EventWithPerson]:
    """Returns the events at positions by sequence number; the filters of the scope do not apply.

    An event deleted since its position was read is missing, where the engine has no snapshots.
    """
    if not positions:
        return {}
    first, last = min(positions).microsecond, max(positions).microsecond
    span = TimeRange(instant_of_microsecond(first), instant_of_microsecond(last + 1))
    rows = EventRows(replace(scope, filters=()), span)
    person, c = rows.column_with_fallbacks(PERSON), rows.table.c
    numbers = sa.literal(sorted(position.seq for position in positions), sa.ARRAY(sa.BigInteger))
    query = sa.select(c.seq, person, c.visitor_id, c.session_id).select_from(rows.source)
    found = runner.fetch_rows(query.where(*rows.where, fn.InArray(c.seq, numbers)))
    return {seq: EventWithPerson(*values) for seq, *values in found}
