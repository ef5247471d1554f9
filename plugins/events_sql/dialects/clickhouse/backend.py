"""ClickHouse through its official client: one server session per read, parameters bound by the server.

Server sessions keep the temporary tables of reads apart. The server cancels a read that exceeds its time
budget; a read whose caller went away is killed.
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

from plugins.events_sql.dialects.clickhouse import ddl
from plugins.events_sql.dialects.clickhouse.append import ReplacingWrites
from plugins.events_sql.dialects.clickhouse.compiler import (
    CREATE_TEMP_TABLE,
    STATEMENT_SEPARATOR,
    ClickHouseDialect,
    type_name,
)
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_templates import ParameterValues
from plugins.events_sql.schema.store_version import has_current_store, require_new_store_or_current_version
from plugins.events_sql.settings import ClickHouseSettings
from service_core.plugin import QueryTimeout, StartupError

if TYPE_CHECKING:
    import polars as pl

ConnectClient = Callable[[], Any]
"""Returns a new client of the official library, used by one session at a time."""

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
"""Settings that give standard SQL results over the latest version of each row."""

_CLUSTER_SETTINGS: Final = {
    "prefer_global_in_and_join": 1,
    "distributed_product_mode": "global",
    "optimize_skip_unused_shards": 1,
    "distributed_foreground_insert": 1,
    "insert_quorum": "auto",
    "select_sequential_consistency": 1,
}
"""Settings that make a cluster answer like one server, and read its own acknowledged writes."""

_WRITE_TIMEOUT_SECONDS: Final = 300
"""Timeout of a write, or of a piece of an export."""

_TIMEOUT_MARGIN_SECONDS: Final = 10
"""Time the client waits for the server beyond the time budget."""

_CANCELLED_ERRORS: Final = ("code: 159", "code: 394", "timeout_exceeded", "query_was_cancelled")
_MIN_INSTANT: Final = datetime(1900, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it
_MAX_INSTANT: Final = datetime(2299, 12, 31)  # noqa: DTZ001 - likewise


class ClickHouseSession:
    """A pooled client while one read or write uses it."""

    def __init__(self, backend: "ClickHouseBackend", timeout_seconds: float | None) -> None:
        self._backend = backend
        self.client = backend.borrow_or_create_client(
            timeout_seconds + _TIMEOUT_MARGIN_SECONDS if timeout_seconds else _WRITE_TIMEOUT_SECONDS
        )
        self._query_id = f"touchpoint-{uuid4()}"
        self._settings: dict[str, Any] = {"query_id": self._query_id}
        if timeout_seconds:
            self._settings["max_execution_time"] = timeout_seconds
        self._temp_tables: set[str] = set()
        self._cancelled = self._dropped = False

    def fetch_rows(self, text: str, values: ParameterValues) -> list[tuple[Any, ...]]:
        """Runs a statement and returns all rows."""
        return list(map(tuple, self._query(text, values).result_rows))

    def _query(self, text: str, values: ParameterValues) -> Any:
        bound, last = self._run_all_but_last_statement(text, values)
        with _cancelled_as_query_timeout():
            return self.client.query(last, parameters=bound, settings=self._settings)

    def _run_all_but_last_statement(self, text: str, values: ParameterValues) -> tuple[dict[str, Any], str]:
        """Runs all statements of a text except the last; returns the bound values and the last statement."""
        bound, (*steps, last) = _named_server_values(values), text.split(STATEMENT_SEPARATOR)
        for step in steps:
            self._create_and_remember_temp_table(
                step.removeprefix(CREATE_TEMP_TABLE).partition(" ")[0], step, bound
            )
        return bound, last

    def _create_and_remember_temp_table(self, name: str, text: str, bound: Mapping[str, Any]) -> None:
        self._temp_tables.add(name)
        with _cancelled_as_query_timeout():
            # In the request body: a command would send the values in the URL, whose length is limited.
            self.client.raw_query(text, parameters=bound, settings=self._settings)

    def fetch_frame(self, text: str, values: ParameterValues) -> "pl.DataFrame":
        """Runs a statement and returns its result as a data frame."""
        import polars as pl  # noqa: PLC0415 - only files are written from frames

        result = self._query(text, values)
        kinds = {"Int64": pl.Int64, "Bool": pl.Boolean, "DateTime64": pl.Datetime("us")}
        types = [
            next((k for part, k in kinds.items() if part in t.name), pl.String) for t in result.column_types
        ]
        schema = dict(zip(result.column_names, types, strict=True))
        return pl.DataFrame(list(map(tuple, result.result_rows)), schema=schema, orient="row")

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Creates or replaces a temporary table of the server session from a query."""
        bound, last = self._run_all_but_last_statement(text, values)
        self._create_and_remember_temp_table(name, f"{CREATE_TEMP_TABLE}{name} AS {last}", bound)

    def create_temp_table_from_rows(self, table: sa.TableClause, rows: Sequence[Sequence[Any]]) -> None:
        """Creates or replaces a temporary table of the server session from rows."""
        columns = ", ".join(f"{c.name} {type_name(c.type)}" for c in table.columns)
        self._create_and_remember_temp_table(table.name, f"{CREATE_TEMP_TABLE}{table.name} ({columns})", {})
        types = [type_name(c.type) for c in table.columns]
        self._insert_rows_if_any(table.name, [c.name for c in table.columns], types, rows, {})

    def insert_block_once_per_token(self, table: sa.Table, rows: Sequence[Sequence[Any]], token: str) -> None:
        """Inserts rows in one block; a block whose token was inserted before is ignored."""
        names, types = (
            [c.name for c in table.columns],
            [ddl.clickhouse_column_type(table, c) for c in table.columns],
        )
        if table in ddl.DERIVED_TABLES:
            names, types = [*names, *ddl.VERSION_COLUMNS], [*types, *ddl.VERSION_COLUMNS.values()]
        self._insert_rows_if_any(
            table.name, names, types, rows, {"insert_deduplication_token": token} if token else {}
        )

    def _insert_rows_if_any(
        self,
        table: str,
        names: list[str],
        types: list[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any],
    ) -> None:
        if rows:
            all_settings = {**self._settings, **settings}
            self.client.insert(table, rows, names, column_type_names=types, settings=all_settings)

    def begin_snapshot(self) -> None:
        """Does nothing: each statement sees the state at its own start."""

    def cancel(self, *, disconnect: bool = False) -> None:
        """Kills the running statement on the server, or sends nothing more to a server that does not respond."""
        self._cancelled = True
        self._dropped = self._dropped or disconnect
        if disconnect:
            return  # waiting statements end soon after the time budget
        with contextlib.suppress(ClickHouseError, HTTPError):
            client = self._backend.borrow_or_create_client(self._backend.settings.connect_seconds)
            client.command(
                "KILL QUERY WHERE query_id = {name:String} ASYNC", parameters={"name": self._query_id}
            )
            self._backend.return_client(client)

    def close(self) -> None:
        """Drops the temporary tables and returns the client; a cancelled client is closed."""
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
def _cancelled_as_query_timeout() -> Iterator[None]:
    """Raises QueryTimeout for a statement that the server cancelled."""
    try:
        yield
    except ClickHouseError as fault:
        if any(sign in str(fault).lower() for sign in _CANCELLED_ERRORS):
            raise QueryTimeout from fault
        raise


