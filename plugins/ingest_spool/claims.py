"""Claims of event ids: how they are stored, how long they are valid, and how they are deleted."""

import secrets
import sqlite3
from datetime import datetime
from hashlib import blake2b
from typing import Final

from plugins.ingest_spool.row_format import HOUR_MICROSECONDS, to_microseconds

CLAIM_WINDOW: Final = 7 * 24 * HOUR_MICROSECONDS
"""Microseconds a claim holds; a repeat later than that is a new event."""

ID_BYTES: Final = 16

_LARGEST_ID: Final = b"\xff" * ID_BYTES
_SELECT_LAST_SWEPT: Final = "SELECT id FROM claim WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?"
_DELETE_EXPIRED: Final = "DELETE FROM claim WHERE id BETWEEN ? AND ? AND claimed_at < ?"


def claim_time(received_at: int, *, keyed: bool) -> int:
    """Returns the time of a claim: even for a sender with a key, odd for one without.

    A claim of a sender without a key gives way to one with a key, so nobody can claim the ids of a shop's orders.
    """
    return received_at & ~1 | (not keyed)


def blocks_claim(claimed_at: int, received_at: int, *, keyed: bool) -> bool:
    """Returns whether a claim makes a later event of its id a duplicate."""
    gives_way = keyed and claimed_at & 1
    return not gives_way and received_at - claimed_at <= CLAIM_WINDOW


def claim_id(workspace_id: bytes, event_id: str) -> bytes:
    """Returns the stored form of a claim: a digest of fixed size."""
    return blake2b(workspace_id + event_id.encode(), digest_size=ID_BYTES).digest()


def delete_expired_in_random_range(
    connection: sqlite3.Connection, now: datetime, max_scanned_claims: int
) -> None:
    """Deletes the claims older than seven days among ``max_claims`` neighbouring claims, from a random one on.

    Claims are stored in the order of their digests: deleted by age, each would be on another page of the file.
    """
    start = secrets.token_bytes(ID_BYTES)
    end = connection.execute(_SELECT_LAST_SWEPT, (start, max_scanned_claims)).fetchone()
    if end is None:
        start = b""
        end = connection.execute(_SELECT_LAST_SWEPT, (start, max_scanned_claims)).fetchone() or (_LARGEST_ID,)
    connection.execute(_DELETE_EXPIRED, (start, *end, to_microseconds(now) - CLAIM_WINDOW))
