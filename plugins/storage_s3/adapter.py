"""Stores export files in a bucket: written to a temporary local file, then uploaded."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, BinaryIO, Final, cast
from urllib.parse import unquote

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from plugins.storage_s3.bucket_check import require_reachable_bucket
from plugins.storage_s3.settings import S3Settings
from service_core.plugin import ByteStreamOpener, ExportStorageUnavailable

MEDIA_TYPES: Final = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}


class S3Storage:
    """Implements the export storage with an S3-compatible object store.

    Such a store shows an object when all of it has arrived, so a file is there as a whole or not at all.
    """

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._store = S3Store(settings.bucket, **client_options_without_unset(settings))

    async def check(self) -> None:
        """Checks that the bucket can be reached; writes nothing.

        Raises:
            StartupError: it cannot.
        """
        await require_reachable_bucket(self._settings, client_options_without_unset(self._settings))

    @asynccontextmanager
    async def open_for_write(self, name: str, download_name: str) -> AsyncIterator[BinaryIO]:
        """Gives a file that is uploaded once the block ends without an error; a crash leaves nothing of it."""
        with tempfile.TemporaryFile() as file:
            yield cast(BinaryIO, file)
            file.flush()
            file.seek(0)
            shown = {
                "Content-Disposition": f'attachment; filename="{download_name}"',
                "Content-Type": MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream"),
                "Cache-Control": "no-store",
            }
            await asyncio.to_thread(obstore.put, self._store, name, file, attributes=cast(Any, shown))

    async def signed_url_if_supported(self, name: str, lifetime: timedelta) -> str:
        """Returns a link signed with the credentials of the service.

        Raises:
            ExportStorageUnavailable: there are no credentials to sign with at the moment.
        """
        try:
            return await obstore.sign_async(self._store, "GET", name, lifetime)
        except BaseError as fault:
            raise ExportStorageUnavailable from fault

    async def read(self, name: str) -> tuple[int, ByteStreamOpener] | None:
        """Returns size and content; None when there is no such file."""
        try:
            object_info = await obstore.head_async(self._store, name)
        except FileNotFoundError:
            return None
        return object_info["size"], lambda: self._read_chunks(name)

    async def delete(self, name: str) -> None:
        """Deletes the file."""
        try:
            await obstore.delete_async(self._store, name)
        except FileNotFoundError:
            return

    async def _read_chunks(self, name: str) -> AsyncGenerator[bytes, None]:
        object_content = await obstore.get_async(self._store, name)
        async for chunk in object_content.stream():
            yield bytes(chunk)


def client_options_without_unset(settings: S3Settings) -> dict[str, Any]:
    """Returns the options of the client library; key and secret come from the environment when not given."""
    path_style = settings.path_style if settings.path_style is not None else settings.endpoint is not None
    options = {
        "prefix": settings.prefix,
        "region": settings.region,
        "endpoint": settings.endpoint,
        "access_key_id": settings.user and unquote(settings.user),
        "secret_access_key": settings.password and unquote(settings.password),
        "virtual_hosted_style_request": not path_style,
        "client_options": {"allow_http": (settings.endpoint or "").startswith("http://")},
    }
    return {name: value for name, value in options.items() if value is not None}
