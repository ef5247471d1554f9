"""Export files and the lake in an S3-compatible object store: ``exports.storage = "s3://bucket/prefix"``."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from plugins.storage_s3.declaration import plugin_info as plugin_info
from plugins.storage_s3.settings import S3Settings
from service_core.plugin import Adapter, StartupError, hook


def _adapter_opener(module: str, name: str) -> Callable[[S3Settings], Any]:
    def open_or_require_obstore(settings: S3Settings) -> Any:
        try:
            return getattr(import_module(f"plugins.storage_s3.{module}"), name)(settings)
        except ImportError:
            raise StartupError("s3:// needs obstore: `pip install touchpoint-analytics[s3]`.") from None

    return open_or_require_obstore


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapters for several machines."""
    files = "Export files in a bucket of any S3-compatible store, which signs the links itself."
    lake = "Files of the lake in a bucket."
    return (
        Adapter("export_storage", "s3", _adapter_opener("adapter", "S3Storage"), S3Settings, files),
        Adapter("lake", "s3", _adapter_opener("lake", "S3Lake"), S3Settings, lake),
    )
