"""PostgreSQL through psycopg: a transaction per read, appends through COPY, one append at a time.

Readers and writers of other processes share the database. An append takes an advisory lock, so that two
processes number new visitors one after the other; readers never wait for it.
"""

import contextlib
import os
import socket
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumper, TextLoader

from plugins.events_sql.dialects.postgresql import ddl
from plugins.events_sql.dialects.postgresql.compiler import PostgreSqlDialect
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_templates import ParameterValues
from plugins.events_sql.schema.store_version import has_current_store, require_new_store_or_current_version
from plugins.events_sql.schema.tables import BATCH, METADATA
from plugins.events_sql.settings import PostgreSqlSettings
from plugins.events_sql.writes.append import TransactionalWrites
from service_core.plugin import StartupError

if TYPE_CHECKING:
    import polars as pl

_LOCK_WRITER: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended('touchpoint events ' || current_schema(), 0))"
)
_CANCEL_SECONDS: Final = 1.0
_ANALYZE_ROW_LIMIT: Final = 1000
"""Temporary tables of reads with a time budget are analyzed up to this size: the planner assumes thousands of rows."""
_KEEPALIVE_SETTINGS: Final[Mapping[str, Any]] = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""A lost server is noticed within a minute, also by a write or export without time budget."""
_SESSION_OPTIONS: Final = (
    "-c jit=off -c enable_material=off -c random_page_cost=2 -c timezone=UTC -c client_min_messages=warning"
)
"""Settings of every connection.

Compiling the long statements to machine code (``jit``) takes longer than running them. The planner underestimates
the rows of CTEs; with ``enable_material`` it chooses nested loops over materialized rows, and tens of thousands of
rows meet tens of thousands; without it it hashes them and still uses indexes. The default ``random_page_cost``
is meant for spinning disks; with it a long time range would read full rows instead of the covering index (`ddl`).
"""


class _NulFreeTextDumper(StrDumper):
    """Replaces NUL in text parameters; stored text never contains it, because ingestion replaces it the same way."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd"))


class _IntegralNumericLoader(Loader):
    """Loads NUMERIC sums of integers as ints."""

    def load(self, data: Any) -> Any:
        text = bytes(data).decode()
        return float(text) if "." in text or not text.lstrip("-").isdigit() else int(text)


class PostgreSqlSession:
    """A pooled connection while one read or write uses it."""

    def __init__(self, backend: "PostgreSqlBackend", timeout_seconds: float | None) -> None:
        self._backend = backend
        idle = backend.pop_idle_connection()
        self._was_idle = idle is not None
        self._connection = idle or backend.open_connection()
        self._cursor = psycopg.RawCursor(self._connection)
        self._timeout_milliseconds = int((timeout_seconds or 0) * 1000)
        self._cancelled = False

    def fetch_rows(self, text: str, values: ParameterValues) -> list[tuple[Any, ...]]:
        """Runs a statement and returns all rows."""
        self.begin_snapshot()
        self._cursor.execute(text, values or None)
        return self._cursor.fetchall() if self._cursor.description else []

    def fetch_frame(self, text: str, values: ParameterValues) -> "pl.DataFrame":
        """Runs a statement and returns its result as a data frame."""
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        rows = self.fetch_rows(text, values)
        kinds: dict[int, Any] = {16: pl.Boolean, 20: pl.Int64, 701: pl.Float64, 1114: pl.Datetime("us")}
        schema = {c.name: kinds.get(c.type_code, pl.String) for c in self._cursor.description or ()}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Creates or replaces a temporary table of the transaction from a query."""
        self.fetch_rows(f"DROP TABLE IF EXISTS {name}", ())
        self.fetch_rows(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS {text}", values)
        if self._timeout_milliseconds and self._cursor.rowcount <= _ANALYZE_ROW_LIMIT:
            self.fetch_rows(f"ANALYZE {name}", ())

    def begin_snapshot(self) -> None:
        """Begins a repeatable-read transaction that lasts until the session is closed."""
        if self._connection.info.transaction_status is TransactionStatus.IDLE:
            self._begin_or_reconnect_stale_idle(
                f"BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = {self._timeout_milliseconds}"
            )

    def _begin_or_reconnect_stale_idle(self, text: str) -> None:
        """Begins a transaction; a connection that died while idle is replaced."""
        try:
            self._cursor.execute(text)
        except psycopg.OperationalError:
            if self._cancelled or not self._was_idle:
                raise
            self._connection.close()
            self._connection, self._was_idle = self._backend.open_connection(), False
            self._cursor = psycopg.RawCursor(self._connection)
            self._cursor.execute(text)

    @contextlib.contextmanager
    def exclusive_write_transaction(self) -> Iterator[None]:
        """Commits the writes of the block, or rolls all of them back when it fails; waits for other writers."""
        self._begin_or_reconnect_stale_idle("BEGIN")
        self._cursor.execute(_LOCK_WRITER)
        yield
        self._cursor.execute("COMMIT")

    def expose_frame_as_table(self, batch: "pl.DataFrame") -> None:
        """Makes a batch readable as the table ``batch``, through COPY."""
        dialect = self._backend.dialect
        self.fetch_rows(
            f"CREATE TEMP TABLE batch ({ddl.column_definitions(BATCH, dialect)}) ON COMMIT DROP", ()
        )
        rows = batch.write_csv(include_header=False, quote_style="non_numeric", null_value="")
        with self._cursor.copy("COPY batch FROM STDIN (FORMAT csv)") as copy:
            copy.write(rows)
        self.fetch_rows("ANALYZE batch", ())

    def cancel(self, *, disconnect: bool = False) -> None:
        """Cancels the running statement, or shuts down the socket of a server that does not respond."""
        self._cancelled = True
        try:
            if not disconnect:
                self._connection.cancel_safe(timeout=_CANCEL_SECONDS)
                return
        except psycopg.Error:
            pass  # the server does not even accept the cancel request
        with contextlib.suppress(psycopg.Error, OSError):
            connected = socket.socket(fileno=os.dup(self._connection.fileno()))
            with connected:
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Rolls back an open transaction and returns the connection; a cancelled connection is closed."""
        with contextlib.suppress(psycopg.Error):
            if not self._cancelled and self._connection.info.transaction_status is not TransactionStatus.IDLE:
                self._cursor.execute("ROLLBACK")
        self._backend.return_connection(self._connection, usable=not self._cancelled)


