"""The writer of an ingest host: offers share one script call, and each gets its result or an error."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from plugins.ingest_redis.server import register_script_file
from plugins.ingest_redis.settings import IngestRedisSettings
from plugins.ingest_redis.stream_entries import KeyNames, StreamEntry
from service_core.plugin import CallBatcher, EnqueueFailed, EnqueueResult, gather_results_or_expected_errors

CLAIM_WINDOW: Final = 7 * 24 * 3_600_000_000
"""Microseconds a claim holds; a repeat later than that is a new event."""

LEDGER_SECONDS: Final = 400 * 24 * 3_600
"""How long the ledger of an hour is kept after its last receipt."""

_CLAIM_MILLISECONDS: Final = CLAIM_WINDOW // 1000 + 3_600_000
"""An hour more than the window, which is measured between receipts and not by the server's clock."""

_BATCH_SIZE: Final = 256
_COUNTS_DELAY_SECONDS: Final = 0.5
"""Seconds a rejected event may wait for a call to share before it gets one of its own."""

_OUTCOMES: Final = (EnqueueResult.DUPLICATE, EnqueueResult.QUEUED, None)


class OfferedEntry(NamedTuple):
    """An offered entry with the key of its claim."""

    claim: bytes
    entry: StreamEntry


class RejectedCount(NamedTuple):
    """The ledger count of a rejected event; without a reason it is a duplicate."""

    ledger_hash: str
    ledger_field: str
    reason: str


class StreamWriter:
    """Writes events to the stream, on one event loop.

    A call that is not answered in time takes no effect later either: it names a deadline by the
    server's clock, and the script keeps nothing past it. So an offer that was refused can be made
    again, also after a server hung with the first one in its socket.
    """

    def __init__(self, redis: Redis, keys: KeyNames, settings: IngestRedisSettings) -> None:
        self._keys = keys
        self._settings = settings
        self._script = register_script_file(redis, "offer")
        self._shared: CallBatcher[OfferedEntry | None, EnqueueResult | None] = CallBatcher(
            self._offer_batch_with_rejected_counts, lambda fault: EnqueueFailed("queue", fault), _BATCH_SIZE
        )
        self._rejected: Counter[RejectedCount] = Counter()
        self._counting: asyncio.Task[None] | None = None
        self._server_ahead = 0.0

    async def offer_in_shared_script_calls(
        self, entries: Sequence[OfferedEntry]
    ) -> list[EnqueueResult | EnqueueFailed]:
        """Returns the result of each entry once it is durable; a failure where the stream is full or the server does not answer.

        Raises:
            EnqueueFailed: too many wait.
        """
        if len(self._shared) >= self._settings.max_pending:
            raise EnqueueFailed("queue")
        found = await gather_results_or_expected_errors(
            [self._shared.submit_for_next_batch(each) for each in entries], EnqueueFailed
        )
        return [EnqueueFailed("queue") if each is None else each for each in found]

    def count_with_next_call(self, rejected: RejectedCount, events: int) -> None:
        """Counts rejected events with the next call, or soon without one."""
        self._rejected[rejected] += events
        if self._counting is None:
            self._counting = asyncio.create_task(self._flush_rejected_counts_until_empty())

    async def aclose(self) -> None:
        """Writes what is pending, as far as the server answers."""
        if self._counting is not None:
            self._counting.cancel()
        await self._shared.wait_idle()
        if self._rejected:
            with suppress(EnqueueFailed):
                await self._shared.submit_for_next_batch(None)

    async def _flush_rejected_counts_until_empty(self) -> None:
        """Writes the counts of rejected events by calls of their own."""
        while self._rejected:
            await asyncio.sleep(_COUNTS_DELAY_SECONDS)
            if self._rejected:
                with suppress(EnqueueFailed):
                    await self._shared.submit_for_next_batch(None)
        self._counting = None

    async def _offer_batch_with_rejected_counts(
        self, entries: Sequence[OfferedEntry | None]
    ) -> list[EnqueueResult | None]:
        """Runs one script call; an item without an entry gets None."""
        events = [each for each in entries if each is not None]
        rejected, self._rejected = self._rejected, Counter()
        try:
            outcomes = iter(await self._run_offer_script_until_in_time(events, rejected))
        except BaseException:
            self._rejected.update(rejected)
            raise
        return [None if each is None else _OUTCOMES[next(outcomes)] for each in entries]

    async def _run_offer_script_until_in_time(
        self, entries: Sequence[OfferedEntry], rejected_counts: Counter[RejectedCount]
    ) -> list[int]:
        """Repeats the call until the script meets its deadline, which it may miss after the clock was set."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._settings.timeout_seconds
        keys: list[bytes | str] = [
            self._keys.stream,
            self._keys.sequence,
            *(event.claim for event in entries),
        ]
        counts = _flatten((*key, number) for key, number in rejected_counts.items())
        work = [len(rejected_counts), *counts, *_flatten(event.entry for event in entries)]
        async with asyncio.timeout_at(give_up):
            while True:
                deadline = int((give_up + self._server_ahead) * 1000)
                now, met, *outcomes = await self._script(keys, [deadline, *self._script_limits(), *work])
                self._server_ahead = now / 1000 - loop.time()
                if met:
                    return list(outcomes)

    def _script_limits(self) -> tuple[str | int, ...]:
        return self._settings.max_queued, CLAIM_WINDOW, _CLAIM_MILLISECONDS, self._keys.ledger, LEDGER_SECONDS


def _flatten(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return [value for row in rows for value in row]
