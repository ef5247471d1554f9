"""ClickHouse through its official client: a session of the server per question, questions bound there.

Sessions keep the tables of a question apart. A question past its budget is stopped by the server
itself, and killed when its caller went away.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote
from uuid import UUID, uuid4

import clickhouse_connect
import sqlalchemy as sa
import urllib3
from clickhouse_connect.driver.exceptions import ClickHouseError
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as Silence

from plugins.events_sql.dialects.clickhouse import append, ddl
from plugins.events_sql.dialects.clickhouse.compiler import (
    CREATE_TEMP_TABLE,
    STATEMENT_SEPARATOR,
    ClickHouseDialect,
    type_name,
)
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_templates import ParameterValues
from plugins.events_sql.settings import ClickHouseSettings
from service_core.plugin import Event, QueryTimeout, StartupError

if TYPE_CHECKING:
    import polars as pl

ConnectClient = Callable[[], Any]
"""A new client of the official library, for one session at a time."""

_STANDARD_SQL_SETTINGS: Final = {
    "final": 1,
    "do_not_merge_across_partitions_select_final": 1,
    "join_use_nulls": 1,
    "aggregate_functions_null_for_empty": 1,
    "cast_keep_nullable": 1,
    "union_default_mode": "DISTINCT",
    "prefer_column_name_to_alias": 1,
    "session_timezone": "UTC",
}
"""What makes an answer that of standard SQL, over the latest state of every row."""

_CLUSTER_SETTINGS: Final = {
    "prefer_global_in_and_join": 1,
    "distributed_product_mode": "global",
    "optimize_skip_unused_shards": 1,
    "distributed_foreground_insert": 1,
    "insert_quorum": "auto",
    "select_sequential_consistency": 1,
}
"""What makes a cluster answer as one server does, and remember what it acknowledged."""

_WRITE_TIMEOUT_SECONDS: Final = 300
"""How long a write, or a part of a file, may take."""

_TIMEOUT_MARGIN_SECONDS: Final = 10
"""By so much the server may miss the budget it was given."""

_CANCELLED_ERRORS: Final = ("code: 159", "code: 394", "timeout_exceeded", "query_was_cancelled")
_MIN_INSTANT: Final = datetime(1900, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it
_MAX_INSTANT: Final = datetime(2299, 12, 31)  # noqa: DTZ001 - likewise


class ClickHouseSession:
    """A pooled client while one question or write has it."""

    def __init__(self, backend: "ClickHouseBackend", timeout_seconds: float | None) -> None:
        self._backend = backend
        self.client = backend.borrow_client(
            timeout_seconds + _TIMEOUT_MARGIN_SECONDS if timeout_seconds else _WRITE_TIMEOUT_SECONDS
        )
        self._query_id = f"touchpoint-{uuid4()}"
        self._settings: dict[str, Any] = {"query_id": self._query_id}
        if timeout_seconds:
            self._settings["max_execution_time"] = timeout_seconds
        self._temp_tables: set[str] = set()
        self._cancelled = self._dropped = False

    def fetch_rows(self, text: str, values: ParameterValues) -> list[tuple[Any, ...]]:
        """Run a statement; every row of its answer."""
        return list(map(tuple, self._query(text, values).result_rows))

    def _query(self, text: str, values: ParameterValues) -> Any:
        bound, last = self._run_steps(text, values)
        with _raise_query_timeout():
            return self.client.query(last, parameters=bound, settings=self._settings)

    def _run_steps(self, text: str, values: ParameterValues) -> tuple[dict[str, Any], str]:
        """Values as they are bound, and the last statement of a text; the tables it reads are made."""
        bound, (*steps, last) = _server_values(values), text.split(STATEMENT_SEPARATOR)
        for step in steps:
            self._create_table(step.removeprefix(CREATE_TEMP_TABLE).partition(" ")[0], step, bound)
        return bound, last

    def _create_table(self, name: str, text: str, bound: Mapping[str, Any]) -> None:
        self._temp_tables.add(name)
        with _raise_query_timeout():
            # As a form: a command would carry its values in the address, which has an end.
            self.client.raw_query(text, parameters=bound, settings=self._settings)

    def fetch_frame(self, text: str, values: ParameterValues) -> "pl.DataFrame":
        """Run a statement; its answer as a data frame."""
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        found = self._query(text, values)
        kinds = {"Int64": pl.Int64, "Bool": pl.Boolean, "DateTime64": pl.Datetime("us")}
        types = [
            next((k for part, k in kinds.items() if part in t.name), pl.String) for t in found.column_types
        ]
        schema = dict(zip(found.column_names, types, strict=True))
        return pl.DataFrame(list(map(tuple, found.result_rows)), schema=schema, orient="row")

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Keep an answer as a table of the server's session."""
        bound, last = self._run_steps(text, values)
        self._create_table(name, f"{CREATE_TEMP_TABLE}{name} AS {last}", bound)

    def insert_temp_rows(self, table: sa.TableClause, rows: Sequence[Sequence[Any]]) -> None:
        """Keep rows as a table of the server's session."""
        columns = ", ".join(f"{c.name} {type_name(c.type)}" for c in table.columns)
        self._create_table(table.name, f"{CREATE_TEMP_TABLE}{table.name} ({columns})", {})
        types = [type_name(c.type) for c in table.columns]
        self._insert_rows(table.name, [c.name for c in table.columns], types, rows, {})

    def insert_block(self, table: sa.Table, rows: Sequence[Sequence[Any]], token: str) -> None:
        """Add rows in one block; one with a token that came before is left out."""
        names, types = [c.name for c in table.columns], [ddl.column_type(table, c) for c in table.columns]
        if table in ddl.DERIVED_TABLES:
            names, types = [*names, *ddl.VERSION_COLUMNS], [*types, *ddl.VERSION_COLUMNS.values()]
        self._insert_rows(
            table.name, names, types, rows, {"insert_deduplication_token": token} if token else {}
        )

    def _insert_rows(
        self,
        table: str,
        names: list[str],
        types: list[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any],
    ) -> None:
        if rows:
            told = {**self._settings, **settings}
            self.client.insert(table, rows, names, column_type_names=types, settings=told)

    def begin_snapshot(self) -> None:
        """Every statement sees the state of its own moment: there is nothing to hold."""

    def cancel(self) -> None:
        """Let the server end what runs now."""
        self._cancelled = True
        with contextlib.suppress(ClickHouseError, HTTPError):
            client = self._backend.borrow_client(self._backend.settings.connect_seconds)
            client.command(
                "KILL QUERY WHERE query_id = {name:String} ASYNC", parameters={"name": self._query_id}
            )
            self._backend.return_client(client)

    def drop_connection(self) -> None:
        """Say nothing more to the server; what waits for it ends soon after the budget."""
        self._cancelled = self._dropped = True

    def close(self) -> None:
        """Give the client back without the tables of the question; one that was stopped is closed."""
        try:
            if self._temp_tables and not self._dropped:
                self.client.command(f"DROP TEMPORARY TABLE IF EXISTS {', '.join(self._temp_tables)}")
        except (ClickHouseError, HTTPError):
            self._cancelled = True
        if self._cancelled:
            self.client.close()
        else:
            self._backend.return_client(self.client)


