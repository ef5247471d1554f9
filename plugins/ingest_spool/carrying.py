"""Migrates a file of schema version 1, with a row for each event and claim."""

import json
import sqlite3
from collections.abc import Callable
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from plugins.ingest_spool.claims import CLAIM_WINDOW, claim_id
from plugins.ingest_spool.row_format import MAX_EVENTS_PER_BATCH, StoredEvent, dump_json

_OLD: Final = ("claim", "arrival", "quarantine", "ledger", "rejection")
_LANE: Final = "uuid(workspace), hour, uuid(key), channel"
_COPIES: Final = (
    f"""INSERT INTO claim (id, claimed_at)
    SELECT claim_id(workspace, event_id) AS id, claimed_at FROM old_claim
    WHERE claimed_at >= (SELECT max(claimed_at) FROM old_claim) - {CLAIM_WINDOW} ORDER BY id""",  # noqa: S608 - a number of ours
    f"INSERT INTO ledger SELECT {_LANE}, received, duplicate, stored, quarantined, late, bots FROM old_ledger",  # noqa: S608 - our own names
    f"INSERT INTO rejection SELECT {_LANE}, reason, events FROM old_rejection",  # noqa: S608 - our own names
    f"INSERT INTO sqlite_sequence SELECT 'batch', seq / {MAX_EVENTS_PER_BATCH} FROM sqlite_sequence WHERE name = 'old_arrival'",  # noqa: S608 - a number of ours
)
"""No sequence is given twice, so the numbers of batches go on where the sequences of arrivals ended."""

_ARRIVAL: Final = (
    "workspace, hour, key, channel, event_id, claimed, received_at, user_agent, address, headers"
)
_ARRIVALS: Final = f"SELECT seq, body, {_ARRIVAL} FROM old_arrival ORDER BY seq"  # noqa: S608 - our own names
_ASIDE: Final = f"SELECT seq, body, reason, {_ARRIVAL} FROM old_quarantine"  # noqa: S608 - our own names
_BATCH: Final = "INSERT INTO batch (number, waiting, lanes, arrivals, bodies) VALUES (?, ?, ?, ?, ?)"
_SET_ASIDE: Final = """
    INSERT INTO quarantine (seq, workspace, lane, arrival, body, reason) VALUES (?, ?, ?, ?, ?, ?)
"""


def carry_over(connection: sqlite3.Connection, create: Callable[[sqlite3.Connection], None]) -> None:
    """Moves everything to the tables that ``create`` makes; inside a transaction.

    Arrivals keep their sequences: a place that was settled before is empty.
    """
    for table in _OLD:
        connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    create(connection)
    connection.create_function("uuid", 1, _uuid, deterministic=True)
    connection.create_function("claim_id", 2, claim_id, deterministic=True)
    for number, rows in groupby(
        connection.execute(_ARRIVALS).fetchall(), lambda row: row[0] // MAX_EVENTS_PER_BATCH
    ):
        _put_together(connection, number, list(rows))
    for seq, body, reason, *arrival in connection.execute(_ASIDE).fetchall():
        whose, entry = _read(arrival, 0, 0, len(body))
        row = (seq, whose[0], dump_json(whose), dump_json(tuple(entry)), body, reason)
        connection.execute(_SET_ASIDE, row)
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'batch'")
    for statement in _COPIES:
        connection.execute(statement)
    for table in _OLD:
        connection.execute(f"DROP TABLE old_{table}")


def _put_together(connection: sqlite3.Connection, number: int, rows: list[tuple[Any, ...]]) -> None:
    lanes: list[tuple[object, ...]] = []
    places: list[StoredEvent | None] = [None] * (rows[-1][0] % MAX_EVENTS_PER_BATCH + 1)
    bodies = b""
    for seq, body, *arrival in rows:
        whose, places[seq % MAX_EVENTS_PER_BATCH] = _read(arrival, len(lanes), len(bodies), len(body))
        lanes.append(whose)
        bodies += body
    text = dump_json([place and tuple(place) for place in places])
    connection.execute(_BATCH, (number, len(rows), dump_json(lanes), text, bodies))


def _read(arrival: list[Any], lane: int, start: int, length: int) -> tuple[tuple[object, ...], StoredEvent]:
    workspace, hour, key, channel, event_id, claimed, received_at, user_agent, address, headers = arrival
    kept = {} if headers is None else json.loads(headers)
    entry = StoredEvent(lane, event_id, bool(claimed), received_at, user_agent, address, kept, start, length)
    return (_uuid(workspace), hour, _uuid(key), channel), entry


def _uuid(raw: bytes) -> str:
    return str(UUID(bytes=raw))
