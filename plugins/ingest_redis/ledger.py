"""Reads the ledger, the quarantine and the lag of the queue."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from redis.asyncio import Redis

from plugins.ingest_redis.server import CONNECTION_ERRORS
from plugins.ingest_redis.settings import IngestRedisSettings
from plugins.ingest_redis.stream_entries import (
    KeyNames,
    from_microseconds,
    hour_numbers,
    hour_start,
    read_received_at,
    to_queued_event,
)
from service_core.plugin import (
    IngestEndpoint,
    LedgerRow,
    QuarantinedEvent,
    QueueState,
    StoreUnavailable,
    system_clock,
)

LEDGER_TIMEOUT_SECONDS: Final = 1.0
RETRY_AFTER_SECONDS: Final = 1.0
"""Seconds after a failed read of the state in which it is not read again."""

_HOURS_PER_BATCH: Final = 500
_REJECTED_PREFIX: Final = "rejected:"
_IGNORED_PREFIX: Final = "ignored:"


class LedgerReader:
    """Reads from the server; while it is unavailable, the lag is the last known one."""

    def __init__(self, redis: Redis, keys: KeyNames, settings: IngestRedisSettings) -> None:
        self._redis = redis
        self._keys = keys
        self._glance = settings.state_timeout_seconds
        self._known: tuple[QueueState, datetime] | None = None
        self._ask_from = 0.0

    async def queue_lag_or_last_known(self) -> QueueState:
        """Returns how many events are queued, and when the oldest was received.

        While the server is unavailable, and for a second after a failed call, it returns the last known state; an
        empty queue then counts as complete only up to the time of that state.

        Raises:
            StoreUnavailable: it was never known.
        """
        if time.monotonic() >= self._ask_from:
            try:
                return await self._read_and_remember_lag()
            except CONNECTION_ERRORS:
                self._ask_from = time.monotonic() + RETRY_AFTER_SECONDS
        if self._known is None:
            raise StoreUnavailable
        state, known_at = self._known
        return QueueState(state.waiting_count, state.oldest_received_at or known_at)

    async def _read_and_remember_lag(self) -> QueueState:
        asked_at = system_clock()
        async with asyncio.timeout(self._glance), self._redis.pipeline(transaction=False) as pipe:
            pipe.xlen(self._keys.stream)
            pipe.xrange(self._keys.stream, count=1)
            pipe.zrange(self._keys.moved_received, 0, 0, withscores=True)
            waiting, first, moved = await pipe.execute()
        received = [read_received_at(fields) for _, fields in first] + [int(score) for _, score in moved]
        state = QueueState(waiting, from_microseconds(min(received)) if first else None)
        self._known = state, asked_at
        return state

    async def read_ledger_rows(self, workspace_id: UUID, start: datetime, end: datetime) -> list[LedgerRow]:
        """Returns ledger rows with ``start <= hour < end``, oldest first; each is read at one moment.

        Raises:
            StoreUnavailable: the server does not answer.
        """
        hours = hour_numbers(start, end)
        rows: list[LedgerRow] = []
        try:
            async with asyncio.timeout(LEDGER_TIMEOUT_SECONDS):
                for first in range(0, len(hours), _HOURS_PER_BATCH):
                    rows += await self._read_ledger_hours(
                        workspace_id, hours[first : first + _HOURS_PER_BATCH]
                    )
        except CONNECTION_ERRORS as fault:
            raise StoreUnavailable from fault
        return rows

    async def list_oldest_quarantined(self, workspace_id: UUID, limit: int) -> list[QuarantinedEvent]:
        """Returns the quarantined events of a workspace, oldest first.

        Raises:
            StoreUnavailable: the server does not answer.
        """
        try:
            async with asyncio.timeout(LEDGER_TIMEOUT_SECONDS):
                entries: Any = await self._redis.xrange(self._keys.quarantine + workspace_id.hex, count=limit)
        except CONNECTION_ERRORS as fault:
            raise StoreUnavailable from fault
        return [_to_quarantined(name, fields) for name, fields in entries]

    async def _read_ledger_hours(self, workspace_id: UUID, hours: range) -> list[LedgerRow]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for hour in hours:
                pipe.hgetall(f"{self._keys.ledger}{workspace_id.hex}:{hour}")
            hashes = await pipe.execute()
        return [
            row
            for hour, counts in zip(hours, hashes, strict=True)
            for row in _ledger_rows_of_hour(hour, counts)
        ]


def _to_quarantined(name: bytes, fields: Mapping[bytes, bytes]) -> QuarantinedEvent:
    flat = [part for pair in fields.items() for part in pair]
    return QuarantinedEvent(to_queued_event((name, flat)), fields[b"reason"].decode())


def _ledger_rows_of_hour(hour: int, hash_fields: Mapping[bytes, bytes]) -> Iterator[LedgerRow]:
    """Yields the rows of an hour from its counts, which are named ``key:channel:count``."""
    lanes: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for name, value in hash_fields.items():
        key, channel, what = name.decode().split(":", 2)
        lanes[key, channel][what] = int(value)
    for (key, channel), lane in sorted(lanes.items()):
        yield LedgerRow(
            hour=hour_start(hour),
            key_id=UUID(hex=key),
            channel=IngestEndpoint(channel),
            received=lane.get("received", 0),
            stored=lane.get("stored", 0),
            duplicate=lane.get("duplicate", 0),
            quarantined=lane.get("quarantined", 0),
            in_flight=lane.get("waiting", 0),
            late=lane.get("late", 0),
            bots=lane.get("bots", 0),
            rejected_by_reason=_counts_with_prefix(lane, _REJECTED_PREFIX),
            ignored_by_reason=_counts_with_prefix(lane, _IGNORED_PREFIX),
        )


def _counts_with_prefix(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Returns the counts whose names have a prefix, without it."""
    return {
        name.removeprefix(prefix): events
        for name, events in sorted(counts.items())
        if name.startswith(prefix)
    }
