"""Implements the port `IngestQueue` with a Redis stream."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from plugins.ingest_redis.consumer import GroupConsumer
from plugins.ingest_redis.ledger import LedgerReader
from plugins.ingest_redis.server import (
    CONNECTION_ERRORS,
    connect_without_retries,
    require_current_format,
    require_durable_server,
    require_durable_server_and_mark_format_if_reachable,
)
from plugins.ingest_redis.settings import IngestRedisSettings
from plugins.ingest_redis.stream_entries import (
    KeyNames,
    build_stream_entry,
    ledger_field_prefix,
    ledger_hash_name,
)
from plugins.ingest_redis.writer import OfferedEntry, RejectedCount, StreamWriter
from service_core.plugin import (
    NONE_DROPPED,
    NOTHING_IGNORED,
    EnqueueFailed,
    EnqueueResult,
    Event,
    IngestEndpoint,
    LedgerRow,
    QuarantinedEvent,
    QueuedEvent,
    QueueState,
    ReceivedEvent,
    RejectionReason,
    StartupError,
    StoreUnavailable,
)


class RedisIngestQueue:
    """A durable queue shared by any number of ingest hosts and consumers.

    Connections are made when they are needed, so a server that is away stops no process; it stops
    offers, which fail until it is back.
    """

    def __init__(self, settings: IngestRedisSettings) -> None:
        self._fsync = settings.fsync
        self._redis = connect_without_retries(settings)
        self._keys = KeyNames(settings.prefix)
        self._writer = StreamWriter(self._redis, self._keys, settings)
        self._consumer = GroupConsumer(self._redis, self._keys, settings)
        self._reader = LedgerReader(self._redis, self._keys, settings)

    async def check(self) -> None:
        """Checks that the server answers and is durable, and its keys are of this version; closes the connection.

        Raises:
            StartupError: it does not, or they are not.
        """
        try:
            await require_durable_server(self._redis, self._fsync)
            await require_current_format(self._redis, self._keys.version)
        except CONNECTION_ERRORS as fault:
            raise StartupError(
                f"The Redis server of ingest.queue does not answer: {str(fault).rstrip('.')}. See that it runs, and "
                "that host, port and password in the URL are right."
            ) from None
        finally:
            await self._redis.aclose()

    async def check_stored_version(self) -> None:
        """Checks that no other version of Touchpoint has written the keys.

        Raises:
            StartupError: one has.
            StoreUnavailable: the server does not answer.
        """
        try:
            await require_current_format(self._redis, self._keys.version)
        except CONNECTION_ERRORS as fault:
            raise StoreUnavailable from fault

    async def start(self) -> None:
        """Checks the server, if it can be reached; logs a warning when it cannot.

        Raises:
            StartupError: the server may lose events, or the keys are of another version; the message says what to
                change, and the connection is closed.
        """
        try:
            await require_durable_server_and_mark_format_if_reachable(
                self._redis, self._fsync, self._keys.version
            )
        except BaseException:
            await self._redis.aclose()
            raise

    async def aclose(self) -> None:
        """Writes what is pending, and leaves the consumer group."""
        await self._writer.aclose()
        with suppress(*CONNECTION_ERRORS):
            await self._consumer.remove_from_group()
        await self._redis.aclose()

    async def offer(self, arrival: ReceivedEvent) -> EnqueueResult:
        """Claims the event id and enqueues the event; see `IngestQueue.offer`."""
        (outcome,) = await self.offer_all((arrival,))
        if isinstance(outcome, EnqueueFailed):
            raise outcome
        return outcome

    async def offer_all(self, arrivals: Sequence[ReceivedEvent]) -> list[EnqueueResult | EnqueueFailed]:
        """Claims and enqueues several events; see `IngestQueue.offer_all`. A script call takes a few hundred."""
        try:
            offered = [
                OfferedEntry(self._keys.claim_key_or_empty(arrival), build_stream_entry(arrival))
                for arrival in arrivals
            ]
        except (TypeError, UnicodeEncodeError) as fault:
            raise EnqueueFailed("queue") from fault
        return await self._writer.offer_in_shared_script_calls(offered)

    async def count_rejected(
        self,
        workspace_id: UUID,
        key_id: UUID,
        channel: IngestEndpoint,
        reason: RejectionReason,
        received_at: datetime,
        *,
        event_count: int = 1,
    ) -> None:
        """Counts rejected events; durable with the next call or within a second."""
        rejected = RejectedCount(
            ledger_hash_name(workspace_id, received_at), ledger_field_prefix(key_id, channel), reason.value
        )
        self._writer.count_with_next_call(rejected, event_count)

    async def count_duplicate(
        self, workspace_id: UUID, key_id: UUID, channel: IngestEndpoint, received_at: datetime
    ) -> None:
        """Counts a duplicate that is not offered; durable with the next call or within a second."""
        self._writer.count_with_next_call(
            RejectedCount(
                ledger_hash_name(workspace_id, received_at), ledger_field_prefix(key_id, channel), ""
            ),
            1,
        )

    async def take(self, limit: int) -> list[QueuedEvent]:
        """Leases the oldest events that no other consumer has leased."""
        return await self._consumer.lease_new_or_abandoned(limit)

    async def acknowledge(
        self,
        stored: Sequence[Event],
        quarantined: Sequence[QuarantinedEvent],
        ignored: Mapping[int, Sequence[str]] = NOTHING_IGNORED,
        dropped: Mapping[int, str] = NONE_DROPPED,
    ) -> None:
        """Removes stored, quarantined and dropped events and counts them, in one step."""
        await self._consumer.acknowledge_and_count(stored, quarantined, ignored, dropped)

    async def ledger_rows(self, workspace_id: UUID, start: datetime, end: datetime) -> list[LedgerRow]:
        """Returns ledger rows with ``start <= hour < end``, oldest first."""
        return await self._reader.read_ledger_rows(workspace_id, start, end)

    async def state(self) -> QueueState:
        """Returns how many events are queued, and when the oldest was received."""
        return await self._reader.queue_lag_or_last_known()

    async def list_quarantined(self, workspace_id: UUID, limit: int) -> list[QuarantinedEvent]:
        """Returns the quarantined events of a workspace, oldest first."""
        return await self._reader.list_oldest_quarantined(workspace_id, limit)

    async def replay(self, workspace_id: UUID) -> int:
        """Puts the quarantined events of a workspace back in the queue; returns how many."""
        return await self._consumer.requeue_all_quarantined(workspace_id)

    async def delete_quarantined_before(self, received_before: datetime) -> dict[UUID, int]:
        """Deletes events received before a time from the quarantine; returns how many of each workspace."""
        return await self._consumer.delete_quarantined_received_before(received_before)

    async def rewrite_quarantined(
        self, rewrite: Callable[[ReceivedEvent], ReceivedEvent | None]
    ) -> dict[UUID, int]:
        """Replaces or deletes quarantined events; returns how many of each workspace."""
        return await self._consumer.rewrite_quarantined(rewrite)

    async def rewrite_waiting(
        self, received_before: datetime, rewrite: Callable[[ReceivedEvent], ReceivedEvent]
    ) -> int:
        """Replaces waiting events received before a time; returns how many."""
        return await self._consumer.rewrite_waiting(received_before, rewrite)
