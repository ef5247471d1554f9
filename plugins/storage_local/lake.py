"""Stores the files of a lake in a folder with folders."""

import asyncio
from pathlib import Path

from plugins.storage_local.adapter import DRAFT_SUFFIX, create_draft, discard_draft, sync_and_rename_draft
from service_core.plugin import create_private_folder, require_writable_paths_or_parents


class LocalLake:
    """Implements the storage of a lake on a local or shared file system.

    Args:
        folder: where the files lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def check(self) -> None:
        """Checks that the folder is writable or can be created.

        Raises:
            StartupError: it is not.
        """
        require_writable_paths_or_parents("lake.storage", self._folder)

    async def start(self) -> None:
        """Creates the folder, readable by the user of the service alone.

        Raises:
            StartupError: it cannot be created.
        """
        await self.check()
        await asyncio.to_thread(create_private_folder, self._folder)

    async def write_file(self, path: str, content: bytes) -> None:
        """Writes a draft, makes it durable, then renames it."""
        await asyncio.to_thread(_write_durably, self._path_inside(path), content)

    async def read_file(self, path: str) -> bytes | None:
        """Returns the content of a file; None if there is none."""
        try:
            return await asyncio.to_thread(self._path_inside(path).read_bytes)
        except FileNotFoundError:
            return None

    async def delete_file(self, path: str) -> None:
        """Deletes a file, and its folder when it was the last one."""
        await asyncio.to_thread(_delete_with_empty_folder, self._path_inside(path))

    async def list_files(self, folder: str) -> list[str]:
        """Returns the paths of all files in a folder and its folders, drafts of interrupted writes included."""
        found = await asyncio.to_thread(lambda: list(self._path_inside(folder).rglob("*")))
        return [path.relative_to(self._folder).as_posix() for path in found if path.is_file()]

    def _path_inside(self, path: str) -> Path:
        """Returns the place of a path.

        Raises:
            ValueError: the path would lead out of the folder.
        """
        parts = path.split("/")
        if any(not part or part.startswith(".") for part in parts):
            raise ValueError("a path has plain names")
        return self._folder.joinpath(*parts)


def _write_durably(place: Path, content: bytes) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = place.with_name(place.name + DRAFT_SUFFIX)
    file = create_draft(draft)
    try:
        file.write(content)
        sync_and_rename_draft(file, draft, place)
    except BaseException:
        discard_draft(file, draft)
        raise


def _delete_with_empty_folder(place: Path) -> None:
    place.unlink(missing_ok=True)
    try:
        place.parent.rmdir()
    except OSError:
        return  # other files are in it, or it is gone
