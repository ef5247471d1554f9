"""The conformance kit of the port ``export_storage``: the tests that every file storage passes.

Override the fixture ``storage`` and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyStorage(ExportStorageConformance):
        @pytest.fixture
        async def storage(self):
            return open_my_storage()
"""

from contextlib import suppress
from datetime import timedelta
from typing import Final

import pytest

from service_core.delivery.exports.ports import ExportStorage, ExportStorageUnavailable

NAME: Final = "export-1.csv"
CONTENT: Final = b"day,visitors\n2026-07-01,7\n" * 50_000
"""More than a megabyte, so that it does not fit one chunk."""


class ExportStorageConformance:
    """All tests of the kit; override the fixture ``storage``."""

    @pytest.fixture
    def storage(self) -> ExportStorage:
        """Returns the adapter under test, without files."""
        raise pytest.UsageError("override the fixture `storage` with the adapter under test")

    async def test_written_file_is_read_with_its_size(self, storage: ExportStorage) -> None:
        """Every byte comes back, twice as well as once."""
        await _write(storage, CONTENT)
        for _ in range(2):
            assert await _read(storage) == (len(CONTENT), CONTENT)

    async def test_file_is_not_visible_before_it_is_complete(self, storage: ExportStorage) -> None:
        """While a file is written there is none of its name."""
        async with storage.open_for_write(NAME, "visitors.csv") as file:
            file.write(CONTENT)
            assert await storage.read(NAME) is None
        assert await storage.read(NAME) is not None

    async def test_failed_write_leaves_nothing(self, storage: ExportStorage) -> None:
        """When the block raises, no file is stored, and the error is passed on."""
        with pytest.raises(RuntimeError, match="cancelled"):
            await _write_and_fail(storage)
        assert await storage.read(NAME) is None

    async def test_file_is_replaced_by_a_later_one(self, storage: ExportStorage) -> None:
        """A repeated write replaces the content."""
        await _write(storage, CONTENT)
        await _write(storage, b"day,visitors\n")
        assert await _read(storage) == (13, b"day,visitors\n")

    async def test_deleted_file_is_gone_and_deleting_it_again_is_no_error(
        self, storage: ExportStorage
    ) -> None:
        """A file that does not exist can be deleted."""
        await _write(storage, CONTENT)
        for _ in range(2):
            await storage.delete(NAME)
            assert await storage.read(NAME) is None

    @pytest.mark.parametrize("name", ["../export-1.csv", "a/b.csv", "/export-1.csv", "..", ""])
    async def test_name_outside_the_storage_is_refused(self, storage: ExportStorage, name: str) -> None:
        """A name with a folder in it is neither written nor read as a file elsewhere."""
        with suppress(ValueError, OSError, ExportStorageUnavailable):
            async with storage.open_for_write(name, "visitors.csv") as file:
                file.write(CONTENT)
            pytest.fail(f"{name!r} was written")

    async def test_signed_url_is_https_or_none(self, storage: ExportStorage) -> None:
        """A download URL, where the storage has one, needs no other credential."""
        await _write(storage, CONTENT)
        url = await storage.signed_url_if_supported(NAME, timedelta(minutes=5))
        assert url is None or url.startswith(("https://", "http://"))


async def _write(storage: ExportStorage, content: bytes) -> None:
    async with storage.open_for_write(NAME, "visitors.csv") as file:
        file.write(content)


async def _write_and_fail(storage: ExportStorage) -> None:
    async with storage.open_for_write(NAME, "visitors.csv") as file:
        file.write(CONTENT)
        raise RuntimeError("cancelled")


async def _read(storage: ExportStorage) -> tuple[int, bytes]:
    stored = await storage.read(NAME)
    assert stored is not None
    size, open_content = stored
    return size, b"".join([chunk async for chunk in open_content()])
