"""Runs reads and writes in threads: one writer thread, a bounded pool of reader threads, one session each.

The event loop never waits for the engine. A read that exceeds its time budget, or whose caller went away, is
cancelled inside the engine. A watchdog (`engine_watchdog`) fails requests when the engine stops responding.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable
from uuid import UUID

from sqlalchemy.engine.default import DefaultDialect

from plugins.events_sql.execution.engine_watchdog import EngineWatchdog
from plugins.events_sql.execution.statement_cache import (
    DeferredStatement,
    Statement,
    StatementCache,
    statement_cache_for,
)
from plugins.events_sql.execution.statement_templates import ParameterValues
from plugins.events_sql.settings import SqlSettings
from service_core.plugin import (
    Clock,
    Event,
    QueryTimeout,
    StoreUnavailable,
    SupersededEvent,
    system_clock,
)

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

DeletedRowsByTable: TypeAlias = Counter[str]
"""How many rows a deletion removed, by table."""

MAX_CONCURRENT_STREAMS: Final = 2
"""Exports that run at the same time; they have threads of their own, apart from the reader pool."""

_CANCEL_RETRY_SECONDS: Final = 0.05


class EngineSession(Protocol):
    """A connection of an engine that one read or one write uses; only one thread at a time uses it."""

    def fetch_rows(self, text: str, values: ParameterValues) -> list[tuple[Any, ...]]:
        """Runs a statement and returns all rows. Whole numbers are ints, timestamps are naive UTC."""

    def fetch_frame(self, text: str, values: ParameterValues) -> "pl.DataFrame":
        """Runs a statement and returns its result as a data frame with naive UTC timestamps."""

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Creates or replaces a temporary table of this session from a query."""

    def begin_snapshot(self) -> None:
        """Makes all further statements see the same snapshot, where the engine supports it."""

    def cancel(self, *, disconnect: bool = False) -> None:
        """Cancels the running statement; called by another thread.

        Args:
            disconnect: close the connection instead, because the engine no longer responds.
        """

    def close(self) -> None:
        """Returns the connection to its pool."""


@runtime_checkable
class TransactionalSession(Protocol):
    """The additional methods of sessions whose engine has transactions."""

    def exclusive_write_transaction(self) -> AbstractContextManager[None]:
        """Commits the writes of the block, or rolls all of them back when it fails."""

    def expose_frame_as_table(self, batch: "pl.DataFrame") -> None:
        """Makes a batch of events readable as the table ``batch`` (`tables.BATCH`)."""


class StoredEventWrites(Protocol):
    """The writes of an engine that change or delete stored events; they run in the writer thread."""

    def truncate_addresses(self, writer: "StatementRunner", before: datetime, since: datetime | None) -> int:
        """Cuts the IP addresses of events received in a time range, and returns how many were cut."""

    def update_enriched_columns(self, writer: "StatementRunner", events: Sequence[Event]) -> None:
        """Replaces the enriched columns of stored events."""

    def rebuild_workspace(self, writer: "StatementRunner", workspace_id: UUID) -> None:
        """Recomputes everything that is derived from the events of a workspace."""

    def delete_events(
        self, writer: "StatementRunner", workspace_id: UUID, conditions: Sequence[str]
    ) -> DeletedRowsByTable:
        """Deletes the events that meet any SQL condition, with what is derived; returns the rows by table."""


class EventHistoryWrites(Protocol):
    """The writes of an engine that keep or forget what events were; they run in the writer thread."""

    def remove_events_keeping_versions(
        self, writer: "StatementRunner", workspace_id: UUID, condition: str
    ) -> DeletedRowsByTable:
        """Deletes events as `delete_events` does, and keeps what they were for reads of an earlier instant."""

    def delete_event_versions(self, writer: "StatementRunner", condition: str) -> None:
        """Deletes what events were, where a SQL condition is met."""

    def wait_for_running_appends(self, writer: "StatementRunner") -> None:
        """Returns when all appends that have read their recording time are visible."""


class StoreWrites(StoredEventWrites, EventHistoryWrites, Protocol):
    """The writes of an engine; they run in the writer thread."""

    def append_new_and_update_derived(self, writer: "StatementRunner", events: Sequence[Event]) -> int:
        """Stores the new events of a batch atomically and returns how many were new."""

    def store_superseded_events(
        self, writer: "StatementRunner", superseded: Sequence[SupersededEvent]
    ) -> None:
        """Stores superseded events that are not stored yet."""

    def revoke_links_and_recompute_owners(
        self, writer: "StatementRunner", workspace_id: UUID, event_id: str
    ) -> None:
        """Removes the identity links of an event, also when the event arrives only later."""

    def rebuild_derived_tables(self, writer: "StatementRunner") -> None:
        """Recomputes all derived tables from the events."""


