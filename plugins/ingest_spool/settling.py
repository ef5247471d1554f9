"""The consumer's side of the file: what waits, and what became of it."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from plugins.ingest_spool.arrivals import (
    PLACES,
    Entry,
    Lane,
    as_json,
    entries,
    lane_of,
    lanes,
    micros,
    put,
    queued,
)
from plugins.ingest_spool.claims import sweep
from plugins.ingest_spool.schema import transaction
from service_core.plugin import Event, Quarantined, Queued, QueueState

_LATE: Final = timedelta(hours=24)
_SWEPT_AT_LEAST: Final = 100
_SWEPT_PER_EVENT: Final = 4
"""Claims looked at for each event settled: one whose window is over stays for two days more, or so."""

_FIND: Final = "SELECT number, lanes, arrivals FROM batch WHERE number IN (SELECT value FROM json_each(?))"
_REMOVE: Final = "DELETE FROM batch WHERE number IN (SELECT value FROM json_each(?))"
_KEEP_REST: Final = "UPDATE batch SET waiting = ?, arrivals = ? WHERE number = ?"
_COUNT: Final = """
    INSERT INTO ledger (workspace, hour, key, channel, stored, quarantined, late, bots)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3,
        value ->> 4, value ->> 5, value ->> 6, value ->> 7
    FROM json_each(?) WHERE true
    ON CONFLICT DO UPDATE SET stored = stored + excluded.stored, late = late + excluded.late,
        bots = bots + excluded.bots, quarantined = quarantined + excluded.quarantined
"""
_SET_ASIDE: Final = """
    INSERT INTO quarantine (seq, workspace, lane, arrival, body, reason) VALUES (?, ?, ?, ?, ?, ?)
"""
_ASIDE: Final = """
    SELECT seq, lane, arrival, body, reason FROM quarantine WHERE workspace = ? ORDER BY seq LIMIT ?
"""
_FORGET: Final = """
    DELETE FROM quarantine WHERE (arrival ->> 3) < ? RETURNING workspace
"""

Counts = defaultdict[Lane, list[int]]
"""By lane: stored, quarantined, late, bots."""


class Fate(NamedTuple):
    """What became of an arrival; ``late`` and ``bot`` belong to one that was stored."""

    late: bool = False
    bot: bool = False
    aside: Quarantined | None = None


def take(connection: sqlite3.Connection, limit: int) -> list[Queued]:
    """The oldest waiting arrivals, in order of sequence."""
    taken: list[Queued] = []
    for number, known, places, bodies in connection.execute(
        "SELECT number, lanes, arrivals, bodies FROM batch ORDER BY number LIMIT ?", (limit,)
    ):
        whose = lanes(known)
        taken += [
            queued(
                number * PLACES + place,
                whose[entry.lane],
                entry,
                bodies[entry.start : entry.start + entry.length],
            )
            for place, entry in enumerate(entries(places))
            if entry is not None
        ]
        if len(taken) >= limit:
            break
    return taken[:limit]


def settle(
    connection: sqlite3.Connection, stored: Sequence[Event], quarantined: Sequence[Quarantined]
) -> None:
    """Remove, count and set aside in one commit; drop some claims whose window is over."""
    fates = {e.seq: Fate(late=e.received_at - e.timestamp > _LATE, bot=e.is_bot) for e in stored}
    fates |= {each.queued.seq: Fate(aside=each) for each in quarantined}
    moments = [e.received_at for e in stored] + [q.queued.arrival.received_at for q in quarantined]
    with transaction(connection):
        _leave(connection, fates)
        if moments:
            sweep(connection, max(moments), _SWEPT_AT_LEAST + _SWEPT_PER_EVENT * len(fates))


def quarantined(connection: sqlite3.Connection, workspace_id: UUID, limit: int) -> list[Quarantined]:
    """The quarantined arrivals of a workspace, in order of sequence."""
    rows = connection.execute(_ASIDE, (str(workspace_id), limit))
    return [
        Quarantined(queued(seq, *_read(whose, text), body), reason) for seq, whose, text, body, reason in rows
    ]


def replay(connection: sqlite3.Connection, workspace_id: UUID) -> int:
    """Put the quarantined arrivals of a workspace back in the queue, under their old sequence."""
    everything = -1
    with transaction(connection):
        aside = connection.execute(_ASIDE, (str(workspace_id), everything)).fetchall()
        counts: Counts = defaultdict(lambda: [0, 0, 0, 0])
        for seq, whose, text, body, _ in aside:
            lane, entry = _read(whose, text)
            put(connection, seq, lane, entry, body)
            counts[lane][1] -= 1
        _count(connection, counts)
        connection.execute("DELETE FROM quarantine WHERE workspace = ?", (str(workspace_id),))
    return len(aside)


def forget(connection: sqlite3.Connection, before: datetime) -> dict[UUID, int]:
    """Let go of quarantined arrivals received before a time; returns how many of each workspace."""
    with transaction(connection):
        gone = connection.execute(_FORGET, (micros(before),)).fetchall()
    return Counter(UUID(workspace) for (workspace,) in gone)


def state(connection: sqlite3.Connection) -> QueueState:
    """Number and oldest receipt of what waits."""
    (waiting,) = connection.execute("SELECT coalesce(sum(waiting), 0) FROM batch").fetchone()
    oldest = take(connection, 1)
    return QueueState(waiting, oldest[0].arrival.received_at if oldest else None)


def _leave(connection: sqlite3.Connection, fates: Mapping[int, Fate]) -> None:
    """Take arrivals out of their batches and count them; one that has left before is not counted again."""
    counts: Counts = defaultdict(lambda: [0, 0, 0, 0])
    empty = []
    asked = as_json(list({seq // PLACES for seq in fates}))
    for number, known, text in connection.execute(_FIND, (asked,)).fetchall():
        tallies = [(lane, counts[lane]) for lane in lanes(known)]
        places = entries(text)
        for place, entry in enumerate(places):
            seq = number * PLACES + place
            if entry is None or seq not in fates:
                continue
            fate, places[place] = fates[seq], None
            lane, tally = tallies[entry.lane]
            stored = fate.aside is None
            for column, holds in enumerate((stored, not stored, fate.late, fate.bot)):
                tally[column] += holds
            if fate.aside is not None:
                _set_aside(connection, lane, entry, fate.aside)
        rest = sum(place is not None for place in places)
        if rest:
            connection.execute(_KEEP_REST, (rest, as_json([p and tuple(p) for p in places]), number))
        else:
            empty.append(number)
    connection.execute(_REMOVE, (as_json(empty),))
    _count(connection, counts)


def _set_aside(connection: sqlite3.Connection, lane: Lane, entry: Entry, aside: Quarantined) -> None:
    seq, body = aside.queued.seq, aside.queued.arrival.body
    whose, text = as_json(tuple(lane)), as_json(tuple(entry))
    row = (seq, str(lane.workspace), whose, text, body, aside.reason)
    connection.execute(_SET_ASIDE, row)


def _count(connection: sqlite3.Connection, counts: Counts) -> None:
    connection.execute(_COUNT, (as_json([(*lane, *numbers) for lane, numbers in counts.items()]),))


def _read(whose: str, text: str) -> tuple[Lane, Entry]:
    return lane_of(orjson.loads(whose)), Entry(*orjson.loads(text))
