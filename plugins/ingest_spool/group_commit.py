"""A group commit of many offers: claims, events and ledger counts, all or nothing.

The work is done inside SQLite: a commit is one ``INSERT`` of one row into the temporary view ``offer``,
whose trigger claims, enqueues and counts all of it. Such a statement is a transaction by itself, so
the thread lets go of the interpreter lock once for a batch. Statement by statement it would each
time wait until the busy event loop gives the lock back.

The statement fails, and keeps nothing, where an id was claimed before. That is rare; only then are
the claims of the batch looked up, and what is no repeat is offered again: half as much CPU again for
the commit, whether one event of a hundred is a repeat or ten are, and a tenth for an event in all.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from plugins.ingest_spool.claims import ID_BYTES, blocks_claim, claim_id, claim_time
from plugins.ingest_spool.row_format import (
    HOUR_MICROSECONDS,
    LedgerKey,
    dump_json,
    hour_number,
    to_microseconds,
)
from plugins.ingest_spool.schema import write_transaction
from service_core.plugin import EnqueueFailed, EnqueueResult, IngestEndpoint, ReceivedEvent

_CREATE_OFFER_VIEW: Final = f"""
    CREATE TEMP VIEW offer AS SELECT x'' AS ids, '[]' AS moments, '[]' AS arrivals, x'' AS bodies,
        0 AS waiting, '[]' AS lanes, '[]' AS rejected;
    CREATE TEMP TRIGGER offered INSTEAD OF INSERT ON offer BEGIN
        INSERT INTO claim (id, claimed_at)
            SELECT substr(new.ids, {ID_BYTES} * key + 1, {ID_BYTES}), value FROM json_each(new.moments);
        INSERT INTO batch (waiting, lanes, arrivals, bodies)
            SELECT new.waiting, new.lanes, new.arrivals, new.bodies WHERE new.waiting > 0;
        INSERT INTO ledger (workspace, hour, key, channel, received, duplicate)
            SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
            FROM json_each(new.lanes) WHERE true
            ON CONFLICT DO UPDATE SET received = received + excluded.received,
                duplicate = duplicate + excluded.duplicate;
        INSERT INTO rejection (workspace, hour, key, channel, reason, events)
            SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
            FROM json_each(new.rejected) WHERE true
            ON CONFLICT DO UPDATE SET events = events + excluded.events;
    END
"""  # noqa: S608 - a number of ours
_INSERT_OFFERS: Final = "INSERT INTO offer VALUES (?, ?, ?, ?, ?, ?, ?)"
_REPLACE_OFFERS: Final = "INSERT OR REPLACE INTO offer VALUES (?, ?, ?, ?, ?, ?, ?)"
"""The same where claims whose window is over stand in the way."""
_SELECT_CLAIMS: Final = f"""
    SELECT id, claimed_at FROM claim
    WHERE id IN (SELECT substr(?, {ID_BYTES} * value + 1, {ID_BYTES}) FROM json_each(?))
