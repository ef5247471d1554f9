"""Questions and writes on any engine: a single writer thread, a bounded pool of readers, a session each.

The event loop never waits for the engine. A question past its budget, or one whose caller went
away, is interrupted inside the engine. An engine that answers nobody is as one that is away (`watch`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable
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
from service_core.plugin import Event, QueryTimeout, StoreUnavailable

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
MAX_CONCURRENT_STREAMS: Final = 2
"""Streams that work at the same time; readers are never taken for them."""

_CANCEL_RETRY_SECONDS: Final = 0.05


class EngineSession(Protocol):
    """A connection of an engine while one question or one write has it; one thread at a time uses it."""

    def fetch_rows(self, text: str, values: ParameterValues) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer. Whole numbers are ints, instants naive UTC."""

    def fetch_frame(self, text: str, values: ParameterValues) -> "pl.DataFrame":
        """Run a statement; its answer as a data frame with naive UTC instants."""

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Keep an answer as a table that only this session sees, in place of one of that name."""

    def begin_snapshot(self) -> None:
        """Let all further statements see one state, where the engine has such a thing."""

    def cancel(self) -> None:
        """Stop what runs now; called by another thread."""

    def drop_connection(self) -> None:
        """Let go of an engine that answers nobody, and would not hear of a stop; called by another thread."""

    def close(self) -> None:
        """Give the connection back."""


@runtime_checkable
class TransactionalSession(Protocol):
    """What a session of an engine with transactions does beside answering."""

    def transaction(self) -> AbstractContextManager[None]:
        """Commit what the block writes, or nothing of it when it fails."""

    def load_batch(self, events: Sequence[Event]) -> None:
        """Make a batch readable as the table ``batch`` (`tables.BATCH`)."""


class Backend(Protocol):
    """An engine: how it is reached, spelled and written."""

    @property
    def settings(self) -> SqlSettings:
        """How many questions at a time, and their budget."""

    @property
    def dialect(self) -> DefaultDialect:
        """What compiles statements."""

    @property
    def cancel_errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises when a statement was stopped."""

    @property
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Whatever the driver raises."""

    def check_connection(self) -> None:
        """Look whether the engine answers; changes nothing.

        Raises:
            StartupError: it does not.
        """

    def ping(self) -> bool:
        """Whether the engine answers anything, be it a refusal; False when it stays silent for some seconds."""

    def open(self) -> None:
        """Reach the engine and create what is missing.

        Raises:
            StartupError: it cannot be used.
        """

    def open_session(self, timeout_seconds: float | None = None) -> EngineSession:
        """A session; its statements may take ``budget`` seconds each, or any time."""

    def append(self, writer: "StatementRunner", events: Sequence[Event]) -> int:
        """Store what is new of a batch, atomically; the number of new events."""

    def revoke_links(self, writer: "StatementRunner", workspace_id: UUID, event_id: str) -> None:
        """Remove the links an event made, now and should it come only later (semantics 5.9)."""

    def renew(self, writer: "StatementRunner") -> None:
        """Compute every derived table anew, if another version of this code computed them."""

    def rebuild_derived_tables(self, writer: "StatementRunner") -> None:
        """Compute every derived table anew from the events."""

    def run_maintenance(self, writer: "StatementRunner") -> None:
        """Compact and tidy."""

    def close(self) -> None:
        """Let go of the engine."""


class StatementRunner:
    """What one question or write runs on: a session of its own that can be stopped from outside."""

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

    @property
    def session(self) -> EngineSession:
        """The session, taken at the first use in the thread that uses it.

        Raises:
            QueryTimeout: the question was stopped.
        """
        if self._session is None and not self._cancelled:
            self._session = self._backend.open_session(self._timeout_seconds)
        if self._cancelled or self._session is None:
            raise QueryTimeout
        return self._session

    def fetch_rows(self, statement: Statement | DeferredStatement) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer."""
        return self.execute_text(*self._statements.render(statement))

    def execute_text(self, text: str, values: ParameterValues = ()) -> list[tuple[Any, ...]]:
        """Run a statement in the engine's own words; every row of its answer."""
        return self.session.fetch_rows(text, values)

    def fetch_frame(self, statement: Statement | DeferredStatement) -> "pl.DataFrame":
        """The answer as a data frame."""
        return self.session.fetch_frame(*self._statements.render(statement))

    def create_temp_table(self, name: str, statement: Statement | DeferredStatement) -> None:
        """Keep an answer as a table of this question alone, for the statements that follow."""
        self.session.create_temp_table(name, *self._statements.render(statement))

    def cancel(self) -> None:
        """Stop what runs now and refuse what would come next."""
        with self._lock:
            self._cancelled = True
            if self._session is not None:
                self._session.cancel()

    def drop_connection(self) -> None:
        """Refuse what would come next, and let go of an engine that answers nobody."""
        with self._lock:
            self._cancelled = True
            for session in filter(None, (self._session, self._closing_session)):
                session.drop_connection()

    def close(self) -> None:
        """Give the session back."""
        with self._lock:
            self._closing_session, self._session = self._session, None
        if self._closing_session is not None:
            self._closing_session.close()  # which may ask the engine once more
            self._closing_session = None


