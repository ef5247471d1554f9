"""Opens the backend of the engine that the settings name."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from plugins.events_sql.execution.query_executor import Backend
from plugins.events_sql.settings import ClickHouseSettings, DuckDbSettings, PostgreSqlSettings, SqlSettings
from service_core.plugin import StartupError

_BACKEND_CLASSES: Final[Mapping[type[SqlSettings], tuple[str, str]]] = {
    DuckDbSettings: ("duckdb", "DuckDbBackend"),
    PostgreSqlSettings: ("postgresql", "PostgreSqlBackend"),
    ClickHouseSettings: ("clickhouse", "ClickHouseBackend"),
}
"""The package and the class of each engine's backend; importing the package loads the driver."""

_DRIVER_EXTRAS: Final[Mapping[str, str]] = {"psycopg": "postgres", "clickhouse_connect": "clickhouse"}
"""Module of a driver -> the extra of the distribution that installs it."""


def open_backend(settings: SqlSettings) -> Backend:
    """Returns the backend of the settings.

    Raises:
        StartupError: the driver of the engine is not installed.
    """
    package, name = _BACKEND_CLASSES[type(settings)]
    try:
        module = import_module(f"plugins.events_sql.dialects.{package}.backend")
    except ModuleNotFoundError as missing:
        extra = _DRIVER_EXTRAS.get(missing.name or "")
        if extra is None:
            raise
        raise StartupError(
            f"{package}:// needs {missing.name}. Install it with `pip install touchpoint-analytics[{extra}]`."
        ) from None
    backend: Backend = getattr(module, name)(settings)
    return backend
