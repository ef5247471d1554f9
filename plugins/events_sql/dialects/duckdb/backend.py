"""One open DuckDB file: a cursor per read, and one transaction per append."""

import contextlib
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import duckdb

from plugins.events_sql.dialects.duckdb import compaction, ddl
from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import LruCache
from plugins.events_sql.execution.statement_templates import ParameterValues
from plugins.events_sql.schema.store_version import require_new_store_or_current_version
from plugins.events_sql.settings import DuckDbSettings
from plugins.events_sql.writes.append import TransactionalWrites
from service_core.plugin import (
    StartupError,
    StoreUnavailable,
    create_private_folder,
    require_writable_paths_or_parents,
    restrict_database_to_owner,
)

if TYPE_CHECKING:
    import polars as pl

STORAGE_VERSION: Final = "v2.0.0"
_INDEX_LOOKUP_LIMIT: Final = 500
"""The number of values of a temporary table up to which an index is used: a page of persons has some hundred sessions."""

_MAX_PARSED_STATEMENTS: Final = 256
"""Parsed statements that are cached, at 13 bytes per character: parsing takes a seventh of the time of a page of persons."""

_CREATE_BATCH_VIEW: Final = (
    "CREATE OR REPLACE TEMP VIEW batch AS"
    " SELECT * REPLACE (CAST(workspace_id AS UUID) AS workspace_id) FROM arriving"
)


class ArrowStream:
    """A data frame as an Arrow stream, which DuckDB can scan by name without pyarrow."""

    def __init__(self, frame: "pl.DataFrame") -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


class DuckDbSession:
    """A cursor on the file.

    Args:
        cursor: used by this session only.
        texts: cache of parsed statements, shared by all cursors.
        returned: called at the end with whether the engine reported a fatal error.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        texts: LruCache[duckdb.Statement],
        returned: Callable[[bool], None],
    ) -> None:
        self.cursor = cursor
        self._parsed_statements = texts
        self._on_close = returned
        self._fatal = False

    def fetch_rows(self, text: str, values: ParameterValues) -> list[tuple[Any, ...]]:
        """Runs a statement and returns all rows."""
        with self._remember_fatal_errors():
            return self.cursor.execute(self._parse(text), values).fetchall()

    def fetch_frame(self, text: str, values: ParameterValues) -> "pl.DataFrame":
        """Runs a statement and returns its result as a data frame without copying values."""
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        with self._remember_fatal_errors():
            return pl.DataFrame(self.cursor.sql(text, params=values))

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Creates or replaces a temporary table from a query."""
        self._execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {text}", values)

    def begin_snapshot(self) -> None:
        """Begins a transaction that lasts until the session is closed."""
        self._execute("BEGIN TRANSACTION")

    @contextlib.contextmanager
    def exclusive_write_transaction(self) -> Iterator[None]:
        """Commits the writes of the block, or rolls all of them back when it fails.

        A failed commit has already ended its transaction; the error of the commit is raised, not that of the rollback.
        """
        self._execute("BEGIN")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self.cursor.execute("ROLLBACK")
            raise

    def expose_frame_as_table(self, batch: "pl.DataFrame") -> None:
        """Makes a batch readable as the view ``batch``, through Arrow."""
        self.cursor.register("arriving", ArrowStream(batch))
        self._execute(_CREATE_BATCH_VIEW)

    def cancel(self, *, disconnect: bool = False) -> None:  # noqa: ARG002 - an embedded engine always reacts
        """Interrupts the running statement."""
        with contextlib.suppress(duckdb.Error):
            self.cursor.interrupt()

    def close(self) -> None:
        """Closes the cursor."""
        self.cursor.close()
        self._on_close(self._fatal)

    def _execute(self, text: str, values: ParameterValues = ()) -> None:
        with self._remember_fatal_errors():
            self.cursor.execute(self._parse(text), values)

    def _parse(self, text: str) -> duckdb.Statement:
        return self._parsed_statements.get_or_create(text, lambda: self._parse_single_statement(text))

    def _parse_single_statement(self, text: str) -> duckdb.Statement:
        """Returns the parsed statement.

        Raises:
            ValueError: when the text holds more than one statement, of which only the first would run.
        """
        statements = self.cursor.extract_statements(text)
        if len(statements) != 1:
            raise ValueError(f"Expected one SQL statement, got {len(statements)}: {text[:80]!r}")
        return statements[0]

    @contextlib.contextmanager
    def _remember_fatal_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.FatalException:
            self._fatal = True
            raise