def _named_server_values(values: ParameterValues) -> dict[str, Any]:
    """Returns parameter values as the server parses them: timestamps with microseconds, within its range."""
    named_values = values if isinstance(values, Mapping) else {}
    return {name: _clamp_and_format_for_server(value) for name, value in named_values.items()}


def _clamp_and_format_for_server(value: Any) -> Any:
    match value:
        case datetime():
            return f"{min(max(value, _MIN_INSTANT), _MAX_INSTANT):%Y-%m-%d %H:%M:%S.%f}"
        case UUID():
            return str(value)
        case list():
            return [_clamp_and_format_for_server(item) for item in value]
        case _:
            return value


class ClickHouseBackend:
    """A server, or a cluster behind one.

    Args:
        settings: the connection.
        connect: creates a client; by default one that uses HTTP.
    """

    is_only_writer = False
    read_only_query = ""
    cancel_errors = ()
    driver_errors = (ClickHouseError, HTTPError, OSError)

    def __init__(self, settings: ClickHouseSettings, connect: ConnectClient | None = None) -> None:
        self.settings = settings
        self.writes = ReplacingWrites(settings.cluster)
        self.dialect = ClickHouseDialect()
        self.client_settings = {**_STANDARD_SQL_SETTINGS, **(_CLUSTER_SETTINGS if settings.cluster else {})}
        self._connect = connect or self._connect_over_http
        self._idle_clients: deque[Any] = deque()

    def _connect_over_http(self) -> Any:
        settings = self.settings
        return clickhouse_connect.get_client(
            host=settings.host,
            port=settings.port_number,
            username=unquote(settings.user) if settings.user else "default",
            password=unquote(settings.password) if settings.password else "",
            database=settings.database,
            secure=settings.secure,
            connect_timeout=settings.connect_seconds,
            send_receive_timeout=settings.connect_seconds,
            autogenerate_session_id=True,
            form_encode_query_params=True,
        )

    def has_tables_or_raise_unusable(self) -> bool:
        """Checks that the server responds; returns whether it has the tables of a store.

        Raises:
            StartupError: it does not.
        """
        try:
            client = self._connect()
            try:
                return has_current_store(lambda text: client.query(text).result_rows, "currentDatabase()")
            finally:
                client.close()
        except self.driver_errors as fault:
            raise StartupError(self.settings.connection_error_without_password(fault)) from fault

    def ping(self) -> bool:
        """Returns whether the server responds at all within ``connect_seconds``."""
        settings = self.settings
        scheme = "https" if settings.secure else "http"
        try:
            urllib3.request(
                "GET", f"{scheme}://{settings.host}:{settings.port_number}/ping",
                timeout=float(settings.connect_seconds), retries=False,
            )  # fmt: skip
        except HTTPError as fault:  # a refused connection fails each statement by itself
            return isinstance(fault, NewConnectionError) or not isinstance(fault, Silence)
        return True

    def open_and_create_missing_tables(self) -> None:
        """Creates missing tables.

        Raises:
            StartupError: the server cannot be reached, or rejects the statements.
        """
        try:
            client = self.borrow_or_create_client(_WRITE_TIMEOUT_SECONDS)
            try:
                require_new_store_or_current_version(
                    lambda text: client.query(text).result_rows, "currentDatabase()"
                )
                for text in ddl.create_if_missing_statements(self.settings.cluster):
                    client.command(text)
            finally:
                self.return_client(client)
        except self.driver_errors as fault:
            raise StartupError(self.settings.connection_error_without_password(fault)) from fault

    def borrow_or_create_client(self, read_timeout_seconds: float) -> Any:
        """Returns an unused client with a read timeout in seconds."""
        try:
            client = self._idle_clients.pop()
        except IndexError:
            client = self._connect()
            for name, value in self.client_settings.items():
                client.set_client_setting(name, value)
        client.timeout = urllib3.Timeout(connect=self.settings.connect_seconds, read=read_timeout_seconds)
        return client

    def return_client(self, client: Any) -> None:
        """Returns a client to the pool; there are never more clients than threads."""
        self._idle_clients.append(client)

    def open_session(self, timeout_seconds: float | None = None) -> ClickHouseSession:
        """Returns a session whose statements the server cancels after the time budget."""
        return ClickHouseSession(self, timeout_seconds)

    def run_maintenance(self, writer: StatementRunner) -> None:
        """Does nothing: the server merges parts by itself."""

    def close(self) -> None:
        """Closes all idle clients."""
        while self._idle_clients:
            self._idle_clients.pop().close()
