"""A folder as the place of export files: whole files under plain names, or none."""

import asyncio
import errno
import os
import threading
from datetime import timedelta

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError


@pytest.fixture
async def storage(tmp_path):
    opened = collect_plugins_into_registry().open_adapter(
        "export_storage", "local:///deep/exports", base_folder=tmp_path
    )
    await opened.start()
    return opened


def file_names(tmp_path):
    return sorted(path.name for path in (tmp_path / "deep" / "exports").iterdir())


async def write_file(storage, data, fault=None):
    async with storage.open_for_write("a.csv", "events.csv") as file:
        file.write(data)
        if fault:
            raise fault


async def read_file(storage, name):
    size, chunks = await storage.read(name)
    read = b"".join([chunk async for chunk in chunks()])
    assert len(read) == size
    return read


async def test_file_appears_when_its_block_ends(storage, tmp_path):
    async with storage.open_for_write("a.csv", "events.csv") as file:
        file.write(b"x" * 600_000)
        assert await storage.read("a.csv") is None
        assert file_names(tmp_path) == ["a.csv.part"]
    assert file_names(tmp_path) == ["a.csv"]
    assert await read_file(storage, "a.csv") == b"x" * 600_000


async def test_content_is_synced_before_the_rename(storage, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda number: seen.append((number, file_names(tmp_path))))
    async with storage.open_for_write("a.csv", "events.csv") as file:
        file.write(b"x")
    assert [listed for _, listed in seen] == [["a.csv.part"], ["a.csv"]]


async def test_failed_block_keeps_the_previous_file(storage, tmp_path):
    async with storage.open_for_write("a.csv", "events.csv") as file:
        file.write(b"first")
    for fault in (RuntimeError, asyncio.CancelledError):
        with pytest.raises(fault):
            await write_file(storage, b"second", fault)
    assert file_names(tmp_path) == ["a.csv"]
    assert await read_file(storage, "a.csv") == b"first"


async def test_write_that_is_cancelled_while_its_file_is_created_leaves_nothing(
    storage, monkeypatch, tmp_path
):
    is_created, is_cancelled, open_file = threading.Event(), threading.Event(), os.fdopen

    def open_file_later(*arguments):
        is_created.set()
        is_cancelled.wait()
        return open_file(*arguments)

    monkeypatch.setattr(os, "fdopen", open_file_later)
    writing = asyncio.create_task(write_file(storage, b"x"))
    await asyncio.to_thread(is_created.wait)
    writing.cancel()
    await asyncio.sleep(0)
    is_cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert file_names(tmp_path) == []


@pytest.mark.parametrize("call", ["fsync", "fdopen"])
async def test_disk_that_is_full_leaves_nothing(storage, monkeypatch, tmp_path, call):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(OSError, match="full"):
            await write_file(storage, b"x")
    await storage.delete("a.csv")
    assert file_names(tmp_path) == []


async def test_only_the_user_of_the_service_can_read_the_files(storage, tmp_path):
    async with storage.open_for_write("a.csv", "events.csv") as file:
        file.write(b"x")
    folder = tmp_path / "deep" / "exports"
    assert (folder / "a.csv").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_deleting_removes_the_file_and_its_temporary_parts(storage, tmp_path):
    async with storage.open_for_write("a.csv", "events.csv"):
        pass
    (tmp_path / "deep" / "exports" / "a.csv.part").touch()
    for _ in range(2):
        await storage.delete("a.csv")
        assert file_names(tmp_path) == []
    assert await storage.read("a.csv") is None


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", ".", ".key", "", "a/b"])
async def test_file_name_cannot_leave_the_folder(storage, name):
    for call in (storage.read, storage.delete):
        with pytest.raises(ValueError, match="plain name"):
            await call(name)
    with pytest.raises(ValueError, match="plain name"):
        async with storage.open_for_write(name, "events.csv"):
            pass


async def test_storage_signs_no_links(storage):
    assert await storage.signed_url_if_supported("a.csv", timedelta(hours=1)) is None


@pytest.mark.parametrize("url", ["local://", "local://host/x", "local:///x?deep=1"])
def test_url_that_names_no_folder_stops_the_start(url, tmp_path):
    with pytest.raises(StartupError):
        collect_plugins_into_registry().open_adapter("export_storage", url, base_folder=tmp_path)
