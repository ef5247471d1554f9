"""PostgreSQL through psycopg: a transaction per question, appends through COPY, one at a time.

Readers and writers of other processes share the database. An append takes an advisory lock, so that
of two processes one numbers the visitors of its batch after the other; readers never wait for it.
"""

import contextlib
import os
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote
from uuid import UUID

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumper, TextLoader

from plugins.events_sql import writing
from plugins.events_sql.dialects.postgresql import layout
from plugins.events_sql.dialects.postgresql.spelling import PostgresDialect
from plugins.events_sql.engine import Reader
from plugins.events_sql.settings import PostgresSettings
from plugins.events_sql.tables import BATCH, META
from plugins.events_sql.templates import Values
from service_core.plugin import Event, StartupError

if TYPE_CHECKING:
    import polars as pl

_ONE_WRITER: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended('touchpoint events ' || current_schema(), 0))"
)
_CANCEL_SECONDS: Final = 1.0
_FEW: Final = 1000
"""Rows of a table kept for a question with a budget that the planner is told of: it takes them for thousands."""
_ALIVE: Final[Mapping[str, Any]] = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A machine that is gone is noticed within a minute, also by a write or a file that takes all its time."""
_SESSION: Final = (
    "-c jit=off -c enable_material=off -c random_page_cost=2 -c timezone=UTC -c client_min_messages=warning"
)
"""Compiling the long statements to machine code takes longer than running them. The planner takes what a
statement has worked out for a few rows; kept in memory, these seem cheap to go through for every other row,
and tens of thousands then meet tens of thousands. Unless they are kept it hashes them, and looks through
indexes as before. At the server's own cost of a page, of disks that turn, it would read whole rows of a long
range, and not the index that holds what most questions ask for (`layout`)."""


class _Text(StrDumper):
    """No text of the store holds NUL, which ingest replaces; what is asked for is changed alike."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd"))


class _Whole(Loader):
    """Sums of whole numbers come as NUMERIC: whole they stay."""

    def load(self, data: Any) -> Any:
        text = bytes(data).decode()
        return float(text) if "." in text or not text.lstrip("-").isdigit() else int(text)


