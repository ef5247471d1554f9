"""Implements the port `IngestQueue` with one SQLite file."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import ClassVar, TypeVar
from uuid import UUID

from plugins.ingest_spool import consumer
from plugins.ingest_spool.group_commit import create_offer_view
from plugins.ingest_spool.ledger import read_ledger_rows_in_snapshot
from plugins.ingest_spool.row_format import LedgerKey, hour_number
from plugins.ingest_spool.schema import (
    check_readable_sqlite_file,
    check_version_of_open_file,
    open_or_create_spool,
)
from plugins.ingest_spool.settings import SpoolSettings
from plugins.ingest_spool.writer import DUPLICATE, GroupCommitWriter
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
    create_private_file,
    gather_results_or_expected_errors,
    require_writable_paths_or_parents,
)

T = TypeVar("T")


class SpoolQueue:
    """A durable queue in a file that several processes of one machine may open.

    One writes offers, another takes and settles; claims, rows and ledger stay in one transaction.
    """

    start_limit_seconds: ClassVar[float | None] = None
    """No limit: a large file may have to replay a long log."""

    def __init__(self, settings: SpoolSettings) -> None:
        self._path = settings.path
        self._busy_seconds = settings.busy_seconds
        self._writer = GroupCommitWriter(self._connect_for_offers, settings.max_queued)
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-reader")
        self._reading: sqlite3.Connection | None = None

    async def check(self) -> None:
        """Checks that the file, or its folder, can be written and that the file has the tables of this version.

        Raises:
            StartupError: it cannot, or does not.
        """
        with self._require_writable_and_wrap_storage_errors():
            if self._path.exists():
                await asyncio.to_thread(check_readable_sqlite_file, self._path)

    async def check_stored_version(self) -> None:
        """Checks that the open file still has the tables of this version.

        Raises:
            StartupError: another version has changed it.
        """
        await self._run_on_reader_thread(
            lambda connection: check_version_of_open_file(connection, self._path)
        )

    async def start(self) -> None:
        """Creates the file where it is missing, and starts the writer thread.

        Raises:
            StartupError: the file cannot be used.
        """
        with self._require_writable_and_wrap_storage_errors():
            create_private_file(self._path)
            await self._writer.start()

    async def aclose(self) -> None:
        """Writes what is pending and closes the file."""
        await self._writer.aclose()
        self._reader.shutdown()
        if self._reading is not None:
            self._reading.close()

    async def offer(self, arrival: ReceivedEvent) -> EnqueueResult:
        """Claims the event id and enqueues the event; see `IngestQueue.offer`."""
        _require_utf8_encodable_text(arrival)
        (decided,) = self._writer.enqueue_for_next_commit((arrival,))
        return await decided

    async def offer_all(self, arrivals: Sequence[ReceivedEvent]) -> list[EnqueueResult | EnqueueFailed]:
        """Claims and enqueues several events; see `IngestQueue.offer_all`. They wait for one commit, or for two."""
        for arrival in arrivals:
            _require_utf8_encodable_text(arrival)
        return await gather_results_or_expected_errors(
            self._writer.enqueue_for_next_commit(arrivals), EnqueueFailed
        )

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
        """Counts rejected events; durable with the next commit or within a second."""
        self._writer.count_with_next_commit(
            LedgerKey(workspace_id, hour_number(received_at), key_id, channel.value),
            reason.value,
            event_count,
        )

    async def count_duplicate(
        self, workspace_id: UUID, key_id: UUID, channel: IngestEndpoint, received_at: datetime
    ) -> None:
        """Counts a duplicate that is not offered; durable with the next commit or within a second."""
        self._writer.count_with_next_commit(
            LedgerKey(workspace_id, hour_number(received_at), key_id, channel.value), DUPLICATE, 1
        )

    async def take(self, limit: int) -> list[QueuedEvent]:
        """Returns the oldest queued events, in order of sequence, without removing them."""
        return await self._run_on_reader_thread(
            lambda connection: consumer.list_oldest_queued(connection, limit)
        )

    async def acknowledge(
        self,
        stored: Sequence[Event],
        quarantined: Sequence[QuarantinedEvent],
        ignored: Mapping[int, Sequence[str]] = NOTHING_IGNORED,
        dropped: Mapping[int, str] = NONE_DROPPED,
    ) -> None:
        """Removes stored, quarantined and dropped events and counts them, in one commit."""
        await self._writer.run_on_writer_thread(
            lambda connection: consumer.acknowledge_and_sweep_expired_claims(
                connection, stored, quarantined, ignored, dropped
            )
        )

    async def ledger_rows(self, workspace_id: UUID, start: datetime, end: datetime) -> list[LedgerRow]:
        """Returns ledger rows with ``start <= hour < end``, oldest first."""
        return await self._run_on_reader_thread(
            lambda connection: read_ledger_rows_in_snapshot(connection, workspace_id, start, end)
        )

    async def state(self) -> QueueState:
        """Returns how many events are queued, and when the oldest was received."""
        return await self._run_on_reader_thread(consumer.queue_lag)

    async def list_quarantined(self, workspace_id: UUID, limit: int) -> list[QuarantinedEvent]:
        """Returns the quarantined events of a workspace, oldest first."""
        return await self._run_on_reader_thread(
            lambda connection: consumer.list_quarantined(connection, workspace_id, limit)
        )

    async def replay(self, workspace_id: UUID) -> int:
        """Puts the quarantined events of a workspace back in the queue; returns how many."""
        return await self._writer.run_on_writer_thread(
            lambda connection: consumer.requeue_all_quarantined(connection, workspace_id)
        )

    async def delete_quarantined_before(self, received_before: datetime) -> dict[UUID, int]:
        """Deletes events received before a time from the quarantine; returns how many of each workspace."""
        return await self._writer.run_on_writer_thread(
            lambda connection: consumer.delete_quarantined_received_before(connection, received_before)
        )

    async def rewrite_quarantined(
        self, rewrite: Callable[[ReceivedEvent], ReceivedEvent | None]
    ) -> dict[UUID, int]:
        """Replaces or deletes quarantined events; returns how many of each workspace."""
        return await self._writer.run_on_writer_thread(
            lambda connection: consumer.rewrite_quarantined(connection, rewrite)
        )

    async def rewrite_waiting(
        self, received_before: datetime, rewrite: Callable[[ReceivedEvent], ReceivedEvent]
    ) -> int:
        """Replaces waiting events received before a time, one batch in a commit; returns how many."""
        numbers = await self._run_on_reader_thread(
            lambda connection: consumer.list_batches_with_events_received_before(connection, received_before)
        )
        return sum(
            [
                await self._writer.run_on_writer_thread(
                    partial(consumer.rewrite_batch, number=number, cutoff=received_before, rewrite=rewrite)
                )
                for number in numbers
            ]
        )

    @contextmanager
    def _require_writable_and_wrap_storage_errors(self) -> Iterator[None]:
        """Requires that the paths are writable, and raises StartupError for a storage error inside the block."""
        require_writable_paths_or_parents("ingest.queue", self._path.parent, self._path)
        try:
            yield
        except (OSError, sqlite3.Error) as fault:
            raise StartupError(
                f"{self._path} cannot be used as the ingest queue: {fault}. Restore a backup, or name another file in "
                "ingest.queue."
            ) from fault

    def _connect(self) -> sqlite3.Connection:
        return open_or_create_spool(self._path, self._busy_seconds)

    def _connect_for_offers(self) -> sqlite3.Connection:
        connection = self._connect()
        create_offer_view(connection)
        return connection

    async def _run_on_reader_thread(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a query on the reader thread, whose connection is opened by the first one."""

        def run_with_connection() -> T:
            if self._reading is None:
                self._reading = self._connect()
            return query(self._reading)

        return await asyncio.get_running_loop().run_in_executor(self._reader, run_with_connection)


def _require_utf8_encodable_text(event: ReceivedEvent) -> None:
    """Raises EnqueueFailed for text that SQLite cannot store (a lone surrogate), so that it fails no shared commit."""
    for text in (event.event_id, event.user_agent, event.address, *event.headers.values()):
        if text is not None and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as fault:
                raise EnqueueFailed("queue") from fault
