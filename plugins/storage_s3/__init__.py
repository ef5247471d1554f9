"""Export files in an S3-compatible object store: ``exports.storage = "s3://bucket/prefix"``."""

from collections.abc import Iterable

from plugins.storage_s3.settings import S3Settings
from service_core.plugin import Adapter, ExportStorage, StartupError, hook


def _open_storage_or_require_obstore(settings: S3Settings) -> ExportStorage:
    try:
        from plugins.storage_s3.adapter import S3Storage
    except ImportError:
        raise StartupError(
            "s3:// needs obstore. Install it with `pip install touchpoint-analytics[s3]`."
        ) from None

    return S3Storage(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for several machines."""
    summary = "Export files in a bucket of any S3-compatible store, which signs the links itself."
    return (Adapter("export_storage", "s3", _open_storage_or_require_obstore, S3Settings, summary),)
