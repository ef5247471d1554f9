"""Stores export files in a folder: a draft is written, made durable, then renamed."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, Final

from service_core.plugin import ByteStreamOpener, create_private_folder, require_writable_paths_or_parents

CHUNK_BYTES: Final = 256 * 1024
DRAFT_SUFFIX: Final = ".part"


class LocalStorage:
    """Implements the export storage on a local or shared file system.

    Args:
        folder: where the files lie; only this service looks into it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def check(self) -> None:
        """Checks that the folder is writable or can be created.

        Raises:
            StartupError: they could not.
        """
        require_writable_paths_or_parents("exports.storage", self._folder)

    async def start(self) -> None:
        """Creates the folder, readable by the user of the service alone.

        Raises:
            StartupError: nothing could be put into it.
        """
        await self.check()
        await asyncio.to_thread(create_private_folder, self._folder)

    @asynccontextmanager
    async def open_for_write(self, name: str, download_name: str) -> AsyncIterator[BinaryIO]:  # noqa: ARG002 - downloads name it
        """Gives a file that is stored and durable once the block ends without an error."""
        place = self._file_path_or_reject_name(name)
        draft = place.with_name(place.name + DRAFT_SUFFIX)
        # A thread goes on when its caller is cancelled: a draft it creates by then has to be discarded, too.
        creation = asyncio.create_task(asyncio.to_thread(create_draft, draft))
        try:
            file = await asyncio.shield(creation)
            yield file
            await asyncio.to_thread(sync_and_rename_draft, file, draft, place)
        except BaseException:
            await asyncio.to_thread(discard_draft, await creation, draft)
            raise

    async def signed_url_if_supported(self, name: str, lifetime: timedelta) -> None:
        """Returns None: the service serves the files itself, by links it signs."""

    async def read(self, name: str) -> tuple[int, ByteStreamOpener] | None:
        """Returns size and content; None when there is no such file."""
        path = self._file_path_or_reject_name(name)
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
        except FileNotFoundError:
            return None
        return size, lambda: _read_chunks(path)

    async def delete(self, name: str) -> None:
        """Deletes the file and its draft."""
        place = self._file_path_or_reject_name(name)
        for path in (place, place.with_name(place.name + DRAFT_SUFFIX)):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    def _file_path_or_reject_name(self, name: str) -> Path:
        """Returns the path of a file.

        Raises:
            ValueError: the name would lead out of the folder.
        """
        if not name or Path(name).name != name or name.startswith("."):
            raise ValueError("a file has a plain name")
        return self._folder / name


def create_draft(draft: Path) -> BinaryIO:
    """Opens a new file that only the user of the service can read."""
    return os.fdopen(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb")


def sync_and_rename_draft(file: BinaryIO, draft: Path, target: Path) -> None:
    """Writes the bytes and the name of the file to disk."""
    file.flush()
    os.fsync(file.fileno())
    file.close()
    draft.rename(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def discard_draft(file: BinaryIO, draft: Path) -> None:
    """Removes a draft and closes it."""
    draft.unlink(missing_ok=True)
    try:
        file.close()
    except OSError:
        return  # what was left to write could not be written: it is thrown away anyway


async def _read_chunks(path: Path) -> AsyncGenerator[bytes, None]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
