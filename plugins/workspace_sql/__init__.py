"""Workspaces and keys in SQL: ``storage.workspace = "sqlite:///workspace.db"`` or ``postgresql://…``."""

from collections.abc import Iterable

from plugins.workspace_sql.settings import PostgresSettings, SqliteSettings
from service_core.plugin import Adapter, Directory, Keeps, hook


def _open(settings: SqliteSettings | PostgresSettings) -> Directory:
    from plugins.workspace_sql.adapter import directory_in

    return directory_in(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """The embedded default, and a server for several machines."""
    one = "Workspaces and keys in one SQLite file, shared safely by the processes of a machine."
    many = "Workspaces and keys in PostgreSQL, shared by the processes of several machines."
    return (
        Adapter("workspace", "sqlite", _open, SqliteSettings, one, keeps=Keeps.SQLITE),
        Adapter("workspace", "postgresql", _open, PostgresSettings, many),
    )
