"""Export files in a folder: ``exports.storage = "local:///exports"``."""

from collections.abc import Iterable

from plugins.sink_local.settings import LocalSettings
from service_core.plugin import Adapter, ExportStorage, LocalDataKind, hook


def _open(settings: LocalSettings) -> ExportStorage:
    from plugins.sink_local.adapter import LocalSink

    return LocalSink(settings.folder)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default."""
    return (
        Adapter(
            "sink",
            "local",
            _open,
            LocalSettings,
            "Export files in a folder, served by signed links.",
            local_data=LocalDataKind.FOLDER,
        ),
    )
