"""Finds events of a batch that are stored already, where the 7 days of `EventStore.append` do not tell.

An import may bring a row again at any time, and events that waited longer than 7 days may have come a second time meanwhile.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.ingestion.event_columns import EventColumns
from service_core.ingestion.event_source import WEB
from service_core.ingestion.imported_ids import FILE_OF_EVENTS, queue_id_of_imported_row, row_id_of_import
from service_core.ingestion.models import IMPORT_PROPERTY
from service_core.ingestion.ports import EventStore, StoredEventKey

STORED_BEFORE: Final = "stored_before"
"""Reason in the ledger of an event that is not stored again."""

_REPEAT_WINDOW: Final = timedelta(days=7)
"""How far apart in receipt `EventStore.append` finds repeats."""
_SAME_TIME: Final = timedelta(seconds=1)
"""A row is the event of another sender with its id only if both happened at the same time: other tools count their ids from 1."""


class _Row(NamedTuple):
    """The columns of an event by which it is compared."""

    workspace_id: UUID
    event_id: str
    seq: int
    timestamp: datetime
    source: str
    event_data: Mapping[str, Any]

    @property
    def key(self) -> StoredEventKey:
        """Returns the event as one that is stored."""
        return StoredEventKey(self.event_id, self.seq, self.timestamp, self.source)


_Stored = defaultdict[tuple[UUID, str], list[StoredEventKey]]
"""Stored events by workspace and event id."""


async def positions_of_events_not_stored_or_none_if_all_new(
    events: EventColumns, store: EventStore, now: datetime
) -> Sequence[int] | None:
    """Returns the positions of the events that are not stored already; None if that holds for all of them.

    Args:
        events: a batch; an event of it that is stored under its own sequence number is no repeat.
        store: is searched by id for the imported and the old events only.
        now: the current time.
    """
    searched = [
        place
        for place, (received_at, sent) in enumerate(
            zip(events.column("received_at"), events.column("event_data"), strict=True)
        )
        if IMPORT_PROPERTY in sent or now - received_at >= _REPEAT_WINDOW
    ]
    if not searched:
        return None
    rows = [_Row(*values) for values in zip(*map(events.column, _Row._fields), strict=True)]
    stored = await _stored_events_by_possible_id([rows[place] for place in searched], store)
    for place in set(range(len(rows))).difference(searched):  # they are stored with this batch
        stored[rows[place].workspace_id, rows[place].event_id].append(rows[place].key)
    repeats = set()
    for place in searched:
        if _is_stored_under_other_number(rows[place], stored):
            repeats.add(place)
        else:
            stored[rows[place].workspace_id, rows[place].event_id].append(rows[place].key)
    return [place for place in range(len(rows)) if place not in repeats] if repeats else None


async def _stored_events_by_possible_id(rows: Sequence[_Row], store: EventStore) -> _Stored:
    """Returns the stored events that have the id of an event, or one under which its imported row may be stored."""
    wanted: defaultdict[UUID, set[str]] = defaultdict(set)
    for row in rows:
        wanted[row.workspace_id] |= {row.event_id, *_other_ids_of_row(row.event_id)}
    stored: _Stored = defaultdict(list)
    for workspace_id, ids in wanted.items():
        for key in await store.find_events_by_id(workspace_id, ids):
            stored[workspace_id, key.event_id].append(key)
    return stored


def _is_stored_under_other_number(row: _Row, stored: _Stored) -> bool:
    """Returns whether an event is stored under another number: by its id, or an imported row as the same event of another sender."""
    of_same_id = stored.get((row.workspace_id, row.event_id), [])
    of_other_senders = [
        key
        for id_ in _other_ids_of_row(row.event_id)
        for key in stored.get((row.workspace_id, id_), [])
        if IMPORT_PROPERTY in row.event_data and abs(key.timestamp - row.timestamp) < _SAME_TIME
    ]
    return any(
        key.seq != row.seq and (key.source != WEB or row.source == WEB)
        for key in chain(of_same_id, of_other_senders)
    )


def _other_ids_of_row(event_id: str) -> tuple[str, str]:
    """Returns the ids that an imported row has as a live event, and as a row that `touchpoint import events` read."""
    row_id = row_id_of_import(event_id)
    return row_id, queue_id_of_imported_row(FILE_OF_EVENTS, row_id, 0)
