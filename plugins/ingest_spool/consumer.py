"""The consumer of the queue: leases, acknowledges and quarantines events."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from plugins.ingest_spool.claims import delete_expired_in_random_range
from plugins.ingest_spool.row_format import (
    IGNORED_PREFIX,
    MAX_EVENTS_PER_BATCH,
    SELECT_BATCH,
    LedgerKey,
    StoredEvent,
    dump_json,
    parse_events,
    parse_ledger_key,
    parse_ledger_keys,
    reinsert_at_former_seq,
    to_microseconds,
    to_queued_event,
)
from plugins.ingest_spool.schema import return_free_pages, write_transaction
from service_core.plugin import Event, EventColumns, QuarantinedEvent, QueuedEvent, QueueState, ReceivedEvent

_LATE: Final = timedelta(hours=24)
_MIN_SWEPT_CLAIMS: Final = 100
_SWEPT_CLAIMS_PER_EVENT: Final = 4
"""Claims looked at for each event settled: one whose window is over stays for two days more, or so."""

_SELECT_BATCHES: Final = (
    "SELECT number, lanes, arrivals FROM batch WHERE number IN (SELECT value FROM json_each(?))"
)
_DELETE_BATCHES: Final = "DELETE FROM batch WHERE number IN (SELECT value FROM json_each(?))"
_UPDATE_ARRIVALS_AND_BODIES: Final = "UPDATE batch SET arrivals = ?, bodies = ? WHERE number = ?"
_UPDATE_BATCH: Final = "UPDATE batch SET waiting = ?, arrivals = ? WHERE number = ?"
_SELECT_OLD_BATCHES: Final = """
    SELECT number FROM batch WHERE EXISTS (SELECT 1 FROM json_each(arrivals) WHERE value ->> 3 < ?) ORDER BY number
"""
_ADD_COUNTS: Final = """
    INSERT INTO ledger (workspace, hour, key, channel, stored, quarantined, late, bots)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3,
        value ->> 4, value ->> 5, value ->> 6, value ->> 7
    FROM json_each(?) WHERE true
    ON CONFLICT DO UPDATE SET stored = stored + excluded.stored, late = late + excluded.late,
        bots = bots + excluded.bots, quarantined = quarantined + excluded.quarantined
"""
_ADD_REASONS: Final = """
    INSERT INTO rejection (workspace, hour, key, channel, reason, events)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
    FROM json_each(?) WHERE true
    ON CONFLICT DO UPDATE SET events = events + excluded.events
"""
_INSERT_QUARANTINED: Final = """
    INSERT INTO quarantine (seq, workspace, lane, arrival, body, reason) VALUES (?, ?, ?, ?, ?, ?)
"""
_SELECT_QUARANTINED: Final = """
    SELECT seq, lane, arrival, body, reason FROM quarantine WHERE workspace = ? ORDER BY seq LIMIT ?
"""
_DELETE_QUARANTINED: Final = """
    DELETE FROM quarantine WHERE (arrival ->> 3) < ? RETURNING workspace
