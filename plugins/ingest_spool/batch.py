"""One commit of many offers: claims, rows and ledger counts, all or nothing.

The work is done inside SQLite: a batch is one ``INSERT`` into the temporary view ``offer``, whose
trigger claims, enqueues and counts each row. Such a statement is a transaction by itself, so the
thread lets go of the interpreter lock once for a batch. Row by row it would do so thousands of
times a second and each time wait until the busy event loop gives the lock back: the difference
between a commit of 2 ms and one of 400 ms.
"""

import sqlite3
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final

from plugins.ingest_spool.rows import Lane, Row
from plugins.ingest_spool.schema import transaction
from service_core.plugin import Offer, QueueFailed

WINDOW: Final = 7 * 24 * 3_600_000_000
"""Microseconds a claim holds; a repeat later than that is a new event (contract 10.1)."""

_AT_ONCE: Final = 128
"""Rows in one statement; each number up to it is prepared once and kept."""

_ROW: Final = ", ".join(Row._fields)
_NEW: Final = ", ".join(f"new.{name}" for name in Row._fields)

_OFFERING: Final = f"""
    CREATE TEMP VIEW offer AS SELECT 0 AS place, {_ROW} FROM arrival;
    CREATE TEMP TRIGGER offered INSTEAD OF INSERT ON offer BEGIN
        INSERT INTO claim (event_id, workspace, claimed_at)
            SELECT new.event_id, new.workspace, new.received_at WHERE new.claimed
            ON CONFLICT DO UPDATE SET claimed_at = excluded.claimed_at
                WHERE excluded.claimed_at - claimed_at > {WINDOW};
        INSERT INTO arrival ({_ROW}) SELECT {_NEW} WHERE changes() = 1 OR NOT new.claimed;
        SELECT repeated(new.place) WHERE changes() = 0;
        INSERT INTO ledger (workspace, hour, key, channel, received, duplicate)
            VALUES (new.workspace, new.hour, new.key, new.channel, 1, changes() = 0)
            ON CONFLICT DO UPDATE SET received = received + 1, duplicate = duplicate + excluded.duplicate;
    END;
"""  # noqa: S608 - our own column names
"""``changes()`` is the number of rows the statement before it wrote."""

_COUNT_REJECTED: Final = """
    INSERT INTO ledger (workspace, hour, key, channel, received) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET received = received + excluded.received
"""
_REJECT: Final = """
    INSERT INTO rejection (workspace, hour, key, channel, reason, events) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET events = events + excluded.events
"""


class Desk(sqlite3.Connection):
    """A connection that takes offers, see `take_offers`.

    Attributes:
        repeated: places of the rows that were claimed before, told by the trigger while it runs.
    """

    repeated: list[int]

    def take_offers(self) -> None:
        """Prepare for `commit`, once."""
        self.repeated = []
        self.create_function("repeated", 1, self.repeated.append)
        self.executescript(_OFFERING)


@dataclass(slots=True)
class Batch:
    """What goes into the next commit: offered rows, and rejected events by lane and reason."""

    rows: list[Row] = field(default_factory=list)
    rejected: Counter[tuple[Lane, str]] = field(default_factory=Counter)


def commit(desk: Desk, batch: Batch) -> list[Offer]:
    """Make a batch durable.

    Returns:
        The outcome of each row, in order.

    Raises:
        QueueFailed: nothing of the batch was kept; the connection must not be used again.
    """
    desk.repeated.clear()
    single = len(batch.rows) <= _AT_ONCE and not batch.rejected
    try:
        with nullcontext() if single else transaction(desk):
            for start in range(0, len(batch.rows), _AT_ONCE):
                part = batch.rows[start : start + _AT_ONCE]
                desk.execute(_statement(start, len(part)), list(chain.from_iterable(part)))
            for (lane, reason), events in batch.rejected.items():
                desk.execute(_COUNT_REJECTED, (*lane, events))
                desk.execute(_REJECT, (*lane, reason, events))
    except (sqlite3.Error, OverflowError) as fault:
        raise QueueFailed("queue") from fault
    outcomes = [Offer.QUEUED] * len(batch.rows)
    for place in desk.repeated:
        outcomes[place] = Offer.DUPLICATE
    return outcomes


@lru_cache(maxsize=1024)
def _statement(start: int, rows: int) -> str:
    places = ", ?" * len(Row._fields)
    values = ", ".join(f"({place}{places})" for place in range(start, start + rows))
    return f"INSERT INTO offer (place, {_ROW}) VALUES {values}"  # noqa: S608 - numbers and our own names
