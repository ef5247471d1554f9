"""One open DuckDB file: a single writer thread, a bounded pool of readers, a cursor per question.

The event loop never waits for the engine. A question past its budget, or one whose caller went
away, is interrupted inside the engine.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb
import sqlalchemy as sa

from plugins.events_sql.dialects.duckdb import DuckDialect
from plugins.events_sql.statements import Statements
from service_core.plugin import QueryTimeout, StartupError, StoreUnavailable

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
Statement = sa.Select[Any] | sa.CompoundSelect[Any]
STORAGE: Final = "v2.0.0"
STREAMS: Final = 2
"""Streams that work at the same time; readers are never taken for them."""

_NUDGE_SECONDS: Final = 0.05


class Reader:
    """What one question runs on: a cursor of its own that can be stopped from outside."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, statements: Statements) -> None:
        self._cursor = cursor
        self._statements = statements
        self._stopped = False

    def rows(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Every row of the answer."""
        return self.text(*self._statements.render(statement))

    def text(self, text: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Every row of the answer to a statement in the engine's own words."""
        if self._stopped:
            raise QueryTimeout
        return self._cursor.execute(text, values or []).fetchall()

    def frame(self, statement: Statement) -> "pl.DataFrame":
        """The answer as a data frame, taken over from the engine without a copy per value."""
        text, values = self._statements.render(statement)
        if self._stopped:
            raise QueryTimeout
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        return pl.DataFrame(self._cursor.sql(text, params=values))

    def keep(self, name: str, statement: Statement) -> None:
        """Keep an answer as a table of this question alone, for the statements that follow."""
        text, values = self._statements.render(statement)
        self.text(f"CREATE OR REPLACE TEMP TABLE {name} AS {text}", values)

    def stop(self) -> None:
        """Stop what runs now and refuse what would come next."""
        self._stopped = True
        self._cursor.interrupt()

    def close(self) -> None:
        """Give the cursor back."""
        self._cursor.close()


class Engine:
    """The open file."""

    def __init__(
        self, path: Path | None, options: Mapping[str, str | int], readers: int, timeout: float
    ) -> None:
        self._path = path
        self._options: dict[str, Any] = {**options, "storage_compatibility_version": STORAGE}
        self._timeout = timeout
        self._statements = Statements(DuckDialect())
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="events-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="events-write")
        self._streams = ThreadPoolExecutor(STREAMS, thread_name_prefix="events-stream")
        self._root: duckdb.DuckDBPyConnection | None = None

    def open(self) -> None:
        """Open or create the file.

        Raises:
            StartupError: another process owns the file, or it cannot be read.
        """
        try:
            self._root = duckdb.connect(str(self._path or ":memory:"), config=self._options)
            self._root.execute("SET GLOBAL TimeZone = 'UTC'")
        except duckdb.Error as fault:
            raise StartupError(f"The event store {self._path} cannot be opened: {fault}") from fault

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new cursor on the file."""
        if self._root is None:
            raise StoreUnavailable
        return self._root.cursor()

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run a question in the pool.

        Raises:
            QueryTimeout: it missed its budget, waiting included, and was stopped.
            StoreUnavailable: the engine failed.
        """
        reader = Reader(self.cursor(), self._statements)
        future = self._readers.submit(_run, reader, work)
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise QueryTimeout from None
        finally:
            if future.cancelled():
                reader.close()
            await _stop(reader, future)

    async def stream(self, work: Callable[[Reader], Iterator[T]]) -> AsyncGenerator[T, None]:
        """Run a question that answers piece by piece, each step in a thread of the streams.

        It has no time budget; closing the generator stops what runs inside the engine.

        Raises:
            StoreUnavailable: the engine failed.
        """
        reader = Reader(self.cursor(), self._statements)
        steps = work(reader)
        try:
            while True:
                future = self._streams.submit(_step, steps)
                try:
                    (step,) = await asyncio.wrap_future(future) or (None,)
                finally:
                    await _stop(reader, future)
                if step is None:
                    return
                yield step
        finally:
            reader.close()

    async def write(self, work: Callable[[], T]) -> T:
        """Run work in the writer thread; it is finished even when the caller goes away."""
        future = self._writer.submit(work)
        return await asyncio.shield(asyncio.wrap_future(future))

    def close(self) -> None:
        """Finish what runs and close the file."""
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True, cancel_futures=True)
        self._streams.shutdown(wait=True, cancel_futures=True)
        if self._root is not None:
            self._root.close()
            self._root = None


def _run(reader: Reader, work: Callable[[Reader], T]) -> T:
    try:
        return work(reader)
    except duckdb.InterruptException:
        raise QueryTimeout from None
    except duckdb.Error as fault:
        raise StoreUnavailable from fault
    finally:
        reader.close()


def _step(steps: Iterator[T]) -> tuple[T] | None:
    """The next piece; None after the last."""
    try:
        for step in steps:
            return (step,)
    except duckdb.Error as fault:
        raise StoreUnavailable from fault
    return None


async def _stop(reader: Reader, future: Future[Any]) -> None:
    """Interrupt until the thread is free again: an interrupt between two statements is not heard."""
    while not future.done():
        with contextlib.suppress(duckdb.Error):
            reader.stop()
        await asyncio.sleep(_NUDGE_SECONDS)
