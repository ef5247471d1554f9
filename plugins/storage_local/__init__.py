"""Export files and the lake in folders: ``exports.storage = "local:///exports"``, ``lake.storage = "local:///lake"``."""

from collections.abc import Iterable

from plugins.storage_local.declaration import plugin_info as plugin_info
from plugins.storage_local.settings import LocalSettings
from service_core.plugin import Adapter, ExportStorage, LakeStorage, LocalDataKind, hook


def _open(settings: LocalSettings) -> ExportStorage:
    from plugins.storage_local.adapter import LocalStorage

    return LocalStorage(settings.folder)


def _open_lake(settings: LocalSettings) -> LakeStorage:
    from plugins.storage_local.lake import LocalLake

    return LocalLake(settings.folder)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default of exports, and the folder of a lake."""
    files = "Export files in a folder, served by signed links."
    return (
        Adapter("export_storage", "local", _open, LocalSettings, files, local_data=LocalDataKind.FOLDER),
        Adapter("lake", "local", _open_lake, LocalSettings, "Files of the lake in a folder."),
    )
