"""Export files in a folder: ``exports.storage = "local:///exports"``."""

from collections.abc import Iterable

from plugins.storage_local.settings import LocalSettings
from service_core.plugin import Adapter, ExportStorage, LocalDataKind, hook


def _open(settings: LocalSettings) -> ExportStorage:
    from plugins.storage_local.adapter import LocalStorage

    return LocalStorage(settings.folder)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default."""
    return (
        Adapter(
            "export_storage",
            "local",
            _open,
            LocalSettings,
            "Export files in a folder, served by signed links.",
            local_data=LocalDataKind.FOLDER,
        ),
    )