class QueryExecutor:
    """The threads an engine works in."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._timeout = backend.settings.timeout_seconds
        self._watchdog = EngineWatchdog(backend.ping)
        self._statements = statement_cache_for(backend.dialect)
        self._read_threads = ThreadPoolExecutor(backend.settings.readers, thread_name_prefix="events-read")
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="events-write")
        self._stream_threads = ThreadPoolExecutor(MAX_CONCURRENT_STREAMS, thread_name_prefix="events-stream")

    async def open(self) -> None:
        """Reach the engine and create what is missing.

        Raises:
            StartupError: it cannot be used.
        """
        await asyncio.wrap_future(self._write_thread.submit(self._backend.open))

    def run_in_background(self, work: Callable[[StatementCache], None]) -> None:
        """Build statements where nobody waits for them."""
        self._stream_threads.submit(work, self._statements)

    async def read(self, work: Callable[[StatementRunner], T]) -> T:
        """Run a question in the pool.

        Raises:
            QueryTimeout: it missed its budget, waiting included, and was stopped.
            StoreUnavailable: the engine failed, or answers nobody.
        """
        reader = StatementRunner(self._backend, self._statements, self._timeout)
        future = self._read_threads.submit(self._run_work, reader, work)
        try:
            return await self._await_result(reader, future, self._timeout)
        except StoreUnavailable:
            raise
        except BaseException:
            await _cancel_until_done(reader, future)
            raise

    async def stream(self, work: Callable[[StatementRunner], Iterator[T]]) -> AsyncGenerator[T, None]:
        """Run a question that answers piece by piece, each step in a thread of the streams.

        It has no time budget; closing the generator stops what runs inside the engine.

        Raises:
            StoreUnavailable: the engine failed.
        """
        reader = StatementRunner(self._backend, self._statements)
        steps = work(reader)
        try:
            while True:
                future = self._stream_threads.submit(self._next_piece, steps)
                try:
                    (step,) = await asyncio.wrap_future(future) or (None,)
                finally:
                    await _cancel_until_done(reader, future)
                if step is None:
                    return
                yield step
        except BaseException:
            # An engine that answers nobody must not be asked to roll back.
            await asyncio.to_thread(reader.cancel)
            raise
        finally:
            await asyncio.to_thread(reader.close)

    async def write(self, work: Callable[[StatementRunner], T]) -> T:
        """Run work in the writer thread; it is finished even when the caller goes away.

        Raises:
            StoreUnavailable: the engine failed, or answers nobody; nothing was written, or a repeat adds nothing.
        """
        reader = StatementRunner(self._backend, self._statements)
        future = self._write_thread.submit(self._run_work, reader, work)
        writing = asyncio.ensure_future(self._await_result(reader, future, None))
        writing.add_done_callback(_ignore_result)
        return await asyncio.shield(writing)

    def close(self) -> None:
        """Finish what runs and let go of the engine."""
        self._write_thread.shutdown(wait=True)
        self._read_threads.shutdown(wait=True, cancel_futures=True)
        self._stream_threads.shutdown(wait=True, cancel_futures=True)
        self._backend.close()

    async def _await_result(self, reader: StatementRunner, future: Future[T], seconds: float | None) -> T:
        """What a thread brings, as long as the engine answers anything."""
        try:
            async with self._watchdog.fail_if_unresponsive(seconds):
                return await asyncio.wrap_future(future)
        except StoreUnavailable:
            await asyncio.to_thread(reader.drop_connection)  # the thread is free when it notices
            raise

    def _run_work(self, reader: StatementRunner, work: Callable[[StatementRunner], T]) -> T:
        try:
            return work(reader)
        except self._backend.cancel_errors:
            raise QueryTimeout from None
        except self._backend.driver_errors as fault:
            raise StoreUnavailable from fault
        finally:
            reader.close()

    def _next_piece(self, steps: Iterator[T]) -> tuple[T] | None:
        """The next piece; None after the last."""
        try:
            for step in steps:
                return (step,)
        except self._backend.driver_errors as fault:
            raise StoreUnavailable from fault
        return None


def _ignore_result(writing: asyncio.Future[Any]) -> None:
    """A fault that nobody waits for any more is no news: the batch is sent again."""
    if not writing.cancelled():
        writing.exception()


async def _cancel_until_done(reader: StatementRunner, future: Future[Any]) -> None:
    """Interrupt until the thread is free again: an interrupt between two statements is not heard."""
    while not future.done():
        await asyncio.to_thread(reader.cancel)
        await asyncio.sleep(_CANCEL_RETRY_SECONDS)
