"""Conditions of events that are cut or deleted, as text of SQL; they hold numbers, times and ids of imports only."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from service_core.plugin import IMPORT_PROPERTY

_MAX_NUMBERS_PER_STATEMENT: Final = 1000

HAS_WHOLE_ADDRESS: Final = "ip IS NOT NULL AND ip NOT LIKE '%/%'"
"""A cut address has the length of its prefix at its end."""


TABLES_OF_EVENTS: Final = ("events", "superseded_events", "event_versions")
"""The tables that hold events as they were sent."""


def superseded_with(own: str, condition: str) -> str:
    """Returns the condition of superseded events that meet a condition, or whose superseding event meets it.

    Args:
        own: condition of the workspace.
        condition: condition of events.
    """
    superseding = f"SELECT seq FROM events WHERE {own} AND {condition}"  # noqa: S608 - no input
    return f"{own} AND ({condition} OR superseded_by IN ({superseding}))"


def happened_before(moment: datetime) -> str:
    """Returns the condition of events that happened before a time."""
    return f"timestamp < {timestamp_literal(moment)}"


def received_between(since: datetime | None, before: datetime) -> str:
    """Returns the condition of events received in a time range."""
    end = f"received_at < {timestamp_literal(before)}"
    return end if since is None else f"received_at >= {timestamp_literal(since)} AND {end}"


def is_of_import(import_id: UUID, dialect: DefaultDialect) -> str:
    """Returns the condition of events that an import brought in: those whose own `IMPORT_PROPERTY` names it."""
    properties = sa.column("event_data", EVENTS.c.event_data.type)
    named = fn.JsonScalar(
        properties, fn.JsonPath(sa.literal(f"/{IMPORT_PROPERTY}"), sa.literal(IMPORT_PROPERTY))
    )
    condition = named == sa.literal(str(import_id))
    return str(condition.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def has_sequence_number(numbers: Collection[int]) -> Iterator[str]:
    """Yields conditions that together match the events with these sequence numbers."""
    ordered = sorted({int(number) for number in numbers})
    for start in range(0, len(ordered), _MAX_NUMBERS_PER_STATEMENT):
        part = ordered[start : start + _MAX_NUMBERS_PER_STATEMENT]
        yield f"seq IN ({', '.join(map(str, part))})"


def timestamp_literal(moment: datetime) -> str:
    """Returns a time as text in SQL, with microseconds."""
    return f"'{to_naive_utc(moment):%Y-%m-%d %H:%M:%S.%f}'"


def timestamp_value(naive_utc: datetime) -> str:
    """Returns a naive UTC time as a value in SQL, with microseconds."""
    return f"CAST('{naive_utc:%Y-%m-%d %H:%M:%S.%f}' AS TIMESTAMP)"
