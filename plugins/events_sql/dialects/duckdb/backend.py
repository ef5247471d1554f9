"""One open DuckDB file: a cursor per question; appends are one transaction each."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import duckdb

from plugins.events_sql import writing
from plugins.events_sql.dialects.duckdb import layout, upkeep
from plugins.events_sql.dialects.duckdb.spelling import DuckDialect
from plugins.events_sql.engine import Reader
from plugins.events_sql.settings import DuckSettings
from plugins.events_sql.statements import Latest
from plugins.events_sql.templates import Values
from service_core.plugin import Event, StartupError, StoreUnavailable, require_writable

if TYPE_CHECKING:
    import polars as pl

STORAGE: Final = "v2.0.0"
_SOUGHT: Final = 500
"""Values of a table of a question up to which an index is looked into: a page of persons has a few hundred visits."""

_TEXTS: Final = 256
"""Texts that are kept as the engine has read them, with 13 bytes for each letter: reading is a seventh of a page of persons."""

_BATCH: Final = (
    "CREATE OR REPLACE TEMP VIEW batch AS"
    " SELECT * REPLACE (CAST(workspace_id AS UUID) AS workspace_id) FROM arriving"
)


class Stream:
    """A data frame as an Arrow stream: all the engine needs to scan it by name, without pyarrow."""

    def __init__(self, frame: "pl.DataFrame") -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


class DuckSession:
    """A cursor on the file.

    Args:
        cursor: nobody else's.
        texts: those that were read before, on any cursor.
        returned: hears at the end whether the engine has given up the whole file meanwhile.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        texts: Latest[duckdb.Statement],
        returned: Callable[[bool], None],
    ) -> None:
        self.cursor = cursor
        self._texts = texts
        self._returned = returned
        self._fatal = False

    def rows(self, text: str, values: Values) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer."""
        with self._watched():
            return self.cursor.execute(self._read(text), values).fetchall()

    def frame(self, text: str, values: Values) -> "pl.DataFrame":
        """Run a statement; its answer is taken over without a copy per value."""
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        with self._watched():
            return pl.DataFrame(self.cursor.sql(text, params=values))

    def keep(self, name: str, text: str, values: Values) -> None:
        """Keep an answer as a temporary table."""
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {text}", values)

    def hold(self) -> None:
        """See one state until the session is closed."""
        self._run("BEGIN TRANSACTION")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block wrote, or nothing of it when it fails.

        A commit that fails has ended its transaction itself; what failed is told, not the roll-back.
        """
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self.cursor.execute("ROLLBACK")
            raise

    def load(self, events: Sequence[Event]) -> None:
        """Make a batch readable, through Arrow."""
        from plugins.events_sql.batches import columns  # noqa: PLC0415 - loads the data frame library

        self.cursor.register("arriving", Stream(columns(events)))
        self._run(_BATCH)

    def stop(self) -> None:
        """Interrupt what runs now."""
        with contextlib.suppress(duckdb.Error):
            self.cursor.interrupt()

    def abandon(self) -> None:
        """The same: the engine hears it in any case."""
        self.stop()

    def close(self) -> None:
        """Close the cursor."""
        self.cursor.close()
        self._returned(self._fatal)

    def _run(self, text: str, values: Values = ()) -> None:
        with self._watched():
            self.cursor.execute(self._read(text), values)

    def _read(self, text: str) -> duckdb.Statement:
        return self._texts.get(text, lambda: self.cursor.extract_statements(text)[0])

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except duckdb.FatalException:
            self._fatal = True
            raise


class DuckDb:
    """The file.

    After a fatal error the engine refuses every statement until the file is opened anew. That is done
    for the next question or batch, once all sessions on the old one have ended: what was committed is
    there, and nobody has to restart the service.

    Args:
        settings: where it lies and what the engine may use.
    """

    stopped = (duckdb.InterruptException,)
    faults = (duckdb.Error,)

    def __init__(self, settings: DuckSettings) -> None:
        self.settings = settings
        self.dialect = DuckDialect()
        self._path = settings.path
        self._options: dict[str, Any] = {
            "memory_limit": settings.memory_limit,
            "checkpoint_threshold": settings.checkpoint_threshold,
            "storage_compatibility_version": STORAGE,
            "dynamic_or_filter_threshold": _SOUGHT,
        }
        if settings.threads:
            self._options["threads"] = settings.threads
        self._texts: Latest[duckdb.Statement] = Latest(_TEXTS)
        self._root: duckdb.DuckDBPyConnection | None = None
        self._gate = Lock()
        self._lent = 0
        self._spoilt = False

    def reach(self) -> None:
        """Look whether the file can be made, or written: it belongs to the service while that runs.

        Raises:
            StartupError: it cannot.
        """
        if self._path is not None:
            require_writable("storage.events", self._path.parent, self._path)

    def answers(self) -> bool:
        """Whether it answers: it lives and dies with this process."""
        return True

    def open(self) -> None:
        """Open or create the file, and create the tables and indexes that are missing, all at once.

        Raises:
            StartupError: another process owns the file, or it cannot be read or written.
        """
        self.reach()
        try:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._root = self._connected()
            self._root.begin()
            for statement in layout.statements(self.dialect):
                self._root.execute(statement)
            self._root.commit()
        except (OSError, duckdb.Error) as fault:
            raise StartupError(f"The event store {self._path} cannot be opened: {fault}") from fault

    def session(self, budget: float | None = None) -> DuckSession:  # noqa: ARG002 - who asks interrupts
        """A cursor of its own.

        Raises:
            StoreUnavailable: the file is closed, or not open again yet.
        """
        with self._gate:
            if self._spoilt:
                self._open_anew()
            if self._root is None:
                raise StoreUnavailable
            session = DuckSession(self._root.cursor(), self._texts, self._take_back)
            self._lent += 1
            return session

    def append(self, writer: Reader, events: Sequence[Event]) -> int:
        """Store what is new of a batch; months remember how many rows came unsorted."""
        return writing.append(writer, events, upkeep.note)

    def revoke(self, writer: Reader, workspace_id: UUID, event_id: str) -> None:
        """Remove the links an event made."""
        writing.revoke(writer, workspace_id, event_id)

    def renew(self, writer: Reader) -> None:
        """Compute every derived table anew, if another version computed them."""
        writing.renew(writer)

    def rebuild(self, writer: Reader) -> None:
        """Compute every derived table anew."""
        writing.rebuild(writer)

    def maintain(self, writer: Reader) -> None:
        """Sort what arrived unsorted, and fold the log into the file."""
        upkeep.maintain(writer)

    def close(self) -> None:
        """Close the file."""
        if self._root is not None:
            self._root.close()
            self._root = None

    def _connected(self) -> duckdb.DuckDBPyConnection:
        root = duckdb.connect(str(self._path or ":memory:"), config=self._options)
        root.execute("SET GLOBAL TimeZone = 'UTC'")
        return root

    def _take_back(self, fatal: bool) -> None:
        with self._gate:
            self._lent -= 1
            self._spoilt = self._spoilt or fatal

    def _open_anew(self) -> None:
        """Two handles on one file would free each other's lock on it, so the last session ends first."""
        if self._lent or self._path is None:  # what was in memory is lost: an empty store would be a lie
            raise StoreUnavailable
        self.close()
        try:
            self._root = self._connected()
        except duckdb.Error as fault:
            raise StoreUnavailable from fault
        self._spoilt = False
