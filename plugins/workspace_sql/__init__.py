"""Workspaces and keys in SQL: ``storage.workspace = "sqlite:///workspace.db"`` or ``postgresql://…``."""

from collections.abc import Iterable
from importlib.util import find_spec

from plugins.workspace_sql.settings import PostgresSettings, SqliteSettings
from service_core.plugin import Adapter, Directory, Keeps, StartupError, hook


def _file(settings: SqliteSettings) -> Directory:
    from plugins.workspace_sql.adapter import SqlDirectory
    from plugins.workspace_sql.sqlite import SqliteDatabase

    return SqlDirectory(SqliteDatabase(settings))


def _server(settings: PostgresSettings) -> Directory:
    if find_spec("psycopg") is None:
        raise StartupError("postgresql:// needs psycopg. Install it with `pip install touchpoint[postgres]`.")
    from plugins.workspace_sql.adapter import SqlDirectory
    from plugins.workspace_sql.postgresql import PostgresDatabase

    return SqlDirectory(PostgresDatabase(settings))


@hook
def adapters() -> Iterable[Adapter]:
    """The embedded default, and a server for several machines."""
    one = "Workspaces and keys in one SQLite file, shared safely by the processes of a machine."
    many = "Workspaces and keys in PostgreSQL, shared by the processes of several machines."
    return (
        Adapter("workspace", "sqlite", _file, SqliteSettings, one, keeps=Keeps.SQLITE),
        Adapter("workspace", "postgresql", _server, PostgresSettings, many),
    )
