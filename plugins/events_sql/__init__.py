"""The event store over SQL: DuckDB embedded, one file, no server."""

from collections.abc import Iterable
from typing import Any

from plugins.events_sql.settings import DuckSettings
from service_core.plugin import Adapter, Keeps, hook


@hook
def adapters() -> Iterable[Adapter]:
    """``duckdb:///events.db``: one file beside the service, owned by one process."""
    return [
        Adapter(
            "events",
            "duckdb",
            _open,
            DuckSettings,
            "Events in one DuckDB file: exact, fast, no server.",
            shared=False,
            keeps=Keeps.FILE,
        ),
    ]


def _open(settings: Any) -> object:
    from plugins.events_sql.adapter import SqlEvents
    from plugins.events_sql.dialects.duckdb.backend import DuckDb

    return SqlEvents(DuckDb(settings))
