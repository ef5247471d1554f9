"""The consumer's side of the file: what waits, what became of it, and the ledger."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import orjson

from plugins.ingest_spool.batch import WINDOW
from plugins.ingest_spool.rows import Row, hour_from, hour_start, instant, micros, queued
from plugins.ingest_spool.schema import transaction
from service_core.plugin import Channel, Event, LedgerRow, Quarantined, Queued, QueueState

_ROW: Final = ", ".join(Row._fields)
_LATE: Final = timedelta(hours=24)
_PURGED_AT_LEAST: Final = 100

_FATES: Final = """
    WITH fate (seq, stored, late, bot, reason) AS
        (SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?))
"""
_COUNT_SETTLED: Final = f"""
    INSERT INTO ledger (workspace, hour, key, channel, stored, late, bots, quarantined)
    {_FATES} SELECT workspace, hour, key, channel, sum(stored), sum(late), sum(bot), sum(NOT stored)
    FROM fate JOIN arrival USING (seq) WHERE true GROUP BY workspace, hour, key, channel
    ON CONFLICT DO UPDATE SET stored = stored + excluded.stored, late = late + excluded.late,
        bots = bots + excluded.bots, quarantined = quarantined + excluded.quarantined
"""  # noqa: S608 - our own column names
_SET_ASIDE: Final = f"""
    INSERT INTO quarantine (seq, {_ROW}, reason)
    {_FATES} SELECT seq, {_ROW}, reason FROM fate JOIN arrival USING (seq) WHERE NOT stored
"""  # noqa: S608 - our own column names
_REMOVE: Final = "DELETE FROM arrival WHERE seq IN (SELECT value ->> 0 FROM json_each(?))"
_PURGE: Final = """
    DELETE FROM claim WHERE (workspace, event_id) IN
        (SELECT workspace, event_id FROM claim WHERE claimed_at < ? ORDER BY claimed_at LIMIT ?)
"""
_LEDGER: Final = """
    WITH waiting AS (
        SELECT hour, key, channel, count(*) AS events FROM arrival INDEXED BY arrival_lane
        WHERE workspace = ? GROUP BY hour, key, channel
    )
    SELECT hour, key, channel, received, stored, duplicate, quarantined, late, bots, coalesce(events, 0)
    FROM ledger LEFT JOIN waiting USING (hour, key, channel)
    WHERE workspace = ? AND hour >= ? AND hour < ? ORDER BY hour, key, channel
"""
_REJECTED: Final = """
    SELECT hour, key, channel, reason, events FROM rejection
    WHERE workspace = ? AND hour >= ? AND hour < ? ORDER BY reason
"""
_UNCOUNT: Final = """
    INSERT INTO ledger (workspace, hour, key, channel, quarantined)
    SELECT workspace, hour, key, channel, -count(*) FROM quarantine
    WHERE workspace = ? GROUP BY workspace, hour, key, channel
    ON CONFLICT DO UPDATE SET quarantined = quarantined + excluded.quarantined
"""
_BRING_BACK: Final = f"""
    INSERT INTO arrival (seq, {_ROW}) SELECT seq, {_ROW} FROM quarantine WHERE workspace = ?
"""  # noqa: S608 - our own column names


def take(connection: sqlite3.Connection, limit: int) -> list[Queued]:
    """The oldest waiting arrivals, in order of sequence."""
    rows = connection.execute(f"SELECT seq, {_ROW} FROM arrival ORDER BY seq LIMIT ?", (limit,))  # noqa: S608 - our own column names
    return [queued(seq, kept) for seq, *kept in rows]


def settle(
    connection: sqlite3.Connection, stored: Sequence[Event], quarantined: Sequence[Quarantined]
) -> None:
    """Remove, count and set aside in one commit; drop some claims whose window is over."""
    fates: list[tuple[Any, ...]] = [
        (e.seq, True, e.received_at - e.timestamp > _LATE, e.is_bot, None) for e in stored
    ]
    fates += [(q.queued.seq, False, False, False, q.reason) for q in quarantined]
    document = orjson.dumps(fates).decode()
    newest = max(
        (*(e.received_at for e in stored), *(q.queued.arrival.received_at for q in quarantined)),
        default=None,
    )
    with transaction(connection):
        connection.execute(_COUNT_SETTLED, (document,))
        if quarantined:
            connection.execute(_SET_ASIDE, (document,))
        connection.execute(_REMOVE, (document,))
        if newest is not None:
            _purge(connection, newest, _PURGED_AT_LEAST + 2 * len(fates))


def _purge(connection: sqlite3.Connection, now: datetime, at_most: int) -> None:
    """Twice the pace of what comes in, so old claims never pile up and no commit is long."""
    connection.execute(_PURGE, (micros(now) - WINDOW, at_most))


def quarantined(connection: sqlite3.Connection, workspace_id: UUID, limit: int) -> list[Quarantined]:
    """The quarantined arrivals of a workspace, in order of sequence."""
    rows = connection.execute(
        f"SELECT seq, reason, {_ROW} FROM quarantine WHERE workspace = ? ORDER BY seq LIMIT ?",  # noqa: S608 - our own column names
        (workspace_id.bytes, limit),
    )
    return [Quarantined(queued(seq, kept), reason) for seq, reason, *kept in rows]


def replay(connection: sqlite3.Connection, workspace_id: UUID) -> int:
    """Put the quarantined arrivals of a workspace back in the queue, under their old sequence."""
    mine = (workspace_id.bytes,)
    with transaction(connection):
        connection.execute(_UNCOUNT, mine)
        moved = connection.execute(_BRING_BACK, mine).rowcount
        connection.execute("DELETE FROM quarantine WHERE workspace = ?", mine)
    return moved


def ledger(
    connection: sqlite3.Connection, workspace_id: UUID, start: datetime, end: datetime
) -> list[LedgerRow]:
    """Ledger rows with ``start <= hour < end``, oldest first, all read at one moment."""
    asked = (workspace_id.bytes, hour_from(start), hour_from(end))
    connection.execute("BEGIN")
    try:
        rejected: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
        for *lane, reason, events in connection.execute(_REJECTED, asked):
            rejected[tuple(lane)][reason] = events
        rows = connection.execute(_LEDGER, (asked[0], *asked)).fetchall()
    finally:
        connection.execute("COMMIT")
    return [_ledger_row(row, rejected.get(row[:3], {})) for row in rows]


def _ledger_row(row: tuple[Any, ...], rejected: dict[str, int]) -> LedgerRow:
    hour, key, channel, received, stored, duplicate, quarantined, late, bots, waiting = row
    return LedgerRow(
        hour=hour_start(hour),
        key_id=UUID(bytes=key),
        channel=Channel(channel),
        received=received,
        stored=stored,
        duplicate=duplicate,
        quarantined=quarantined,
        in_flight=waiting,
        late=late,
        bots=bots,
        rejected_by_reason=rejected,
    )


def state(connection: sqlite3.Connection) -> QueueState:
    """Number and oldest receipt of what waits."""
    (waiting,) = connection.execute("SELECT count(*) FROM arrival").fetchone()
    oldest = connection.execute("SELECT received_at FROM arrival ORDER BY seq LIMIT 1").fetchone()
    return QueueState(waiting=waiting, oldest_received_at=None if oldest is None else instant(oldest[0]))
