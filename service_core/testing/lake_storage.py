"""The conformance kit of the port ``lake``: the tests that every storage of a lake passes.

Override the fixture ``lake`` and inherit the tests; pytest needs ``asyncio_mode = "auto"``.
"""

import asyncio

import pytest

from service_core.delivery.lake.ports import LakeStorage

_PATH = "W1/events/date=2026-07-01/a.parquet"


class LakeStorageConformance:
    """All tests of the kit; override the fixture ``lake``."""

    @pytest.fixture
    def lake(self) -> LakeStorage:
        """Returns the adapter under test, without files."""
        raise pytest.UsageError("override the fixture `lake` with the adapter under test")

    async def test_written_file_is_read_and_replaced(self, lake: LakeStorage) -> None:
        """The last content of a path is read."""
        assert await lake.read_file(_PATH) is None
        for content in (b"1" * 2_000_000, b"2"):
            await lake.write_file(_PATH, content)
            assert await lake.read_file(_PATH) == content

    async def test_files_are_listed_by_folder(self, lake: LakeStorage) -> None:
        """All files of a folder and its folders are listed, and no file of a folder whose name only begins alike."""
        for path in (_PATH, "W1/manifest.json", "W10/manifest.json"):
            await lake.write_file(path, b"x")
        assert sorted(await lake.list_files("W1")) == [_PATH, "W1/manifest.json"]
        assert await lake.list_files("W2") == []

    async def test_deleted_file_is_gone_and_deleting_it_again_is_no_error(self, lake: LakeStorage) -> None:
        """A file that does not exist can be deleted."""
        await lake.write_file(_PATH, b"x")
        for _ in range(2):
            await lake.delete_file(_PATH)
            assert await lake.read_file(_PATH) is None
        assert await lake.list_files("W1") == []

    async def test_file_is_visible_only_when_it_is_complete(self, lake: LakeStorage) -> None:
        """A read during a write sees the file before it or the new one, and never a part."""
        old, new = b"1" * 500_000, b"2" * 2_000_000
        await lake.write_file(_PATH, old)
        writing = asyncio.create_task(lake.write_file(_PATH, new))
        while not writing.done():
            assert await lake.read_file(_PATH) in {old, new}
            await asyncio.sleep(0)
        await writing
        assert await lake.read_file(_PATH) == new

    async def test_any_bytes_are_stored_as_they_are(self, lake: LakeStorage) -> None:
        """The content is any bytes, an empty file included."""
        for content in (b"", bytes(range(256)), b"\r\n\xff\x00"):
            await lake.write_file(_PATH, content)
            assert await lake.read_file(_PATH) == content
        assert await lake.list_files("W1") == [_PATH]
