"""Workspaces and keys in SQL: ``storage.workspace = "sqlite:///workspace.db"`` or ``postgresql://…``."""

from collections.abc import Iterable

from plugins.workspace_sql.declaration import plugin_info as plugin_info
from plugins.workspace_sql.settings import PostgresSettings, SqliteSettings
from service_core.plugin import Adapter, LocalDataKind, WorkspaceStore, hook


def _open(settings: SqliteSettings | PostgresSettings) -> WorkspaceStore:
    from plugins.workspace_sql.adapter import open_store

    return open_store(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default, and the adapter for several machines."""
    sqlite_description = (
        "Workspaces and keys in one SQLite file, shared safely by the processes of a machine."
    )
    postgres_description = "Workspaces and keys in PostgreSQL, shared by the processes of several machines."
    return (
        Adapter(
            "workspace", "sqlite", _open, SqliteSettings, sqlite_description, local_data=LocalDataKind.SQLITE
        ),
        Adapter("workspace", "postgresql", _open, PostgresSettings, postgres_description),
    )