"""  # noqa: S608 - a number of ours


@dataclass(slots=True)
class OfferBatch:
    """The content of the next commit: offered events, and rejected events by ledger key and reason."""

    arrivals: list[ReceivedEvent] = field(default_factory=list)
    rejected: Counter[tuple[LedgerKey, str]] = field(default_factory=Counter)


def create_offer_view(connection: sqlite3.Connection) -> None:
    """Prepares a connection for `commit_offers_and_rejected_counts`."""
    connection.executescript(_CREATE_OFFER_VIEW)


def commit_offers_and_rejected_counts(
    connection: sqlite3.Connection, batch: OfferBatch
) -> list[EnqueueResult]:
    """Commits offered events, their claims and all counts in one transaction.

    Returns:
        The outcome of each arrival, in order.

    Raises:
        EnqueueFailed: nothing of the batch was kept; the connection must not be used again.
    """
    try:
        try:
            connection.execute(_INSERT_OFFERS, _offer_view_columns(batch.arrivals, (), batch.rejected))
        except sqlite3.IntegrityError:
            return _commit_without_duplicates_but_count_them(connection, batch)
    except sqlite3.Error as fault:
        raise EnqueueFailed("queue") from fault
    return [EnqueueResult.QUEUED] * len(batch.arrivals)


def _commit_without_duplicates_but_count_them(
    connection: sqlite3.Connection, batch: OfferBatch
) -> list[EnqueueResult]:
    """Commits a batch in which an id is repeated or was claimed before: duplicates are counted and not enqueued."""
    with write_transaction(connection):
        outcomes = _queued_or_duplicate_per_event(connection, batch.arrivals)
        fresh, repeated = (
            [arrival for arrival, outcome in zip(batch.arrivals, outcomes, strict=True) if outcome is wanted]
            for wanted in (EnqueueResult.QUEUED, EnqueueResult.DUPLICATE)
        )
        connection.execute(_REPLACE_OFFERS, _offer_view_columns(fresh, repeated, batch.rejected))
    return outcomes


def _queued_or_duplicate_per_event(
    connection: sqlite3.Connection, arrivals: Sequence[ReceivedEvent]
) -> list[EnqueueResult]:
    """Returns the result of each event by the claims of the last seven days and by the events before it; writes nothing."""
    ids = [claim_id(event.workspace_id.bytes, event.event_id) for event in arrivals]
    parameters = b"".join(ids), dump_json(list(range(len(ids))))
    claimed: dict[bytes, int] = dict(connection.execute(_SELECT_CLAIMS, parameters))
    outcomes = []
    for own, arrival in zip(ids, arrivals, strict=True):
        now = to_microseconds(arrival.received_at)
        keyed = arrival.channel is not IngestEndpoint.BATCH
        repeats = arrival.claimed and own in claimed and blocks_claim(claimed[own], now, keyed=keyed)
        outcomes.append(EnqueueResult.DUPLICATE if repeats else EnqueueResult.QUEUED)
        if arrival.claimed and not repeats:
            claimed[own] = claim_time(now, keyed=keyed)
    return outcomes


def _offer_view_columns(
    queued: Sequence[ReceivedEvent],
    duplicates: Sequence[ReceivedEvent],
    rejected_counts: Counter[tuple[LedgerKey, str]],
) -> tuple[object, ...]:
    """Returns the columns of the view ``offer``, in the format of `row_format`.

    Args:
        queued: events to enqueue.
        duplicates: duplicates, which are only counted.
        rejected_counts: counts of events that were not offered.
    """
    ids, moments, places, start = [], [], [], 0
    seen: dict[tuple[object, ...], int] = {}
    received: list[int] = []
    for arrival in queued:
        workspace, key, channel, event_id, claimed, at, body, user_agent, address, headers = arrival
        now = to_microseconds(at)
        lane = seen.setdefault((workspace, now // HOUR_MICROSECONDS, key, channel), len(seen))
        if lane == len(received):
            received.append(0)
        received[lane] += 1
        if claimed:
            ids.append(claim_id(workspace.bytes, event_id))
            moments.append(claim_time(now, keyed=channel is not IngestEndpoint.BATCH))
        size = len(body)
        places.append((lane, event_id, claimed, now, user_agent, address, dict(headers), start, size))
        start += size
    duplicate = Counter(
        LedgerKey(event.workspace_id, hour_number(event.received_at), event.key_id, event.channel)
        for event in duplicates
    )
    lanes = [(*key, events, 0) for key, events in zip(seen, received, strict=True)]
    lanes += [(*key, events, events) for key, events in duplicate.items()]
    lanes += [(*key, events, 0 if reason else events) for (key, reason), events in rejected_counts.items()]
    refused = [(*key, reason, events) for (key, reason), events in rejected_counts.items() if reason]
    bodies = b"".join([arrival.body for arrival in queued])
    return (
        b"".join(ids),
        dump_json(moments),
        dump_json(places),
        bodies,
        len(places),
        dump_json(lanes),
        dump_json(refused),
    )
