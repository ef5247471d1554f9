"""Workspaces and keys in SQL: ``storage.workspace = "sqlite:///workspace.db"``."""

from collections.abc import Iterable

from plugins.workspace_sql.settings import SqliteSettings
from service_core.plugin import Adapter, Directory, Keeps, hook


def _open(settings: SqliteSettings) -> Directory:
    from plugins.workspace_sql.adapter import SqlDirectory
    from plugins.workspace_sql.database import Database

    return SqlDirectory(Database(settings))


@hook
def adapters() -> Iterable[Adapter]:
    """The embedded default."""
    return (
        Adapter(
            port="workspace",
            scheme="sqlite",
            open=_open,
            settings=SqliteSettings,
            summary="Workspaces and keys in one SQLite file, shared safely by the processes of a machine.",
            keeps=Keeps.SQLITE,
        ),
    )