@contextlib.contextmanager
def _raise_query_timeout() -> Iterator[None]:
    """A statement that the server ended before it was done."""
    try:
        yield
    except ClickHouseError as fault:
        if any(sign in str(fault).lower() for sign in _CANCELLED_ERRORS):
            raise QueryTimeout from fault
        raise


def _server_values(values: ParameterValues) -> dict[str, Any]:
    """Values as the server reads them: instants with their microseconds, within what it can hold."""
    known = values if isinstance(values, Mapping) else {}
    return {name: _server_value(value) for name, value in known.items()}


def _server_value(value: Any) -> Any:
    match value:
        case datetime():
            return f"{min(max(value, _MIN_INSTANT), _MAX_INSTANT):%Y-%m-%d %H:%M:%S.%f}"
        case UUID():
            return str(value)
        case list():
            return [_server_value(one) for one in value]
        case _:
            return value


class ClickHouseBackend:
    """A server, or a cluster behind one.

    Args:
        settings: where it is.
        connect: makes a client; by default one that speaks HTTP with the server.
    """

    cancel_errors = ()
    driver_errors = (ClickHouseError, HTTPError, OSError)

    def __init__(self, settings: ClickHouseSettings, connect: ConnectClient | None = None) -> None:
        self.settings = settings
        self.dialect = ClickHouseDialect()
        self.client_settings = {**_STANDARD_SQL_SETTINGS, **(_CLUSTER_SETTINGS if settings.cluster else {})}
        self._connect = connect or self._connect_over_http
        self._idle_clients: deque[Any] = deque()

    def _connect_over_http(self) -> Any:
        told = self.settings
        return clickhouse_connect.get_client(
            host=told.host,
            port=told.port_number,
            username=unquote(told.user) if told.user else "default",
            password=unquote(told.password) if told.password else "",
            database=told.database,
            secure=told.secure,
            connect_timeout=told.connect_seconds,
            send_receive_timeout=told.connect_seconds,
            autogenerate_session_id=True,
            form_encode_query_params=True,
        )

    def reach(self) -> None:
        """Look whether the server answers.

        Raises:
            StartupError: it does not.
        """
        try:
            self._connect().close()
        except self.driver_errors as fault:
            raise StartupError(self.settings.connection_error_message(fault)) from fault

    def answers(self) -> bool:
        """Whether the server answers anything within ``connect_seconds``."""
        told = self.settings
        scheme = "https" if told.secure else "http"
        try:
            urllib3.request(
                "GET", f"{scheme}://{told.host}:{told.port_number}/ping",
                timeout=float(told.connect_seconds), retries=False,
            )  # fmt: skip
        except HTTPError as fault:  # one that is away, or refuses, tells it to each question by itself
            return isinstance(fault, NewConnectionError) or not isinstance(fault, Silence)
        return True

    def open(self) -> None:
        """Create what is missing.

        Raises:
            StartupError: the server cannot be reached, or refuses.
        """
        try:
            client = self.borrow_client(_WRITE_TIMEOUT_SECONDS)
            for text in ddl.ddl_statements(self.settings.cluster):
                client.command(text)
            self.return_client(client)
        except self.driver_errors as fault:
            raise StartupError(self.settings.connection_error_message(fault)) from fault

    def borrow_client(self, read_timeout: float) -> Any:
        """A client nobody else uses; it waits so many seconds for an answer."""
        try:
            client = self._idle_clients.pop()
        except IndexError:
            client = self._connect()
            for name, value in self.client_settings.items():
                client.set_client_setting(name, value)
        client.timeout = urllib3.Timeout(connect=self.settings.connect_seconds, read=read_timeout)
        return client

    def return_client(self, client: Any) -> None:
        """Take a client back; there are never more than threads that ask."""
        self._idle_clients.append(client)

    def session(self, timeout_seconds: float | None = None) -> ClickHouseSession:
        """A session whose statements the server itself stops at the budget."""
        return ClickHouseSession(self, timeout_seconds)

    def append(self, writer: StatementRunner, events: Sequence[Event]) -> int:
        """Store what is new of a batch, then bring up to date what follows from it."""
        return append.append(writer, events)

    def revoke(self, writer: StatementRunner, workspace_id: UUID, event_id: str) -> None:
        """Remove the links an event made."""
        append.revoke_links(writer, workspace_id, event_id)

    def renew(self, writer: StatementRunner) -> None:
        """Work out every derived row anew, if another version worked them out."""
        append.renew(writer)

    def rebuild(self, writer: StatementRunner) -> None:
        """Work out every derived row anew."""
        append.rebuild_derived_tables(writer)

    def maintain(self, writer: StatementRunner) -> None:
        """The server merges by itself."""

    def close(self) -> None:
        """Close every idle client; nothing runs any more."""
        while self._idle_clients:
            self._idle_clients.pop().close()