class Backend(Protocol):
    """An engine: its connections, its SQL dialect and its writes."""

    @property
    def read_only_query(self) -> str:
        """A statement that returns whether the engine takes no writes; empty if none is needed."""

    @property
    def is_only_writer(self) -> bool:
        """Whether no other process can write to the store."""

    @property
    def writes(self) -> StoreWrites:
        """How the engine stores events and keeps the derived tables up to date."""

    @property
    def settings(self) -> SqlSettings:
        """The settings of the adapter URL: readers, time budget, connection."""

    @property
    def dialect(self) -> DefaultDialect:
        """The SQLAlchemy dialect that compiles statements."""

    @property
    def cancel_errors(self) -> tuple[type[Exception], ...]:
        """The exceptions the driver raises for a cancelled statement."""

    @property
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """The base classes of all exceptions the driver raises."""

    def has_tables_or_raise_unusable(self) -> bool:
        """Checks that the engine responds, without changing anything; returns whether it has the tables of a store.

        Raises:
            StartupError: it does not, or the store is of another version.
        """

    def ping(self) -> bool:
        """Returns whether the engine responds at all, an error included; False after some silent seconds."""

    def open_and_create_missing_tables(self) -> None:
        """Connects to the engine and creates missing tables and indexes.

        Raises:
            StartupError: the engine cannot be used.
        """

    def open_session(self, timeout_seconds: float | None = None) -> EngineSession:
        """Returns a session whose statements may take ``timeout_seconds`` each; None means no limit."""

    def run_maintenance(self, writer: "StatementRunner") -> None:
        """Compacts the store and updates statistics."""

    def close(self) -> None:
        """Closes all connections."""


class StatementRunner:
    """Runs the statements of one read or one write on a session of its own, which other threads can cancel."""

    def __init__(
        self, backend: Backend, statements: StatementCache, timeout_seconds: float | None = None
    ) -> None:
        self._backend = backend
        self._statements = statements
        self._timeout_seconds = timeout_seconds
        self._session: EngineSession | None = None
        self._closing_session: EngineSession | None = None
        self._cancelled = False
        self._lock = Lock()
        self.read_recording_time: Clock = system_clock
        """Returns the instant at which what is written now becomes visible; it never goes back."""

    @property
    def lazily_opened_session(self) -> EngineSession:
        """The session; it is opened at the first use, in the thread that uses it.

        Raises:
            QueryTimeout: the runner was cancelled.
        """
        if self._session is None and not self._cancelled:
            self._session = self._backend.open_session(self._timeout_seconds)
        if self._cancelled or self._session is None:
            raise QueryTimeout
        return self._session

    def fetch_rows(self, statement: Statement | DeferredStatement) -> list[tuple[Any, ...]]:
        """Runs a statement and returns all rows."""
        return self.execute_text(*self._statements.render_from_cache(statement))

    def execute_text(self, text: str, values: ParameterValues = ()) -> list[tuple[Any, ...]]:
        """Runs a statement given as SQL of the engine and returns all rows."""
        return self.lazily_opened_session.fetch_rows(text, values)

    def fetch_frame(self, statement: Statement | DeferredStatement) -> "pl.DataFrame":
        """Runs a statement and returns its result as a data frame."""
        return self.lazily_opened_session.fetch_frame(*self._statements.render_from_cache(statement))

    def create_temp_table(self, name: str, statement: Statement | DeferredStatement) -> None:
        """Creates or replaces a temporary table for the following statements of this runner."""
        self.lazily_opened_session.create_temp_table(name, *self._statements.render_from_cache(statement))

    def begin_snapshot(self) -> None:
        """Makes all further statements see the same snapshot, where the engine supports it."""
        self.lazily_opened_session.begin_snapshot()

    def cancel_and_refuse_further(self) -> None:
        """Cancels the running statement and refuses all further ones."""
        with self._lock:
            self._cancelled = True
            if self._session is not None:
                self._session.cancel()

    def disconnect_and_refuse_further(self) -> None:
        """Refuses all further statements and drops the connection to an engine that does not respond."""
        with self._lock:
            self._cancelled = True
            for session in filter(None, (self._session, self._closing_session)):
                session.cancel(disconnect=True)

    def close(self) -> None:
        """Closes the session."""
        with self._lock:
            self._closing_session, self._session = self._session, None
        if self._closing_session is not None:
            self._closing_session.close()  # may run another statement
            self._closing_session = None


