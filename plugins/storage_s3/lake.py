"""Stores the files of a lake in a bucket."""

import obstore
from obstore.store import S3Store

from plugins.storage_s3.adapter import client_options_without_unset
from plugins.storage_s3.bucket_check import require_reachable_bucket
from plugins.storage_s3.settings import S3Settings


class S3Lake:
    """Implements the storage of a lake with an S3-compatible object store, which shows an object when all of it has arrived."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._store = S3Store(settings.bucket, **client_options_without_unset(settings))

    async def check(self) -> None:
        """Checks that the bucket can be reached; writes nothing.

        Raises:
            StartupError: it cannot.
        """
        await require_reachable_bucket(self._settings, client_options_without_unset(self._settings))

    async def write_file(self, path: str, content: bytes) -> None:
        """Uploads a file."""
        await obstore.put_async(self._store, path, content)

    async def read_file(self, path: str) -> bytes | None:
        """Returns the content of a file; None if there is none."""
        try:
            found = await obstore.get_async(self._store, path)
        except FileNotFoundError:
            return None
        return bytes(await found.bytes_async())

    async def delete_file(self, path: str) -> None:
        """Deletes a file."""
        try:
            await obstore.delete_async(self._store, path)
        except FileNotFoundError:
            return

    async def list_files(self, folder: str) -> list[str]:
        """Returns the paths of all files in a folder and its folders."""
        return [
            str(found["path"]) async for some in obstore.list(self._store, f"{folder}/") for found in some
        ]
