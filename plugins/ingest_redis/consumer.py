"""The side of the consumer: batches in hand, and what became of them."""

import asyncio
import os
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from redis.asyncio import Redis

from plugins.ingest_redis.entries import Keys, micros, queued, received_of
from plugins.ingest_redis.server import script
from plugins.ingest_redis.settings import IngestRedisSettings
from service_core.plugin import Event, Quarantined, Queued

GROUP: Final = "store"
PATIENCE_SECONDS: Final = 5.0
"""A batch may be large, and nobody waits for it."""

_LATE: Final = timedelta(hours=24)
_FORGOTTEN_MILLISECONDS: Final = 24 * 3_600_000
_REPLAYED_AT_ONCE: Final = 100


class Consumer:
    """One member of the group that moves events into the store.

    What it takes is its own until it settles it, or is silent for too long: then another member
    takes it over. Both may then append a batch, which the store takes without doubling an event,
    and the first that settles an event counts it.
    """

    def __init__(self, redis: Redis, keys: Keys, settings: IngestRedisSettings) -> None:
        self._redis = redis
        self._keys = keys
        self._silent = int(settings.reclaim_seconds * 1000)
        self._name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._take = script(redis, "take")
        self._settle = script(redis, "settle")
        self._replay = script(redis, "replay")
        self._leave = script(redis, "leave")

    async def take(self, limit: int) -> list[Queued]:
        """The oldest events nobody else has in hand, in order of sequence."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            entries = await self._take([self._keys.stream], [GROUP, self._name, limit, self._silent])
        return sorted(map(queued, entries), key=lambda taken: taken.seq)

    async def settle(self, stored: Sequence[Event], quarantined: Sequence[Quarantined]) -> None:
        """Remove and count, in one step."""
        fates: list[str | int] = []
        for event in stored:
            late = event.received_at - event.timestamp > _LATE
            fates += (event.seq, int(late), int(event.is_bot), "")
        for aside in quarantined:
            fates += (aside.queued.seq, 0, 0, aside.reason or "unknown")
        keys = [self._keys.stream, self._keys.moved]
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._settle(keys, [GROUP, self._keys.ledger, self._keys.quarantine, *fates])

    async def replay(self, workspace_id: UUID) -> int:
        """Put the quarantined events of a workspace back in the queue; returns how many."""
        quarantine = self._keys.quarantine + workspace_id.hex
        keys = [self._keys.stream, self._keys.sequence, self._keys.moved, quarantine]
        moved = 0
        while some := await self._replay(keys, [self._keys.ledger, _REPLAYED_AT_ONCE]):
            moved += some
        return moved

    async def forget(self, before: datetime) -> dict[UUID, int]:
        """Let go of what is quarantined since before a time; returns how many of each workspace."""
        prefix, gone = self._keys.quarantine, dict[UUID, int]()
        async for key in self._redis.scan_iter(match=f"{prefix}*"):
            if dropped := await self._forget_in(key, micros(before)):
                gone[UUID(hex=key.decode().removeprefix(prefix))] = dropped
        return gone

    async def _forget_in(self, key: bytes, before: int) -> int:
        """They may lie in any order: what was put back in the queue may have been set aside again."""
        dropped, start = 0, "-"
        while True:
            async with asyncio.timeout(PATIENCE_SECONDS):
                page: Any = await self._redis.xrange(key, min=start, count=_REPLAYED_AT_ONCE)
                old = [name for name, fields in page if received_of(fields) < before]
                dropped += await self._redis.xdel(key, *old) if old else 0
            if len(page) < _REPLAYED_AT_ONCE:
                return dropped
            start = f"({page[-1][0].decode()}"

    async def leave(self) -> None:
        """Take the name off the group."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._leave([self._keys.stream], [GROUP, self._name, _FORGOTTEN_MILLISECONDS])