"""

LedgerCounts = defaultdict[LedgerKey, list[int]]
"""By lane: stored, quarantined, late, bots."""


class EventOutcome(NamedTuple):
    """The outcome of an event; ``late`` and ``bot`` belong to a stored one, ``dropped`` is the reason of a dropped one."""

    late: bool = False
    bot: bool = False
    quarantined: QuarantinedEvent | None = None
    ignored: tuple[str, ...] = ()
    dropped: str | None = None


def list_oldest_queued(connection: sqlite3.Connection, limit: int) -> list[QueuedEvent]:
    """Returns the oldest queued events, in order of sequence; changes nothing, so a second call returns them again."""
    taken: list[QueuedEvent] = []
    for number, known, places, bodies in connection.execute(
        "SELECT number, lanes, arrivals, bodies FROM batch ORDER BY number LIMIT ?", (limit,)
    ):
        ledger_keys = parse_ledger_keys(known)
        taken += [
            to_queued_event(
                number * MAX_EVENTS_PER_BATCH + place,
                ledger_keys[entry.ledger_key],
                entry,
                bodies[entry.body_start : entry.body_start + entry.body_length],
            )
            for place, entry in enumerate(parse_events(places))
            if entry is not None
        ]
        if len(taken) >= limit:
            break
    return taken[:limit]


def acknowledge_and_sweep_expired_claims(
    connection: sqlite3.Connection,
    stored: Sequence[Event],
    quarantined: Sequence[QuarantinedEvent],
    ignored: Mapping[int, Sequence[str]],
    dropped: Mapping[int, str],
) -> None:
    """Removes events from the queue, counts and quarantines them in one commit, and deletes some expired claims."""
    columns = EventColumns.of_events(stored)
    seqs, received, happened, bots = map(columns.column, ("seq", "received_at", "timestamp", "is_bot"))
    outcome_by_seq = {
        seq: EventOutcome(received_at - at > _LATE, is_bot, None, tuple(ignored.get(seq, ())))
        for seq, received_at, at, is_bot in zip(seqs, received, happened, bots, strict=True)
    }
    outcome_by_seq |= {event.queued.seq: EventOutcome(quarantined=event) for event in quarantined}
    outcome_by_seq |= {seq: EventOutcome(dropped=reason) for seq, reason in dropped.items()}
    moments = received + [q.queued.arrival.received_at for q in quarantined]
    with write_transaction(connection):
        _remove_from_batches_and_count_once(connection, outcome_by_seq)
        if moments:
            delete_expired_in_random_range(
                connection, max(moments), _MIN_SWEPT_CLAIMS + _SWEPT_CLAIMS_PER_EVENT * len(outcome_by_seq)
            )
    return_free_pages(connection)


def list_quarantined(
    connection: sqlite3.Connection, workspace_id: UUID, limit: int
) -> list[QuarantinedEvent]:
    """Returns the quarantined events of a workspace, in order of sequence."""
    rows = connection.execute(_SELECT_QUARANTINED, (str(workspace_id), limit))
    return [
        QuarantinedEvent(to_queued_event(seq, *_parse_quarantined(whose, text), body), reason)
        for seq, whose, text, body, reason in rows
    ]


def requeue_all_quarantined(connection: sqlite3.Connection, workspace_id: UUID) -> int:
    """Puts the quarantined events of a workspace back in the queue, under their former sequence numbers."""
    everything = -1
    with write_transaction(connection):
        aside = connection.execute(_SELECT_QUARANTINED, (str(workspace_id), everything)).fetchall()
        counts: LedgerCounts = defaultdict(lambda: [0, 0, 0, 0])
        for seq, whose, text, body, _ in aside:
            lane, entry = _parse_quarantined(whose, text)
            reinsert_at_former_seq(connection, seq, lane, entry, body)
            counts[lane][1] -= 1
        _add_to_ledger(connection, counts)
        connection.execute("DELETE FROM quarantine WHERE workspace = ?", (str(workspace_id),))
    return len(aside)


def delete_quarantined_received_before(connection: sqlite3.Connection, cutoff: datetime) -> dict[UUID, int]:
    """Deletes quarantined events received before a time; returns how many of each workspace."""
    with write_transaction(connection):
        gone = connection.execute(_DELETE_QUARANTINED, (to_microseconds(cutoff),)).fetchall()
    return Counter(UUID(workspace) for (workspace,) in gone)


def rewrite_quarantined(
    connection: sqlite3.Connection, rewrite: Callable[[ReceivedEvent], ReceivedEvent | None]
) -> dict[UUID, int]:
    """Replaces or deletes quarantined events; returns how many of each workspace."""
    changed: Counter[UUID] = Counter()
    with write_transaction(connection):
        rows = connection.execute("SELECT seq, lane, arrival, body FROM quarantine ORDER BY seq").fetchall()
        for seq, lane, text, body in rows:
            ledger_key, entry = _parse_quarantined(lane, text)
            before = to_queued_event(seq, ledger_key, entry, body).arrival
            after = rewrite(before)
            if after == before:
                continue
            changed[before.workspace_id] += 1
            if after is None:
                connection.execute("DELETE FROM quarantine WHERE seq = ?", (seq,))
            else:
                stored = entry._replace(
                    address=after.address, user_agent=after.user_agent, headers=dict(after.headers)
                )
                connection.execute(
                    "UPDATE quarantine SET arrival = ?, body = ? WHERE seq = ?",
                    (dump_json(tuple(stored)), after.body, seq),
                )
    return changed


def list_batches_with_events_received_before(connection: sqlite3.Connection, cutoff: datetime) -> list[int]:
    """Returns the numbers of the batches in which an event received before a time waits, in order."""
    return [number for (number,) in connection.execute(_SELECT_OLD_BATCHES, (to_microseconds(cutoff),))]


def rewrite_batch(
    connection: sqlite3.Connection,
    number: int,
    cutoff: datetime,
    rewrite: Callable[[ReceivedEvent], ReceivedEvent],
) -> int:
    """Replaces the waiting events of a batch received before a time, and drops the bodies of removed ones.

    Returns:
        How many events were replaced.
    """
    with write_transaction(connection):
        row = connection.execute(SELECT_BATCH, (number,)).fetchone()
        if row is None:
            return 0
        known, text, bodies = row
        ledger_keys, places = parse_ledger_keys(known), parse_events(text)
        changed, kept = 0, bytearray()
        for place, entry in enumerate(places):
            if entry is None:
                continue
            body = bodies[entry.body_start : entry.body_start + entry.body_length]
            before = to_queued_event(0, ledger_keys[entry.ledger_key], entry, body).arrival
            after = rewrite(before) if before.received_at < cutoff else before
            changed += after != before
            places[place] = entry._replace(
                address=after.address,
                user_agent=after.user_agent,
                headers=dict(after.headers),
                body_start=len(kept),
                body_length=len(after.body),
            )
            kept += after.body
        if changed or len(kept) != len(bodies):
            text = dump_json([place and tuple(place) for place in places])
            connection.execute(_UPDATE_ARRIVALS_AND_BODIES, (text, bytes(kept), number))
    return changed


def queue_lag(connection: sqlite3.Connection) -> QueueState:
    """Returns the number of queued events, and when the oldest was received."""
    (waiting,) = connection.execute("SELECT coalesce(sum(waiting), 0) FROM batch").fetchone()
    oldest = list_oldest_queued(connection, 1)
    return QueueState(waiting, oldest[0].arrival.received_at if oldest else None)


def _remove_from_batches_and_count_once(
    connection: sqlite3.Connection, outcome_by_seq: Mapping[int, EventOutcome]
) -> None:
    """Removes events from their batches and counts them; an event removed before is not counted again."""
    counts: LedgerCounts = defaultdict(lambda: [0, 0, 0, 0])
    reasons: Counter[tuple[LedgerKey, str]] = Counter()
    empty = []
    batch_numbers = dump_json(list({seq // MAX_EVENTS_PER_BATCH for seq in outcome_by_seq}))
    for number, known, text in connection.execute(_SELECT_BATCHES, (batch_numbers,)).fetchall():
        tallies = [(lane, counts[lane]) for lane in parse_ledger_keys(known)]
        places = parse_events(text)
        for place, entry in enumerate(places):
            seq = number * MAX_EVENTS_PER_BATCH + place
            if entry is None or seq not in outcome_by_seq:
                continue
            outcome, places[place] = outcome_by_seq[seq], None
            lane, tally = tallies[entry.ledger_key]
            is_quarantined = outcome.quarantined is not None
            is_stored = not is_quarantined and outcome.dropped is None
            for column, holds in enumerate((is_stored, is_quarantined, outcome.late, outcome.bot)):
                tally[column] += holds
            reasons.update((lane, IGNORED_PREFIX + reason) for reason in outcome.ignored)
            if outcome.dropped is not None:
                reasons[lane, outcome.dropped] += 1
            if outcome.quarantined is not None:
                _insert_quarantined(connection, lane, entry, outcome.quarantined)
        rest = sum(place is not None for place in places)
        if rest:
            connection.execute(_UPDATE_BATCH, (rest, dump_json([p and tuple(p) for p in places]), number))
        else:
            empty.append(number)
    connection.execute(_DELETE_BATCHES, (dump_json(empty),))
    _add_to_ledger(connection, counts)
    rows = [(*lane, reason, events) for (lane, reason), events in reasons.items()]
    connection.execute(_ADD_REASONS, (dump_json(rows),))


def _insert_quarantined(
    connection: sqlite3.Connection,
    ledger_key: LedgerKey,
    stored_event: StoredEvent,
    quarantined_event: QuarantinedEvent,
) -> None:
    seq, body = quarantined_event.queued.seq, quarantined_event.queued.arrival.body
    whose, text = dump_json(tuple(ledger_key)), dump_json(tuple(stored_event))
    row = (seq, str(ledger_key.workspace), whose, text, body, quarantined_event.reason)
    connection.execute(_INSERT_QUARANTINED, row)


def _add_to_ledger(connection: sqlite3.Connection, counts: LedgerCounts) -> None:
    connection.execute(_ADD_COUNTS, (dump_json([(*lane, *numbers) for lane, numbers in counts.items()]),))


def _parse_quarantined(whose: str, text: str) -> tuple[LedgerKey, StoredEvent]:
    return parse_ledger_key(orjson.loads(whose)), StoredEvent(*orjson.loads(text))
