"""Claims of event ids: what they are kept as, how long they hold, and how they go."""

import secrets
import sqlite3
from datetime import datetime
from hashlib import blake2b
from typing import Final

from plugins.ingest_spool.arrivals import HOUR, micros

WINDOW: Final = 7 * 24 * HOUR
"""Microseconds a claim holds; a repeat later than that is a new event (contract 10.1)."""

ID_BYTES: Final = 16

_LAST: Final = b"\xff" * ID_BYTES
_REACHED: Final = "SELECT id FROM claim WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?"
_SWEEP: Final = "DELETE FROM claim WHERE id BETWEEN ? AND ? AND claimed_at < ?"


def claim_id(workspace_id: bytes, event_id: str) -> bytes:
    """What the claim of an event id is kept as: small however long the id, and no two ids share it."""
    return blake2b(workspace_id + event_id.encode(), digest_size=ID_BYTES).digest()


def sweep(connection: sqlite3.Connection, now: datetime, claims: int) -> None:
    """Look at so many claims that lie side by side, anywhere, and drop those whose window is over.

    Claims lie in the order of their digests: dropped by age, each would be on a page of its own.
    """
    start = secrets.token_bytes(ID_BYTES)
    end = connection.execute(_REACHED, (start, claims)).fetchone()
    if end is None:
        start = b""
        end = connection.execute(_REACHED, (start, claims)).fetchone() or (_LAST,)
    connection.execute(_SWEEP, (start, *end, micros(now) - WINDOW))
