"""One commit of many offers: claims, rows and ledger counts, all or nothing.

Every statement takes all rows of the batch at once. A statement per row would let go of the
interpreter lock thousands of times a second, and each time wait for the busy event loop to give
it back: with 64 connections that is the difference between one commit in 2 ms and one in 400 ms.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from plugins.ingest_spool.rows import Lane, Row
from service_core.plugin import Offer, QueueFailed

WINDOW: Final = 7 * 24 * 3_600_000_000
"""Microseconds a claim holds; a repeat later than that is a new event (contract 10.1)."""

_AT_ONCE: Final = 128
"""Rows in one statement; each number up to it is prepared once and kept."""

_SEEN: Final = """
    WITH asked (place, workspace, event_id, at) AS (VALUES {rows})
    SELECT group_concat(place) FROM asked JOIN claim USING (workspace, event_id)
    WHERE asked.at - claim.claimed_at <= {window}
"""
_CLAIM: Final = """
    INSERT INTO claim (workspace, event_id, claimed_at) VALUES {rows}
    ON CONFLICT DO UPDATE SET claimed_at = excluded.claimed_at
"""
_ENQUEUE: Final = f"INSERT INTO arrival ({', '.join(Row._fields)}) VALUES {{rows}}"  # noqa: S608 - our own column names
_COUNT: Final = """
    INSERT INTO ledger (workspace, hour, key, channel, received, duplicate) VALUES {rows}
    ON CONFLICT DO UPDATE SET received = received + excluded.received, duplicate = duplicate + excluded.duplicate
"""
_REJECT: Final = """
    INSERT INTO rejection (workspace, hour, key, channel, reason, events) VALUES {rows}
    ON CONFLICT DO UPDATE SET events = events + excluded.events
"""


@dataclass(slots=True)
class Batch:
    """What goes into the next commit: offered rows, and rejected events by lane and reason."""

    rows: list[Row] = field(default_factory=list)
    rejected: Counter[tuple[Lane, str]] = field(default_factory=Counter)


def commit(connection: sqlite3.Connection, batch: Batch) -> list[Offer]:
    """Make a batch durable.

    Returns:
        The outcome of each row, in order.

    Raises:
        QueueFailed: nothing of the batch was kept; the connection must not be used again.
    """
    step = "queue"
    try:
        connection.execute("BEGIN IMMEDIATE")
        step = "claim"
        repeated = _repeated(connection, batch.rows)
        fresh = [row for place, row in enumerate(batch.rows) if place not in repeated]
        _each(connection, _CLAIM, [(r.workspace, r.event_id, r.received_at) for r in fresh if r.claimed])
        step = "queue"
        _each(connection, _ENQUEUE, fresh)
        _count(connection, batch, repeated)
        connection.execute("COMMIT")
    except (sqlite3.Error, OverflowError) as fault:
        raise QueueFailed(step) from fault
    return [Offer.DUPLICATE if place in repeated else Offer.QUEUED for place in range(len(batch.rows))]


def _repeated(connection: sqlite3.Connection, rows: Sequence[Row]) -> set[int]:
    """Places of the rows whose event id was claimed within the window, or earlier in this batch."""
    first: dict[tuple[bytes, str], int] = {}
    repeated: set[int] = set()
    for place, row in enumerate(rows):
        if row.claimed and first.setdefault((row.workspace, row.event_id), place) != place:
            repeated.add(place)
    asked = [(place, *claim, rows[place].received_at) for claim, place in first.items()]
    for part, sql in _parts(_SEEN, asked):
        (places,) = connection.execute(sql, part).fetchone()
        repeated.update(map(int, places.split(",")) if places else ())
    return repeated


def _count(connection: sqlite3.Connection, batch: Batch, repeated: set[int]) -> None:
    """Count every received event of the batch in its lane."""
    received: Counter[Lane] = Counter()
    duplicate: Counter[Lane] = Counter()
    for place, row in enumerate(batch.rows):
        lane = Lane(row.workspace, row.hour, row.key, row.channel)
        received[lane] += 1
        duplicate[lane] += place in repeated
    for (lane, _reason), events in batch.rejected.items():
        received[lane] += events
    _each(connection, _COUNT, [(*lane, events, duplicate[lane]) for lane, events in received.items()])
    _each(connection, _REJECT, [(*lane, reason, n) for (lane, reason), n in batch.rejected.items()])


def _each(connection: sqlite3.Connection, template: str, rows: Sequence[tuple[Any, ...]]) -> None:
    for part, sql in _parts(template, rows):
        connection.execute(sql, part)


def _parts(template: str, rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[list[Any], str]]:
    """The rows in handfuls: the flat values of each, and the statement with as many places."""
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        yield list(_flat(part)), _statement(template, len(part), len(part[0]))


def _flat(rows: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    return chain.from_iterable(rows)


def _statement(template: str, rows: int, width: int) -> str:
    places = "(" + ",".join("?" * width) + ")"
    return template.format(rows=",".join([places] * rows), window=WINDOW)
