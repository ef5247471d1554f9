"""The event store over SQL: DuckDB embedded, PostgreSQL for several processes, ClickHouse for many machines."""

from collections.abc import Iterable
from typing import Any

from plugins.events_sql.settings import ClickHouseSettings, DuckSettings, PostgresSettings
from service_core.plugin import Adapter, Keeps, hook

_DUCKDB = "Events in one DuckDB file: exact, fast, no server."
_POSTGRESQL = "Events in a PostgreSQL database: several processes share it."
_CLICKHOUSE = "Events in ClickHouse: one server, or a cluster of them."


@hook
def adapters() -> Iterable[Adapter]:
    """An embedded file, a database, or a cluster; the statements are the same."""
    return [
        Adapter("events", "duckdb", _open, DuckSettings, _DUCKDB, shared=False, keeps=Keeps.FILE),
        Adapter("events", "postgresql", _open, PostgresSettings, _POSTGRESQL),
        Adapter("events", "clickhouse", _open, ClickHouseSettings, _CLICKHOUSE),
    ]


def _open(settings: Any) -> object:
    from plugins.events_sql.adapter import opened

    return opened(settings)