class PostgreSqlBackend:
    """A PostgreSQL database.

    Args:
        settings: the connection.
    """

    is_only_writer = False
    read_only_query = (
        "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean"
    )
    cancel_errors = (psycopg.errors.QueryCanceled,)
    driver_errors = (psycopg.Error,)
    writes = TransactionalWrites()

    def __init__(self, settings: PostgreSqlSettings) -> None:
        self.settings = settings
        self.dialect = PostgreSqlDialect()
        self._idle_connections: deque[psycopg.Connection[Any]] = deque()

    def has_tables_or_raise_unusable(self) -> bool:
        """Checks that the server accepts a connection; returns whether it has the tables of a store.

        Raises:
            StartupError: it does not.
        """
        try:
            with self.open_connection() as connection:
                cursor = psycopg.RawCursor(connection)
                return has_current_store(lambda text: cursor.execute(text).fetchall(), "current_schema()")
        except psycopg.Error as fault:
            raise StartupError(self.settings.connection_error_without_password(fault)) from fault

    def ping(self) -> bool:
        """Returns whether the server accepts or refuses a connection within ``connect_seconds``."""
        try:
            self.open_connection().close()
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:
            return True  # a stopped server refuses each connection by itself
        return True

    def open_and_create_missing_tables(self) -> None:
        """Creates missing tables, indexes and functions; of two processes that start together one waits.

        Raises:
            StartupError: the server cannot be reached, or rejects the statements.
        """
        schema = self.settings.schema_name
        try:
            with self.open_connection() as connection, connection.transaction():
                cursor = psycopg.RawCursor(connection)
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('touchpoint layout', 0))")
                row = cursor.execute(ddl.SELECT_COLLATION, [list(ddl.UNICODE_COLLATIONS)]).fetchone()
                unicode = row[0] if row else "default"
                require_new_store_or_current_version(
                    lambda text: cursor.execute(text).fetchall(), "current_schema()"
                )
                for text in ddl.create_if_missing_statements(schema, unicode, self.dialect):
                    cursor.execute(text)
        except psycopg.Error as fault:
            raise StartupError(self.settings.connection_error_without_password(fault)) from fault

    def open_connection(self) -> "psycopg.Connection[Any]":
        """Returns a new connection."""
        settings = self.settings
        connection = psycopg.connect(
            host=settings.host,
            port=settings.port or 5432,
            user=unquote(settings.user) if settings.user else None,
            password=unquote(settings.password) if settings.password else None,
            dbname=settings.database,
            sslmode=settings.sslmode,
            connect_timeout=settings.connect_seconds,
            tcp_user_timeout=settings.connect_seconds * 1000,
            **_KEEPALIVE_SETTINGS,
            application_name="touchpoint",
            options=f"{_SESSION_OPTIONS} -c work_mem={settings.work_mem} -c search_path={settings.schema_name}",
            autocommit=True,
            prepare_threshold=None,
        )
        connection.adapters.register_dumper(str, _NulFreeTextDumper)
        connection.adapters.register_loader("numeric", _IntegralNumericLoader)
        connection.adapters.register_loader("jsonb", TextLoader)
        return connection

    def pop_idle_connection(self) -> "psycopg.Connection[Any] | None":
        """Returns an idle connection, or None."""
        with contextlib.suppress(IndexError):
            return self._idle_connections.pop()
        return None

    def return_connection(self, connection: "psycopg.Connection[Any]", *, usable: bool) -> None:
        """Returns a connection to the pool; there are never more connections than threads."""
        if usable and not connection.broken:
            self._idle_connections.append(connection)
        else:
            connection.close()

    def open_session(self, timeout_seconds: float | None = None) -> PostgreSqlSession:
        """Returns a session whose statements the server cancels after the time budget."""
        return PostgreSqlSession(self, timeout_seconds)

    def run_maintenance(self, writer: StatementRunner) -> None:
        """Updates the planner statistics; the server vacuums by itself."""
        writer.execute_text(f"ANALYZE {', '.join(METADATA.tables)}")
        writer.execute_text("COMMIT")  # otherwise the statistics are rolled back

    def close(self) -> None:
        """Closes all idle connections."""
        while self._idle_connections:
            self._idle_connections.pop().close()
