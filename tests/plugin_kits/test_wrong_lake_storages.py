"""Storages of a lake that are wrong in one thing, and the promise that catches each."""

import asyncio

import pytest

from service_core.testing.lake_storage import LakeStorageConformance
from tests.plugin_kits.wrong_plugin import WrongPlugin


class MemoryLake:
    """A right storage."""

    def __init__(self):
        self.files = {}

    async def write_file(self, path, content):
        self.files[path] = content

    async def read_file(self, path):
        return self.files.get(path)

    async def delete_file(self, path):
        self.files.pop(path, None)

    async def list_files(self, folder):
        return [path for path in self.files if path.startswith(f"{folder}/")]


class TestRightMemoryLake(LakeStorageConformance):
    """The right storage, whose wrong ones follow."""

    @pytest.fixture
    def lake(self):
        return MemoryLake()


class WrongLake(WrongPlugin, LakeStorageConformance):
    @pytest.fixture
    def lake(self):
        return self.Plugin()


class TestMissingFileIsEmpty(WrongLake, promise="written_file_is_read_and_replaced"):
    class Plugin(MemoryLake):
        async def read_file(self, path):
            return self.files.get(path, b"")


class TestFileIsAppended(WrongLake, promise="written_file_is_read_and_replaced"):
    class Plugin(MemoryLake):
        async def write_file(self, path, content):
            self.files[path] = self.files.get(path, b"") + content


class TestFirstFileStays(WrongLake, promise="written_file_is_read_and_replaced"):
    class Plugin(MemoryLake):
        async def write_file(self, path, content):
            self.files.setdefault(path, content)


class TestNamesThatBeginAlikeAreListed(WrongLake, promise="files_are_listed_by_folder"):
    class Plugin(MemoryLake):
        async def list_files(self, folder):
            return [path for path in self.files if path.startswith(folder)]


class TestFoldersOfAFolderAreNotListed(WrongLake, promise="files_are_listed_by_folder"):
    class Plugin(MemoryLake):
        async def list_files(self, folder):
            return [path for path in await super().list_files(folder) if path.count("/") == 1]


class TestPathsAreOfTheFolder(WrongLake, promise="files_are_listed_by_folder"):
    class Plugin(MemoryLake):
        async def list_files(self, folder):
            return [path.removeprefix(f"{folder}/") for path in await super().list_files(folder)]


class TestMissingFileCannotBeDeleted(
    WrongLake, promise="deleted_file_is_gone_and_deleting_it_again_is_no_error", raises=KeyError
):
    class Plugin(MemoryLake):
        async def delete_file(self, path):
            del self.files[path]


class TestDeletedFileIsListed(WrongLake, promise="deleted_file_is_gone_and_deleting_it_again_is_no_error"):
    class Plugin(MemoryLake):
        async def delete_file(self, path):
            self.files[path] = None


class TestHalfAFileIsRead(WrongLake, promise="file_is_visible_only_when_it_is_complete"):
    class Plugin(MemoryLake):
        async def write_file(self, path, content):
            self.files[path] = content[:1000]
            await asyncio.sleep(0)
            self.files[path] = content


class TestFileIsMissingWhileItIsReplaced(WrongLake, promise="file_is_visible_only_when_it_is_complete"):
    class Plugin(MemoryLake):
        async def write_file(self, path, content):
            self.files.pop(path, None)
            await asyncio.sleep(0)
            self.files[path] = content


class TestContentIsText(WrongLake, promise="any_bytes_are_stored_as_they_are", raises=UnicodeDecodeError):
    class Plugin(MemoryLake):
        async def write_file(self, path, content):
            self.files[path] = content.decode().encode()
