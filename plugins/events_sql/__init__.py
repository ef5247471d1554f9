"""The event store over SQL: DuckDB embedded, PostgreSQL for several processes, ClickHouse for many machines."""

from collections.abc import Iterable
from typing import Any

from plugins.events_sql.settings import ClickHouseSettings, DuckSettings, PostgresSettings
from service_core.plugin import Adapter, Keeps, hook


@hook
def adapters() -> Iterable[Adapter]:
    """An embedded file, a database, or a cluster; the statements are the same."""
    return [
        Adapter(
            "events",
            "duckdb",
            _duckdb,
            DuckSettings,
            "Events in one DuckDB file: exact, fast, no server.",
            shared=False,
            keeps=Keeps.FILE,
        ),
        Adapter(
            "events",
            "postgresql",
            _postgresql,
            PostgresSettings,
            "Events in a PostgreSQL database: several processes share it.",
        ),
        Adapter(
            "events",
            "clickhouse",
            _clickhouse,
            ClickHouseSettings,
            "Events in ClickHouse: one server, or a cluster of them.",
        ),
    ]


def _duckdb(settings: Any) -> object:
    from plugins.events_sql.adapter import SqlEvents
    from plugins.events_sql.dialects.duckdb.backend import DuckDb

    return SqlEvents(DuckDb(settings))


def _postgresql(settings: Any) -> object:
    from plugins.events_sql.adapter import SqlEvents
    from plugins.events_sql.dialects.postgresql.backend import Postgres

    return SqlEvents(Postgres(settings))


def _clickhouse(settings: Any) -> object:
    from plugins.events_sql.adapter import SqlEvents
    from plugins.events_sql.dialects.clickhouse.backend import ClickHouse

    return SqlEvents(ClickHouse(settings))
