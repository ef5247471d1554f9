"""The side of the ingest host: offers share one script call, and each knows its outcome or that there is none."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from plugins.ingest_redis.entries import Entry, Keys
from plugins.ingest_redis.server import script
from plugins.ingest_redis.settings import IngestRedisSettings
from service_core.plugin import Offer, QueueFailed, Shared, outcomes

WINDOW: Final = 7 * 24 * 3_600_000_000
"""Microseconds a claim holds; a repeat later than that is a new event (contract 10.1)."""

LEDGER_SECONDS: Final = 400 * 24 * 3_600
"""How long the ledger of an hour is kept after its last receipt."""

_CLAIM_MILLISECONDS: Final = WINDOW // 1000 + 3_600_000
"""An hour more than the window, which is measured between receipts and not by the server's clock."""

_AT_ONCE: Final = 256
_COUNTS_WAIT: Final = 0.5
"""Seconds a rejected event may wait for a call to share before it gets one of its own."""

_OUTCOMES: Final = (Offer.DUPLICATE, Offer.QUEUED, None)


class Claimed(NamedTuple):
    """What is offered: an entry, and the key of its claim."""

    claim: bytes
    entry: Entry


class Rejected(NamedTuple):
    """What a rejected event counts for; without a reason it is a duplicate."""

    hash: str
    lane: str
    reason: str


class Writer:
    """Puts events in the stream, on one event loop.

    A call that is not answered in time takes no effect later either: it names a deadline by the
    server's clock, and the script keeps nothing past it. So an offer that was refused can be made
    again, also after a server hung with the first one in its socket.
    """

    def __init__(self, redis: Redis, keys: Keys, settings: IngestRedisSettings) -> None:
        self._keys = keys
        self._settings = settings
        self._script = script(redis, "offer")
        self._shared: Shared[Claimed | None, Offer | None] = Shared(
            self._commit, lambda fault: QueueFailed("queue", fault), _AT_ONCE
        )
        self._rejected: Counter[Rejected] = Counter()
        self._counting: asyncio.Task[None] | None = None
        self._server_ahead = 0.0

    async def offer(self, offered: Sequence[Claimed]) -> list[Offer | QueueFailed]:
        """The outcome of each, once it is durable: a failure where the stream is full or the server does not answer.

        Raises:
            QueueFailed: too many wait.
        """
        if len(self._shared) >= self._settings.gather:
            raise QueueFailed("queue")
        found = await outcomes([self._shared.ask(each) for each in offered], QueueFailed)
        return [QueueFailed("queue") if each is None else each for each in found]

    def reject(self, rejected: Rejected, events: int) -> None:
        """Count rejected events with the next call, or soon when there is none."""
        self._rejected[rejected] += events
        if self._counting is None:
            self._counting = asyncio.create_task(self._count())

    async def aclose(self) -> None:
        """Make durable what is pending, as far as the server answers."""
        if self._counting is not None:
            self._counting.cancel()
        await self._shared.settled()
        if self._rejected:
            with suppress(QueueFailed):
                await self._shared.ask(None)

    async def _count(self) -> None:
        """Ask for a call of their own until the rejected events are counted."""
        while self._rejected:
            await asyncio.sleep(_COUNTS_WAIT)
            if self._rejected:
                with suppress(QueueFailed):
                    await self._shared.ask(None)
        self._counting = None

    async def _commit(self, offered: Sequence[Claimed | None]) -> list[Offer | None]:
        """One script call; a place that offers nothing gets None."""
        events = [each for each in offered if each is not None]
        rejected, self._rejected = self._rejected, Counter()
        try:
            outcomes = iter(await self._decided(events, rejected))
        except BaseException:
            self._rejected.update(rejected)
            raise
        return [None if each is None else _OUTCOMES[next(outcomes)] for each in offered]

    async def _decided(self, events: Sequence[Claimed], rejected: Counter[Rejected]) -> list[int]:
        """Call until the script met its deadline: at first, and after a clock was set, it may not."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._settings.patience_seconds
        keys: list[bytes | str] = [self._keys.stream, self._keys.sequence, *(event.claim for event in events)]
        counts = _flat((*key, number) for key, number in rejected.items())
        work = [len(rejected), *counts, *_flat(event.entry for event in events)]
        async with asyncio.timeout_at(give_up):
            while True:
                deadline = int((give_up + self._server_ahead) * 1000)
                now, met, *outcomes = await self._script(keys, [deadline, *self._terms(), *work])
                self._server_ahead = now / 1000 - loop.time()
                if met:
                    return list(outcomes)

    def _terms(self) -> tuple[str | int, ...]:
        return self._settings.bound, WINDOW, _CLAIM_MILLISECONDS, self._keys.ledger, LEDGER_SECONDS


def _flat(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return [value for row in rows for value in row]