class QueryExecutor:
    """The threads that run the statements of an engine."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._timeout = backend.settings.timeout_seconds
        self._watchdog = EngineWatchdog(backend.ping)
        self._statements = statement_cache_for(backend.dialect)
        self._read_threads = ThreadPoolExecutor(backend.settings.readers, thread_name_prefix="events-read")
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="events-write")
        self._stream_threads = ThreadPoolExecutor(MAX_CONCURRENT_STREAMS, thread_name_prefix="events-stream")
        self._begun_writes = self._ended_writes = 0
        self.clock: Clock = system_clock
        self._recorded_at = datetime.min.replace(tzinfo=UTC)

    async def open_in_writer_thread(self) -> None:
        """Opens the engine in the writer thread and creates missing tables.

        Raises:
            StartupError: the engine cannot be used.
        """
        await asyncio.wrap_future(self._write_thread.submit(self._backend.open_and_create_missing_tables))

    def run_in_background(self, work: Callable[[StatementCache], None]) -> None:
        """Runs work on the statement cache in a stream thread; nobody waits for it."""
        self._stream_threads.submit(work, self._statements)

    async def run_read_within_time_budget(self, query: Callable[[StatementRunner], T]) -> T:
        """Runs a read in the reader pool and returns its result.

        Raises:
            QueryTimeout: the read took longer than its time budget, waiting included, and was cancelled.
            StoreUnavailable: the engine failed or does not respond.
        """
        runner = StatementRunner(self._backend, self._statements, self._timeout)
        future = self._read_threads.submit(self._run_and_translate_driver_errors, runner, query)
        try:
            return await self._await_result_while_engine_responds(runner, future, self._timeout)
        except StoreUnavailable:
            raise
        except BaseException:
            await _cancel_until_done(runner, future)
            raise

    async def stream_without_time_limit(
        self, query: Callable[[StatementRunner], Iterator[T]]
    ) -> AsyncGenerator[T, None]:
        """Yields the pieces of a read, each computed in a stream thread.

        There is no time budget. Closing the generator cancels the running statement.

        Raises:
            StoreUnavailable: the engine failed.
        """
        runner = StatementRunner(self._backend, self._statements)
        pieces = query(runner)
        try:
            while True:
                future = self._stream_threads.submit(self._next_piece_in_tuple, pieces)
                try:
                    (piece,) = await asyncio.wrap_future(future) or (None,)
                finally:
                    await _cancel_until_done(runner, future)
                if piece is None:
                    return
                yield piece
        except BaseException:
            # An unresponsive engine must not be asked to roll back.
            await asyncio.to_thread(runner.cancel_and_refuse_further)
            raise
        finally:
            await asyncio.to_thread(runner.close)

    async def run_write_to_its_end(self, change: Callable[[StatementRunner], T]) -> T:
        """Runs a write in the writer thread; it is finished even when the caller goes away.

        Raises:
            StoreUnavailable: the engine failed or does not respond. Nothing was written, or writing again adds nothing.
        """
        runner = StatementRunner(self._backend, self._statements)
        runner.read_recording_time = self._read_recording_time_in_writer_thread
        future = self._write_thread.submit(self._run_write_and_count_it, runner, change)
        writing = asyncio.ensure_future(self._await_result_while_engine_responds(runner, future, None))
        writing.add_done_callback(_ignore_result)
        return await asyncio.shield(writing)

    def _read_recording_time_in_writer_thread(self) -> datetime:
        self._recorded_at = max(self._recorded_at, self.clock())
        return self._recorded_at

    def ended_writes_unless_writing(self) -> int | None:
        """Returns how many writes have ended; None while one runs."""
        ended = self._ended_writes
        return ended if ended == self._begun_writes else None

    def finish_work_and_close(self) -> None:
        """Finishes the running work and closes the engine."""
        self._write_thread.shutdown(wait=True)
        self._read_threads.shutdown(wait=True, cancel_futures=True)
        self._stream_threads.shutdown(wait=True, cancel_futures=True)
        self._backend.close()

    async def _await_result_while_engine_responds(
        self, runner: StatementRunner, future: Future[T], time_limit_seconds: float | None
    ) -> T:
        """Returns the result of a thread; drops the connection and fails when the engine stops responding."""
        try:
            async with self._watchdog.fail_if_unresponsive(time_limit_seconds):
                return await asyncio.wrap_future(future)
        except StoreUnavailable:
            await asyncio.to_thread(runner.disconnect_and_refuse_further)  # the thread ends when it notices
            raise

    def _run_write_and_count_it(self, runner: StatementRunner, change: Callable[[StatementRunner], T]) -> T:
        """Runs a write; it counts also when it fails, because it may have been committed."""
        self._begun_writes += 1
        try:
            return self._run_and_translate_driver_errors(runner, change)
        finally:
            self._ended_writes += 1

    def _run_and_translate_driver_errors(
        self, runner: StatementRunner, work: Callable[[StatementRunner], T]
    ) -> T:
        """Runs work, raises the errors of the port for those of the driver, and closes the session."""
        try:
            return work(runner)
        except self._backend.cancel_errors:
            raise QueryTimeout from None
        except self._backend.driver_errors as fault:
            raise StoreUnavailable from fault
        finally:
            runner.close()

    def _next_piece_in_tuple(self, pieces: Iterator[T]) -> tuple[T] | None:
        """Returns the next piece of a stream in a tuple, or None after the last."""
        try:
            for piece in pieces:
                return (piece,)
        except self._backend.driver_errors as fault:
            raise StoreUnavailable from fault
        return None


def _ignore_result(writing: asyncio.Future[Any]) -> None:
    """Retrieves the exception of a write that no caller waits for, so that asyncio does not log it; the batch is sent again."""
    if not writing.cancelled():
        writing.exception()


async def _cancel_until_done(runner: StatementRunner, future: Future[Any]) -> None:
    """Cancels repeatedly until the thread is free: a cancel between two statements has no effect."""
    while not future.done():
        await asyncio.to_thread(runner.cancel_and_refuse_further)
        await asyncio.sleep(_CANCEL_RETRY_SECONDS)
