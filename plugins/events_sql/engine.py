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

from plugins.events_sql.settings import SqlSettings
from plugins.events_sql.statements import Built, Statement, Statements, statements_of
from plugins.events_sql.templates import Values
from plugins.events_sql.watch import Watch
from service_core.plugin import Event, QueryTimeout, StoreUnavailable

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
STREAMS: Final = 2
"""Streams that work at the same time; readers are never taken for them."""

_NUDGE_SECONDS: Final = 0.05


class Session(Protocol):
    """A connection of an engine while one question or one write has it; one thread at a time uses it."""

    def rows(self, text: str, values: Values) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer. Whole numbers are ints, instants naive UTC."""

    def frame(self, text: str, values: Values) -> "pl.DataFrame":
        """Run a statement; its answer as a data frame with naive UTC instants."""

    def keep(self, name: str, text: str, values: Values) -> None:
        """Keep an answer as a table that only this session sees, in place of one of that name."""

    def hold(self) -> None:
        """Let all further statements see one state, where the engine has such a thing."""

    def stop(self) -> None:
        """Stop what runs now; called by another thread."""

    def abandon(self) -> None:
        """Let go of an engine that answers nobody, and would not hear of a stop; called by another thread."""

    def close(self) -> None:
        """Give the connection back."""


@runtime_checkable
class Transactional(Protocol):
    """What a session of an engine with transactions does beside answering."""

    def transaction(self) -> AbstractContextManager[None]:
        """Commit what the block writes, or nothing of it when it fails."""

    def load(self, events: Sequence[Event]) -> None:
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
    def stopped(self) -> tuple[type[Exception], ...]:
        """What the driver raises when a statement was stopped."""

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """Whatever the driver raises."""

    def reach(self) -> None:
        """Look whether the engine answers; changes nothing.

        Raises:
            StartupError: it does not.
        """

    def answers(self) -> bool:
        """Whether the engine answers anything, be it a refusal; False when it stays silent for some seconds."""

    def open(self) -> None:
        """Reach the engine and create what is missing.

        Raises:
            StartupError: it cannot be used.
        """

    def session(self, budget: float | None = None) -> Session:
        """A session; its statements may take ``budget`` seconds each, or any time."""

    def append(self, writer: "Reader", events: Sequence[Event]) -> int:
        """Store what is new of a batch, atomically; the number of new events."""

    def revoke(self, writer: "Reader", workspace_id: UUID, event_id: str) -> None:
        """Remove the links an event made, now and should it come only later (semantics 5.9)."""

    def renew(self, writer: "Reader") -> None:
        """Compute every derived table anew, if another version of this code computed them."""

    def rebuild(self, writer: "Reader") -> None:
        """Compute every derived table anew from the events."""

    def maintain(self, writer: "Reader") -> None:
        """Compact and tidy."""

    def close(self) -> None:
        """Let go of the engine."""


class Reader:
    """What one question or write runs on: a session of its own that can be stopped from outside."""

    def __init__(self, backend: Backend, statements: Statements, budget: float | None = None) -> None:
        self._backend = backend
        self._statements = statements
        self._budget = budget
        self._held: Session | None = None
        self._leaving: Session | None = None
        self._stopped = False
        self._lock = Lock()

    @property
    def session(self) -> Session:
        """The session, taken at the first use in the thread that uses it.

        Raises:
            QueryTimeout: the question was stopped.
        """
        if self._held is None and not self._stopped:
            self._held = self._backend.session(self._budget)
        if self._stopped or self._held is None:
            raise QueryTimeout
        return self._held

    def rows(self, statement: Statement | Built) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer."""
        return self.text(*self._statements.render(statement))

    def text(self, text: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run a statement in the engine's own words; every row of its answer."""
        return self.session.rows(text, values)

    def frame(self, statement: Statement | Built) -> "pl.DataFrame":
        """The answer as a data frame."""
        return self.session.frame(*self._statements.render(statement))

    def keep(self, name: str, statement: Statement | Built) -> None:
        """Keep an answer as a table of this question alone, for the statements that follow."""
        self.session.keep(name, *self._statements.render(statement))

    def stop(self) -> None:
        """Stop what runs now and refuse what would come next."""
        with self._lock:
            self._stopped = True
            if self._held is not None:
                self._held.stop()

    def abandon(self) -> None:
        """Refuse what would come next, and let go of an engine that answers nobody."""
        with self._lock:
            self._stopped = True
            for session in filter(None, (self._held, self._leaving)):
                session.abandon()

    def close(self) -> None:
        """Give the session back."""
        with self._lock:
            self._leaving, self._held = self._held, None
        if self._leaving is not None:
            self._leaving.close()  # which may ask the engine once more
            self._leaving = None


class Engine:
    """The threads an engine works in."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._timeout = backend.settings.timeout_seconds
        self._watch = Watch(backend.answers)
        self._statements = statements_of(backend.dialect)
        self._readers = ThreadPoolExecutor(backend.settings.readers, thread_name_prefix="events-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="events-write")
        self._streams = ThreadPoolExecutor(STREAMS, thread_name_prefix="events-stream")

    async def open(self) -> None:
        """Reach the engine and create what is missing.

        Raises:
            StartupError: it cannot be used.
        """
        await asyncio.wrap_future(self._writer.submit(self._backend.open))

    def prepare(self, work: Callable[[Statements], None]) -> None:
        """Build statements where nobody waits for them."""
        self._streams.submit(work, self._statements)

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run a question in the pool.

        Raises:
            QueryTimeout: it missed its budget, waiting included, and was stopped.
            StoreUnavailable: the engine failed, or answers nobody.
        """
        reader = Reader(self._backend, self._statements, self._timeout)
        future = self._readers.submit(self._run, reader, work)
        try:
            return await self._heard(reader, future, self._timeout)
        except StoreUnavailable:
            raise
        except BaseException:
            await _stop(reader, future)
            raise

    async def stream(self, work: Callable[[Reader], Iterator[T]]) -> AsyncGenerator[T, None]:
        """Run a question that answers piece by piece, each step in a thread of the streams.

        It has no time budget; closing the generator stops what runs inside the engine.

        Raises:
            StoreUnavailable: the engine failed.
        """
        reader = Reader(self._backend, self._statements)
        steps = work(reader)
        try:
            while True:
                future = self._streams.submit(self._step, steps)
                try:
                    (step,) = await asyncio.wrap_future(future) or (None,)
                finally:
                    await _stop(reader, future)
                if step is None:
                    return
                yield step
        except BaseException:
            # An engine that answers nobody must not be asked to roll back.
            await asyncio.to_thread(reader.stop)
            raise
        finally:
            await asyncio.to_thread(reader.close)

    async def write(self, work: Callable[[Reader], T]) -> T:
        """Run work in the writer thread; it is finished even when the caller goes away.

        Raises:
            StoreUnavailable: the engine failed, or answers nobody; nothing was written, or a repeat adds nothing.
        """
        reader = Reader(self._backend, self._statements)
        future = self._writer.submit(self._run, reader, work)
        writing = asyncio.ensure_future(self._heard(reader, future, None))
        writing.add_done_callback(_noticed)
        return await asyncio.shield(writing)

    def close(self) -> None:
        """Finish what runs and let go of the engine."""
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True, cancel_futures=True)
        self._streams.shutdown(wait=True, cancel_futures=True)
        self._backend.close()

    async def _heard(self, reader: Reader, future: Future[T], seconds: float | None) -> T:
        """What a thread brings, as long as the engine answers anything."""
        try:
            async with self._watch.within(seconds):
                return await asyncio.wrap_future(future)
        except StoreUnavailable:
            await asyncio.to_thread(reader.abandon)  # the thread is free when it notices
            raise

    def _run(self, reader: Reader, work: Callable[[Reader], T]) -> T:
        try:
            return work(reader)
        except self._backend.stopped:
            raise QueryTimeout from None
        except self._backend.faults as fault:
            raise StoreUnavailable from fault
        finally:
            reader.close()

    def _step(self, steps: Iterator[T]) -> tuple[T] | None:
        """The next piece; None after the last."""
        try:
            for step in steps:
                return (step,)
        except self._backend.faults as fault:
            raise StoreUnavailable from fault
        return None


def _noticed(writing: asyncio.Future[Any]) -> None:
    """A fault that nobody waits for any more is no news: the batch is sent again."""
    if not writing.cancelled():
        writing.exception()


async def _stop(reader: Reader, future: Future[Any]) -> None:
    """Interrupt until the thread is free again: an interrupt between two statements is not heard."""
    while not future.done():
        await asyncio.to_thread(reader.stop)
        await asyncio.sleep(_NUDGE_SECONDS)
