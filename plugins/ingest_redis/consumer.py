"""The consumer of the stream: leases, acknowledges and quarantines events."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from redis.asyncio import Redis

from plugins.ingest_redis.server import register_script_file
from plugins.ingest_redis.settings import IngestRedisSettings
from plugins.ingest_redis.stream_entries import (
    KeyNames,
    build_stream_entry,
    read_received_at,
    to_microseconds,
    to_queued_event,
)
from service_core.plugin import Event, EventColumns, QuarantinedEvent, QueuedEvent, ReceivedEvent

CONSUMER_GROUP: Final = "store"
TIMEOUT_SECONDS: Final = 5.0
"""A batch may be large, and nobody waits for it."""

_LATE: Final = timedelta(hours=24)
_IDLE_CONSUMER_MILLISECONDS: Final = 24 * 3_600_000
_REPLAY_BATCH_SIZE: Final = 100
_DISORDER_MICROSECONDS: Final = 3_600_000_000
"""An hour: so far may the clocks of ingest servers, and with them the order of receipt, differ."""


class GroupConsumer:
    """A member of the consumer group that moves events into the event store.

    A leased event belongs to this member until it acknowledges it, or sends nothing for ``reclaim_seconds``: then
    another member leases it. Both may append it, which stores it once; the first acknowledgement counts it.
    """

    def __init__(self, redis: Redis, keys: KeyNames, settings: IngestRedisSettings) -> None:
        self._redis = redis
        self._keys = keys
        self._silent = int(settings.reclaim_seconds * 1000)
        self._name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._take = register_script_file(redis, "take")
        self._settle = register_script_file(redis, "settle")
        self._replay = register_script_file(redis, "replay")
        self._leave = register_script_file(redis, "leave")
        self._rewrite = register_script_file(redis, "rewrite")

    async def lease_new_or_abandoned(self, limit: int) -> list[QueuedEvent]:
        """Leases the oldest events that no other consumer has leased, or that one has abandoned, in order of sequence."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            entries = await self._take([self._keys.stream], [CONSUMER_GROUP, self._name, limit, self._silent])
        return sorted(map(to_queued_event, entries), key=lambda taken: taken.seq)

    async def acknowledge_and_count(
        self,
        stored: Sequence[Event],
        quarantined: Sequence[QuarantinedEvent],
        ignored: Mapping[int, Sequence[str]],
        dropped: Mapping[int, str],
    ) -> None:
        """Removes and counts events, in one step."""
        outcomes: list[str | int] = []
        columns = EventColumns.of_events(stored)
        values = map(columns.column, ("seq", "received_at", "timestamp", "is_bot"))
        for seq, received_at, at, is_bot in zip(*values, strict=True):
            unused = ",".join(ignored.get(seq, ()))
            outcomes += (seq, int(received_at - at > _LATE), int(is_bot), "", unused, "")
        for aside in quarantined:
            outcomes += (aside.queued.seq, 0, 0, aside.reason or "unknown", "", "")
        for seq, reason in dropped.items():
            outcomes += (seq, 0, 0, "", "", reason)
        keys = [self._keys.stream, self._keys.moved, self._keys.moved_received]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await self._settle(keys, [CONSUMER_GROUP, self._keys.ledger, self._keys.quarantine, *outcomes])

    async def requeue_all_quarantined(self, workspace_id: UUID) -> int:
        """Puts the quarantined events of a workspace back in the queue; returns how many."""
        quarantine = self._keys.quarantine + workspace_id.hex
        keys = [*self._keys_of_moved_events(), quarantine]
        moved = 0
        while some := await self._replay(keys, [self._keys.ledger, _REPLAY_BATCH_SIZE]):
            moved += some
        return moved

    async def delete_quarantined_received_before(self, cutoff: datetime) -> dict[UUID, int]:
        """Deletes events received before a time from the quarantine; returns how many of each workspace."""
        prefix, gone = self._keys.quarantine, dict[UUID, int]()
        async for key in self._redis.scan_iter(match=f"{prefix}*"):
            if dropped := await self._delete_from_quarantine_stream(key, to_microseconds(cutoff)):
                gone[UUID(hex=key.decode().removeprefix(prefix))] = dropped
        return gone

    async def _delete_from_quarantine_stream(self, stream_key: bytes, cutoff_microseconds: int) -> int:
        """Deletes old events in any order: a replayed event may have been quarantined again."""
        dropped, start = 0, "-"
        while True:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                page: Any = await self._redis.xrange(stream_key, min=start, count=_REPLAY_BATCH_SIZE)
                old = [name for name, fields in page if read_received_at(fields) < cutoff_microseconds]
                dropped += await self._redis.xdel(stream_key, *old) if old else 0
            if len(page) < _REPLAY_BATCH_SIZE:
                return dropped
            start = f"({page[-1][0].decode()}"

    async def rewrite_quarantined(
        self, rewrite: Callable[[ReceivedEvent], ReceivedEvent | None]
    ) -> dict[UUID, int]:
        """Replaces or deletes quarantined events; returns how many of each workspace."""
        prefix, changed = self._keys.quarantine, dict[UUID, int]()
        async for key in self._redis.scan_iter(match=f"{prefix}*"):
            if count := await self._rewrite_quarantine_stream(key, rewrite):
                changed[UUID(hex=key.decode().removeprefix(prefix))] = count
        return changed

    async def _rewrite_quarantine_stream(
        self, stream_key: bytes, rewrite: Callable[[ReceivedEvent], ReceivedEvent | None]
    ) -> int:
        """Replaces events; those after the first replaced one are added again, too, so that the order stays."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            newest: Any = await self._redis.xrevrange(stream_key, count=1)
        if not newest:
            return 0
        changed, start, end = 0, "-", newest[0][0].decode()
        while True:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                page: Any = await self._redis.xrange(stream_key, min=start, max=end, count=_REPLAY_BATCH_SIZE)
                async with self._redis.pipeline(transaction=True) as pipe:
                    for name, fields in page:
                        flat = [part for pair in fields.items() for part in pair]
                        before = to_queued_event((name, flat)).arrival
                        after = rewrite(before)
                        changed += after != before
                        if changed:
                            pipe.xdel(stream_key, name)
                        if changed and after is not None:
                            entry = build_stream_entry(after)
                            pipe.xadd(stream_key, {**fields, b"meta": entry.meta, b"body": entry.body})
                    await pipe.execute()
            if len(page) < _REPLAY_BATCH_SIZE:
                return changed
            start = f"({page[-1][0].decode()}"

    async def rewrite_waiting(
        self, cutoff: datetime, rewrite: Callable[[ReceivedEvent], ReceivedEvent]
    ) -> int:
        """Replaces waiting events received before a time; a replaced one moves to the end and keeps its sequence number."""
        cutoff_microseconds = to_microseconds(cutoff)
        changed = 0
        for pages in (
            self._moved_entries(cutoff_microseconds),
            self._entries_by_receipt(cutoff_microseconds),
        ):
            async for page in pages:
                changed += await self._replace_changed_entries(page, cutoff_microseconds, rewrite)
        return changed

    async def _moved_entries(self, cutoff_microseconds: int) -> AsyncGenerator[list[Any], None]:
        """Yields the entries received before a time that were put back or rewritten: they are not in order of receipt."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            moved: Any = await self._redis.zrangebyscore(
                self._keys.moved_received, "-inf", f"({cutoff_microseconds}"
            )
        for start in range(0, len(moved), _REPLAY_BATCH_SIZE):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                some = moved[start : start + _REPLAY_BATCH_SIZE]
                names: Any = await self._redis.hmget(self._keys.moved, some)
                async with self._redis.pipeline(transaction=False) as pipe:
                    for name in filter(None, names):
                        pipe.xrange(self._keys.stream, min=name, max=name)
                    found: Any = await pipe.execute()
            yield [entry for entries in found for entry in entries]

    async def _entries_by_receipt(self, cutoff_microseconds: int) -> AsyncGenerator[list[Any], None]:
        """Yields the other entries, in pages up to the first one that was received well after a time."""
        start = "-"
        while True:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                page: Any = await self._redis.xrange(self._keys.stream, min=start, count=_REPLAY_BATCH_SIZE)
            in_order = [(name, fields) for name, fields in page if b"sequence" not in fields]
            yield in_order
            latest = max((read_received_at(fields) for _, fields in in_order), default=0)
            if len(page) < _REPLAY_BATCH_SIZE or latest >= cutoff_microseconds + _DISORDER_MICROSECONDS:
                return
            start = f"({page[-1][0].decode()}"

    async def _replace_changed_entries(
        self,
        entries: Sequence[Any],
        cutoff_microseconds: int,
        rewrite: Callable[[ReceivedEvent], ReceivedEvent],
    ) -> int:
        """Replaces entries received before a time; returns how many changed."""
        replaced: list[Any] = []
        for name, fields in entries:
            if read_received_at(fields) >= cutoff_microseconds:
                continue
            before = to_queued_event((name, [part for pair in fields.items() for part in pair])).arrival
            if (after := rewrite(before)) != before:
                entry = build_stream_entry(after)
                replaced += (name, entry.received, entry.meta, entry.body)
        if not replaced:
            return 0
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return int(await self._rewrite(self._keys_of_moved_events(), [CONSUMER_GROUP, *replaced]))

    def _keys_of_moved_events(self) -> list[str]:
        return [self._keys.stream, self._keys.sequence, self._keys.moved, self._keys.moved_received]

    async def remove_from_group(self) -> None:
        """Removes this consumer from the group."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await self._leave([self._keys.stream], [CONSUMER_GROUP, self._name, _IDLE_CONSUMER_MILLISECONDS])