class PostgresSession:
    """A pooled connection while one question or write has it."""

    def __init__(self, backend: "Postgres", budget: float | None) -> None:
        self._backend = backend
        idle = backend.idle()
        self._was_idle = idle is not None
        self._connection = idle or backend.connect()
        self._cursor = psycopg.RawCursor(self._connection)
        self._milliseconds = int((budget or 0) * 1000)
        self._stopped = False

    def rows(self, text: str, values: Values) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer."""
        self.hold()
        self._cursor.execute(text, values or None)
        return self._cursor.fetchall() if self._cursor.description else []

    def frame(self, text: str, values: Values) -> "pl.DataFrame":
        """Run a statement; its answer as a data frame."""
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        found = self.rows(text, values)
        kinds: dict[int, Any] = {16: pl.Boolean, 20: pl.Int64, 701: pl.Float64, 1114: pl.Datetime("us")}
        schema = {c.name: kinds.get(c.type_code, pl.String) for c in self._cursor.description or ()}
        return pl.DataFrame(found, schema=schema, orient="row")

    def keep(self, name: str, text: str, values: Values) -> None:
        """Keep an answer as a temporary table of the transaction."""
        self.rows(f"DROP TABLE IF EXISTS {name}", ())
        self.rows(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS {text}", values)
        if self._milliseconds and self._cursor.rowcount <= _FEW:
            self.rows(f"ANALYZE {name}", ())

    def hold(self) -> None:
        """See one state until the session is closed."""
        if self._connection.info.transaction_status is TransactionStatus.IDLE:
            self._begin(
                f"BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = {self._milliseconds}"
            )

    def _begin(self, text: str) -> None:
        """Begin a transaction; a connection that died while it was idle is replaced."""
        try:
            self._cursor.execute(text)
        except psycopg.OperationalError:
            if self._stopped or not self._was_idle:
                raise
            self._connection.close()
            self._connection, self._was_idle = self._backend.connect(), False
            self._cursor = psycopg.RawCursor(self._connection)
            self._cursor.execute(text)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block wrote, or nothing of it when it fails; after every other writer."""
        self._begin("BEGIN")
        self._cursor.execute(_ONE_WRITER)
        yield
        self._cursor.execute("COMMIT")

    def load(self, events: Sequence[Event]) -> None:
        """Make a batch readable, through COPY."""
        from plugins.events_sql.batches import columns  # noqa: PLC0415 - loads the data frame library

        dialect = self._backend.dialect
        self.rows(f"CREATE TEMP TABLE batch ({layout.columns(BATCH, dialect)}) ON COMMIT DROP", ())
        rows = columns(events).write_csv(include_header=False, quote_style="non_numeric", null_value="")
        with self._cursor.copy("COPY batch FROM STDIN (FORMAT csv)") as copy:
            copy.write(rows)
        self.rows("ANALYZE batch", ())

    def stop(self) -> None:
        """Cancel what runs now; a server that does not even hear that loses the connection."""
        self._stopped = True
        try:
            self._connection.cancel_safe(timeout=_CANCEL_SECONDS)
        except psycopg.Error:
            self.abandon()

    def abandon(self) -> None:
        """Cut the connection, so that nobody waits for it."""
        self._stopped = True
        with contextlib.suppress(psycopg.Error, OSError):
            connected = socket.socket(fileno=os.dup(self._connection.fileno()))
            with connected:
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Roll back what is open and give the connection back; one that was stopped is closed."""
        with contextlib.suppress(psycopg.Error):
            if not self._stopped and self._connection.info.transaction_status is not TransactionStatus.IDLE:
                self._cursor.execute("ROLLBACK")
        self._backend.give(self._connection, usable=not self._stopped)


class Postgres:
    """A database on a server.

    Args:
        settings: where it is.
    """

    stopped = (psycopg.errors.QueryCanceled,)
    faults = (psycopg.Error,)

    def __init__(self, settings: PostgresSettings) -> None:
        self.settings = settings
        self.dialect = PostgresDialect()
        self._idle: deque[psycopg.Connection[Any]] = deque()

    def reach(self) -> None:
        """Look whether the server answers.

        Raises:
            StartupError: it does not.
        """
        try:
            self.connect().close()
        except psycopg.Error as fault:
            raise StartupError(self.settings.complaint(fault)) from fault

    def answers(self) -> bool:
        """Whether the server takes another connection, or refuses it, within ``connect_seconds``."""
        try:
            self.connect().close()
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:
            return True  # one that is away tells it to each connection by itself
        return True

    def open(self) -> None:
        """Create what is missing; of two processes that start together one waits.

        Raises:
            StartupError: the server cannot be reached, or refuses.
        """
        schema = self.settings.schema_name
        try:
            with self.connect() as connection, connection.transaction():
                cursor = psycopg.RawCursor(connection)
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('touchpoint layout', 0))")
                found = cursor.execute(layout.FIND_UNICODE, [list(layout.UNICODE)]).fetchone()
                unicode = found[0] if found else "default"
                for text in layout.statements(schema, unicode, self.dialect):
                    cursor.execute(text)
        except psycopg.Error as fault:
            raise StartupError(self.settings.complaint(fault)) from fault

    def connect(self) -> "psycopg.Connection[Any]":
        """A new connection."""
        told = self.settings
        connection = psycopg.connect(
            host=told.host,
            port=told.port or 5432,
            user=unquote(told.user) if told.user else None,
            password=unquote(told.password) if told.password else None,
            dbname=told.database,
            sslmode=told.sslmode,
            connect_timeout=told.connect_seconds,
            tcp_user_timeout=told.connect_seconds * 1000,
            **_ALIVE,
            application_name="touchpoint",
            options=f"{_SESSION} -c work_mem={told.work_mem} -c search_path={told.schema_name}",
            autocommit=True,
            prepare_threshold=None,
        )
        connection.adapters.register_dumper(str, _Text)
        connection.adapters.register_loader("numeric", _Whole)
        connection.adapters.register_loader("jsonb", TextLoader)
        return connection

    def idle(self) -> "psycopg.Connection[Any] | None":
        """A connection that was used before and that nobody uses now."""
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return None

    def give(self, connection: "psycopg.Connection[Any]", *, usable: bool) -> None:
        """Take a connection back; there are never more than threads that ask."""
        if usable and not connection.broken:
            self._idle.append(connection)
        else:
            connection.close()

    def session(self, budget: float | None = None) -> PostgresSession:
        """A session whose statements the server itself stops at the budget."""
        return PostgresSession(self, budget)

    def append(self, writer: Reader, events: Sequence[Event]) -> int:
        """Store what is new of a batch."""
        return writing.append(writer, events)

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
        """Tell the planner what the tables hold; the server sweeps by itself."""
        writer.text(f"ANALYZE {', '.join(META.tables)}")
        writer.text("COMMIT")  # else what it found is rolled back, and the server takes it for told

    def close(self) -> None:
        """Close every idle connection; nothing runs any more."""
        while self._idle:
            self._idle.pop().close()
