"""The batch of an append as data frames, which another process than the one that owns the store can prepare."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any, Final, Self

import orjson
import polars as pl

from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.writes.event_frames import events_to_frame, places_without_ids_repeated_within
from service_core.plugin import (
    IDENTIFY_EVENT,
    ORDER_DEDUP_WINDOW,
    TRACKED_SOURCES,
    Event,
    EventColumns,
    has_email,
)

_LENGTH_BYTES: Final = 8


@dataclass(frozen=True)
class EventBatch:
    """The events of a batch without repeats, and the facts about them that an append needs.

    Attributes:
        unique: the remaining events in order of receipt, with the columns of `tables.BATCH`.
        superseded: the events that one of them supersedes, with the same columns.
        superseded_keys: of each superseded event, its workspace as text and the sequence number that supersedes it.
        first_received, last_received: naive UTC of the earliest and latest receipt.
        has_touches: whether an event carries touches that its client reported.
        has_emails: whether an event names or seeks a person by an e-mail address.
        has_lone_ids: whether an event carries a distinct id and no other id.
    """

    unique: pl.DataFrame
    superseded: pl.DataFrame
    superseded_keys: tuple[tuple[str, int], ...]
    first_received: datetime
    last_received: datetime
    has_touches: bool
    has_emails: bool
    has_lone_ids: bool

    @classmethod
    def of_events(cls, events: Sequence[Event]) -> Self:
        """Returns the batch of some events, of which there is at least one."""
        columns = EventColumns.of_events(events)
        places, superseded = places_without_ids_repeated_within(columns, ORDER_DEDUP_WINDOW.total_seconds())
        received = columns.column("received_at")
        superseded_events = columns.select([place for place, _ in superseded])
        workspaces = superseded_events.column("workspace_id")
        return cls(
            unique=events_to_frame(columns.select(places)),
            superseded=events_to_frame(superseded_events),
            superseded_keys=tuple(
                (str(workspace), seq) for workspace, (_, seq) in zip(workspaces, superseded, strict=True)
            ),
            first_received=to_naive_utc(min(received)),
            last_received=to_naive_utc(max(received)),
            has_touches=any(columns.column("reported_touches")),
            has_emails=_any_has_email(columns),
            has_lone_ids=_any_has_lone_distinct_id(columns),
        )

    def encode(self) -> bytes:
        """Returns the batch as bytes: a JSON head and two Arrow streams, each behind its length."""
        head = orjson.dumps(
            {
                "superseded_keys": self.superseded_keys,
                "received": [self.first_received, self.last_received],
                "has_touches": self.has_touches,
                "has_emails": self.has_emails,
                "has_lone_ids": self.has_lone_ids,
            }
        )
        parts = head, _frame_to_bytes(self.unique), _frame_to_bytes(self.superseded)
        return b"".join(len(part).to_bytes(_LENGTH_BYTES) + part for part in parts)

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Returns the batch that `encode` wrote."""
        text, unique, superseded = _split_parts(memoryview(encoded))
        head: dict[str, Any] = orjson.loads(text)
        first, last = map(datetime.fromisoformat, head["received"])
        return cls(
            unique=pl.read_ipc_stream(BytesIO(unique)),
            superseded=pl.read_ipc_stream(BytesIO(superseded)),
            superseded_keys=tuple((workspace, seq) for workspace, seq in head["superseded_keys"]),
            first_received=first,
            last_received=last,
            has_touches=head["has_touches"],
            has_emails=head["has_emails"],
            has_lone_ids=head["has_lone_ids"],
        )


def _any_has_email(columns: EventColumns) -> bool:
    """Returns whether `has_email` holds for an event; only those are looked at that may name or seek a person."""
    names, sources, strong_ids = map(columns.column, ("event_name", "source", "strong_id"))
    return any(
        has_email(columns[place])
        for place, (name, source, strong_id) in enumerate(zip(names, sources, strong_ids, strict=True))
        if name == IDENTIFY_EVENT
        or source not in TRACKED_SOURCES
        or (strong_id is not None and "@" in strong_id)
    )


def _any_has_lone_distinct_id(columns: EventColumns) -> bool:
    """Returns whether an event has a `lone_distinct_id`."""
    ids = map(columns.column, ("strong_id", "anonymous_id", "visitor_id", "distinct_id"))
    return any(
        strong is None and anonymous is None and distinct and visitor == distinct
        for strong, anonymous, visitor, distinct in zip(*ids, strict=True)
    )


def _frame_to_bytes(frame: pl.DataFrame) -> bytes:
    stream = BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def _split_parts(encoded: memoryview) -> list[memoryview]:
    parts = []
    while encoded:
        end = _LENGTH_BYTES + int.from_bytes(encoded[:_LENGTH_BYTES])
        parts.append(encoded[_LENGTH_BYTES:end])
        encoded = encoded[end:]
    return parts
