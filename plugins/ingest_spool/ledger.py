"""Reads the ledger, with the events queued at the same moment."""

import sqlite3
from collections import Counter, defaultdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from plugins.ingest_spool.row_format import (
    IGNORED_PREFIX,
    LedgerKey,
    first_full_hour,
    hour_start,
    parse_events,
    parse_ledger_keys,
    parse_uuid,
)
from service_core.plugin import IngestEndpoint, LedgerRow

_COUNTED: Final = """
    SELECT hour, key, channel, received, stored, duplicate, quarantined, late, bots FROM ledger
    WHERE workspace = ? AND hour >= ? AND hour < ? ORDER BY hour, key, channel
"""
_REJECTED: Final = """
    SELECT hour, key, channel, reason, events FROM rejection
    WHERE workspace = ? AND hour >= ? AND hour < ? ORDER BY reason
"""


def read_ledger_rows_in_snapshot(
    connection: sqlite3.Connection, workspace_id: UUID, start: datetime, end: datetime
) -> list[LedgerRow]:
    """Returns ledger rows with ``start <= hour < end``, oldest first, all read at one moment."""
    parameters = (str(workspace_id), first_full_hour(start), first_full_hour(end))
    connection.execute("BEGIN")
    try:
        counted = connection.execute(_COUNTED, parameters).fetchall()
        rejected = connection.execute(_REJECTED, parameters).fetchall()
        waiting = _count_queued_by_ledger_key(connection) if counted else Counter()
    finally:
        connection.execute("COMMIT")
    reasons: dict[tuple[int, str, str], dict[str, int]] = defaultdict(dict)
    for hour, key, channel, reason, events in rejected:
        reasons[hour, key, channel][reason] = events
    return [
        _to_ledger_row(
            row,
            waiting[LedgerKey(workspace_id, row[0], parse_uuid(row[1]), row[2])],
            reasons.get(row[:3], {}),
        )
        for row in counted
    ]


def _count_queued_by_ledger_key(connection: sqlite3.Connection) -> Counter[LedgerKey]:
    """Returns the number of queued events by ledger key, counted from all batches."""
    waiting: Counter[LedgerKey] = Counter()
    for known, text in connection.execute("SELECT lanes, arrivals FROM batch"):
        places = Counter(entry.ledger_key for entry in parse_events(text) if entry is not None)
        for place, lane in enumerate(parse_ledger_keys(known)):
            waiting[lane] += places[place]
    return waiting


def _to_ledger_row(
    ledger_columns: tuple[Any, ...], queued_count: int, events_by_reason: dict[str, int]
) -> LedgerRow:
    hour, key, channel, received, stored, duplicate, quarantined, late, bots = ledger_columns
    return LedgerRow(
        hour=hour_start(hour),
        key_id=parse_uuid(key),
        channel=IngestEndpoint(channel),
        received=received,
        stored=stored,
        duplicate=duplicate,
        quarantined=quarantined,
        in_flight=queued_count,
        late=late,
        bots=bots,
        rejected_by_reason={
            reason: events
            for reason, events in events_by_reason.items()
            if not reason.startswith(IGNORED_PREFIX)
        },
        ignored_by_reason={
            reason.removeprefix(IGNORED_PREFIX): events
            for reason, events in events_by_reason.items()
            if reason.startswith(IGNORED_PREFIX)
        },
    )
