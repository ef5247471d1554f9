"""The SQL event store: DuckDB embedded, PostgreSQL for several processes, ClickHouse for clusters."""

from collections.abc import Iterable
from typing import Any

from plugins.events_sql.batch_encoding import encode_batch
from plugins.events_sql.declaration import plugin_info as plugin_info
from plugins.events_sql.settings import ClickHouseSettings, DuckDbSettings, PostgreSqlSettings
from service_core.plugin import Adapter, LocalDataKind, hook

_FILE = LocalDataKind.FILE
_DUCKDB = "Events in one DuckDB file: exact, fast, no server."
_POSTGRESQL = "Events in a PostgreSQL database: several processes share it."


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapters of the events port; they share all read statements."""
    return [
        Adapter("events", "duckdb", _open, DuckDbSettings, _DUCKDB, False, _FILE, encode_batch),
        Adapter("events", "duckdb-memory", _open, DuckDbSettings, "Events in memory.", False),
        Adapter("events", "postgresql", _open, PostgreSqlSettings, _POSTGRESQL, encode_batch=encode_batch),
        Adapter("events", "clickhouse", _open, ClickHouseSettings, "Events in ClickHouse."),
    ]


def _open(settings: Any) -> object:
    from plugins.events_sql.adapter import open_store

    return open_store(settings)