class DuckDbBackend:
    """The DuckDB file.

    After a fatal error DuckDB refuses every statement until the file is opened again. That happens at the next
    read or batch, after all sessions on the old connection have ended; committed data is kept and the
    service need not be restarted.

    Args:
        settings: the path of the file and the resources of the engine.
    """

    is_only_writer = True
    read_only_query = ""
    cancel_errors = (duckdb.InterruptException,)
    driver_errors = (duckdb.Error,)
    writes = TransactionalWrites(after_insert=compaction.record_unsorted_rows)

    def __init__(self, settings: DuckDbSettings) -> None:
        self.settings = settings
        self.dialect = DuckDialect()
        self._path = settings.path
        self._options: dict[str, Any] = {
            "memory_limit": settings.memory_limit,
            "checkpoint_threshold": settings.checkpoint_threshold,
            "storage_compatibility_version": STORAGE_VERSION,
            "dynamic_or_filter_threshold": _INDEX_LOOKUP_LIMIT,
        }
        if self._path is None:
            self._options["temp_directory"] = ""  # events in memory are not written to the working directory
        if settings.threads:
            self._options["threads"] = settings.threads
        self._parsed_statements: LruCache[duckdb.Statement] = LruCache(_MAX_PARSED_STATEMENTS)
        self._root: duckdb.DuckDBPyConnection | None = None
        self._lock = Lock()
        self._open_sessions = 0
        self._needs_reopen = False

    def has_tables_or_raise_unusable(self) -> bool:
        """Checks that the file can be created or written; returns whether it is there. One in memory always is.

        Raises:
            StartupError: it cannot, or it holds a store of another version.
        """
        if self._path is None:
            return True
        self._require_writable_file()
        if not self._path.exists():
            return False
        self._check_version_unless_file_is_in_use()
        return True

    def _require_writable_file(self) -> None:
        if self._path is not None:
            require_writable_paths_or_parents("storage.events", self._path.parent, self._path)

    def _check_version_unless_file_is_in_use(self) -> None:
        """Reads the version of the file; the process that has it open has done so.

        Raises:
            StartupError: the file holds a store of another version.
        """
        try:
            connection = duckdb.connect(str(self._path), read_only=True)
        except duckdb.Error:
            return
        with connection:
            require_new_store_or_current_version(
                lambda text: connection.execute(text).fetchall(), "current_schema()"
            )

    def ping(self) -> bool:
        """Returns True: the engine runs in this process."""
        return True

    def open_and_create_missing_tables(self) -> None:
        """Opens or creates the file, and creates missing tables and indexes in one transaction.

        Raises:
            StartupError: another process has the file open, or it cannot be read or written.
        """
        self._require_writable_file()
        try:
            if self._path is not None:
                create_private_folder(self._path.parent)
            self._root = self._connect()
            if self._path is not None:
                restrict_database_to_owner(self._path)
            self._root.begin()
            require_new_store_or_current_version(self._root_rows, "current_schema()")
            for statement in ddl.create_if_missing_statements(self.dialect):
                self._root.execute(statement)
            self._root.commit()
        except (OSError, duckdb.Error) as fault:
            raise StartupError(f"The event store {self._path} cannot be opened: {fault}") from fault

    def open_session(self, timeout_seconds: float | None = None) -> DuckDbSession:  # noqa: ARG002 - callers interrupt
        """Returns a session with a cursor of its own.

        Raises:
            StoreUnavailable: the file is closed, or not reopened yet.
        """
        with self._lock:
            if self._needs_reopen:
                self._reopen_unless_session_is_open()
            if self._root is None:
                raise StoreUnavailable
            session = DuckDbSession(self._root.cursor(), self._parsed_statements, self._session_closed)
            self._open_sessions += 1
            return session

    def run_maintenance(self, writer: StatementRunner) -> None:
        """Sorts months with many unsorted rows and writes a checkpoint."""
        compaction.sort_due_months_and_checkpoint(writer)

    def close(self) -> None:
        """Closes the file."""
        if self._root is not None:
            self._root.close()
            self._root = None

    def _connect(self) -> duckdb.DuckDBPyConnection:
        root = duckdb.connect(str(self._path or ":memory:"), config=self._options)
        root.execute("SET GLOBAL TimeZone = 'UTC'")
        return root

    def _root_rows(self, text: str) -> list[tuple[Any, ...]]:
        return self._root.execute(text).fetchall() if self._root else []

    def _session_closed(self, fatal: bool) -> None:
        with self._lock:
            self._open_sessions -= 1
            self._needs_reopen = self._needs_reopen or fatal

    def _reopen_unless_session_is_open(self) -> None:
        """Opens the file again. The last session must end first: two connections would release each other's file lock."""
        if (
            self._open_sessions or self._path is None
        ):  # events in memory are lost; an empty store must not answer
            raise StoreUnavailable
        self.close()
        try:
            self._root = self._connect()
        except duckdb.Error as fault:
            raise StoreUnavailable from fault
        self._needs_reopen = False
