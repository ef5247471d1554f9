"""The `IngestQueue` port on a Redis stream."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from plugins.ingest_redis.consumer import Consumer
from plugins.ingest_redis.entries import Keys, entry, hash_of, lane_of
from plugins.ingest_redis.reader import Reader
from plugins.ingest_redis.server import FAULTS, check, connect, start
from plugins.ingest_redis.settings import IngestRedisSettings
from plugins.ingest_redis.writer import Claimed, Rejected, Writer
from service_core.plugin import (
    Arrival,
    Channel,
    Event,
    LedgerRow,
    Offer,
    Quarantined,
    Queued,
    QueueFailed,
    QueueState,
    Reason,
    StartupError,
)


class RedisQueue:
    """A durable queue that any number of ingest hosts and consumers share.

    Connections are made when they are needed, so a server that is away stops no process; it stops
    offers, which fail until it is back.
    """

    def __init__(self, settings: IngestRedisSettings) -> None:
        self._fsync = settings.fsync
        self._redis = connect(settings)
        self._keys = Keys(settings.prefix)
        self._writer = Writer(self._redis, self._keys, settings)
        self._consumer = Consumer(self._redis, self._keys, settings)
        self._reader = Reader(self._redis, self._keys, settings)

    async def check(self) -> None:
        """Look whether the server answers and keeps what it acknowledges; lets go of it.

        Raises:
            StartupError: it does not.
        """
        try:
            await check(self._redis, self._fsync)
        except FAULTS as fault:
            raise StartupError(
                f"The Redis server of ingest.queue does not answer: {str(fault).rstrip('.')}. See that it runs, and "
                "that host, port and password in the URL are right."
            ) from None
        finally:
            await self._redis.aclose()

    async def start(self) -> None:
        """Look whether the server keeps what it acknowledges.

        Raises:
            StartupError: it may not; the message says what to change, and nothing stays open.
        """
        try:
            await start(self._redis, self._fsync)
        except BaseException:
            await self._redis.aclose()
            raise

    async def aclose(self) -> None:
        """Make durable what is pending, and leave."""
        await self._writer.aclose()
        with suppress(*FAULTS):
            await self._consumer.leave()
        await self._redis.aclose()

    async def offer(self, arrival: Arrival) -> Offer:
        """Claim the event id and enqueue; see `IngestQueue.offer`."""
        (outcome,) = await self.offer_all((arrival,))
        if isinstance(outcome, QueueFailed):
            raise outcome
        return outcome

    async def offer_all(self, arrivals: Sequence[Arrival]) -> list[Offer | QueueFailed]:
        """The same for several; see `IngestQueue.offer_all`. Each script call takes a few hundred."""
        try:
            offered = [Claimed(self._keys.claim(arrival), entry(arrival)) for arrival in arrivals]
        except (TypeError, UnicodeEncodeError) as fault:
            raise QueueFailed("queue") from fault
        return await self._writer.offer(offered)

    async def reject(
        self,
        workspace_id: UUID,
        key_id: UUID,
        channel: Channel,
        reason: Reason,
        at: datetime,
        *,
        events: int = 1,
    ) -> None:
        """Count rejected events; durable with the next call or within a second."""
        rejected = Rejected(hash_of(workspace_id, at), lane_of(key_id, channel), reason.value)
        self._writer.reject(rejected, events)

    async def repeat(self, workspace_id: UUID, key_id: UUID, channel: Channel, at: datetime) -> None:
        """Count a duplicate that is not offered; durable with the next call or within a second."""
        self._writer.reject(Rejected(hash_of(workspace_id, at), lane_of(key_id, channel), ""), 1)

    async def take(self, limit: int) -> list[Queued]:
        """The oldest events nobody else has in hand, without removing them."""
        return await self._consumer.take(limit)

    async def settle(self, stored: Sequence[Event], quarantined: Sequence[Quarantined]) -> None:
        """Remove what is durable in the store or set aside, and count it, in one step."""
        await self._consumer.settle(stored, quarantined)

    async def ledger(self, workspace_id: UUID, start: datetime, end: datetime) -> list[LedgerRow]:
        """Ledger rows with ``start <= hour < end``, oldest first."""
        return await self._reader.ledger(workspace_id, start, end)

    async def state(self) -> QueueState:
        """How far behind the queue is."""
        return await self._reader.state()

    async def quarantined(self, workspace_id: UUID, limit: int) -> list[Quarantined]:
        """The quarantined events of a workspace, the earliest first."""
        return await self._reader.quarantined(workspace_id, limit)

    async def replay(self, workspace_id: UUID) -> int:
        """Put the quarantined events of a workspace back in the queue; returns how many."""
        return await self._consumer.replay(workspace_id)

    async def forget(self, before: datetime) -> dict[UUID, int]:
        """Let go of what is quarantined since before a time; returns how many of each workspace."""
        return await self._consumer.forget(before)
