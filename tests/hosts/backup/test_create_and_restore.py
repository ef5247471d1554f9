"""What a backup refuses, and how the event store is kept still."""

import asyncio
import json
import sqlite3
import tarfile

import pytest

from hosts.backup.copy_files import COPY_FUNCTIONS, copy_folder_without_drafts
from hosts.backup.create import create_backup
from hosts.backup.restore import restore_backup_into_empty_folder
from hosts.backup.write_lock import WriteLock
from hosts.backup.write_pause import (
    SOCKET_FILE,
    replace_pause_listener_or_none_without_sockets,
    serve_backup_pauses_until_stopped,
    writes_of_running_service_paused,
)
from hosts.consumer_lock import try_consumer_lock
from service_core.extensions.adapters import LocalDataKind
from service_core.kernel.errors import StartupError


@pytest.fixture
def config(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("workspace.db", "spool.db"):
        with sqlite3.connect(folder / name) as made:
            made.execute("CREATE TABLE t (x)")
            made.execute("INSERT INTO t VALUES (1)")
        made.close()
    (folder / "events.duckdb").write_bytes(b"events" * 10_000)
    (folder / "events.duckdb.wal").write_bytes(b"log")
    (folder / "exports").mkdir()
    (folder / "exports" / "a.csv").write_text("done")
    (folder / "exports" / "b.csv.part").write_text("half")
    (folder / "connections.key").write_text("key")
    (folder / "touchpoint.toml").write_text("")
    return folder / "touchpoint.toml"


class Store:
    """A store that writes as long as it is let."""

    def __init__(self):
        self.written = 0
        self.release = asyncio.Event()

    async def append(self, _events):
        await self.release.wait()
        self.written += 1

    maintain = revoke_identity_link = append

    async def first_and_last_event_time(self, _workspace):
        return None


async def test_writes_wait_during_a_backup_and_reads_do_not():
    store, write_lock = Store(), WriteLock()
    wrapped = write_lock.wrap_if_event_store("events", store)
    first = asyncio.create_task(wrapped.append([]))
    await asyncio.sleep(0)
    hold = write_lock.paused()
    holding = asyncio.create_task(hold.__aenter__())
    await asyncio.sleep(0)
    assert not holding.done()  # a write is under way
    store.release.set()
    await first
    await holding
    second = asyncio.create_task(wrapped.maintain(None))
    assert await wrapped.first_and_last_event_time(None) is None
    for _ in range(5):
        await asyncio.sleep(0)
    assert (store.written, second.done()) == (1, False)
    await hold.__aexit__(None, None, None)
    await second
    assert store.written == 2


def test_backup_does_not_pause_other_ports():
    store = Store()
    assert WriteLock().wrap_if_event_store("queue", store) is store


async def test_aborted_backup_resumes_the_service(tmp_path):
    write_lock, stop = WriteLock(), asyncio.Event()

    def gone():
        with writes_of_running_service_paused(tmp_path):
            raise KeyboardInterrupt

    with replace_pause_listener_or_none_without_sockets(tmp_path) as backups:
        assert (tmp_path / SOCKET_FILE).stat().st_mode & 0o777 == 0o600
        serving = asyncio.create_task(serve_backup_pauses_until_stopped(backups, write_lock, stop))
        with pytest.raises(KeyboardInterrupt):
            await asyncio.to_thread(gone)
        async with asyncio.timeout(100), write_lock.paused():
            stop.set()
        await serving
    assert not (tmp_path / SOCKET_FILE).exists()


async def test_backup_waits_for_a_starting_service(tmp_path):
    stop = asyncio.Event()

    def copied():
        with writes_of_running_service_paused(tmp_path):
            return "copied"

    with replace_pause_listener_or_none_without_sockets(tmp_path) as backups:
        copy = asyncio.create_task(asyncio.to_thread(copied))
        serving = asyncio.create_task(serve_backup_pauses_until_stopped(backups, WriteLock(), stop))
        assert await copy == "copied"
        stop.set()
        await serving


async def test_service_starts_in_a_folder_without_socket_support(tmp_path):
    with replace_pause_listener_or_none_without_sockets(tmp_path / "gone") as backups:
        assert backups is None
        await serve_backup_pauses_until_stopped(backups, WriteLock(), asyncio.Event())


async def test_service_that_ends_during_a_backup_invalidates_it(tmp_path):
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def outlived():
        with writes_of_running_service_paused(tmp_path):
            asyncio.run_coroutine_threadsafe(ended(), loop).result(100)

    async def ended():
        stop.set()
        await serving

    with replace_pause_listener_or_none_without_sockets(tmp_path) as backups:
        serving = asyncio.create_task(serve_backup_pauses_until_stopped(backups, WriteLock(), stop))
        with pytest.raises(StartupError, match="thrown away"):
            await asyncio.to_thread(outlived)


def test_unresponsive_service_is_named(config, tmp_path):
    with try_consumer_lock(config.parent), pytest.raises(StartupError, match="does not answer"):
        create_backup(config, tmp_path / "backup")
    assert not list(tmp_path.glob("backup*"))


@pytest.mark.parametrize("name", ["backup", "backup.tar", "backup.tar.gz"])
def test_restore_returns_every_file_without_temporary_ones(name, config, tmp_path):
    reported = []
    create_backup(config, tmp_path / name, reported.append)
    restore_backup_into_empty_folder(tmp_path / name, tmp_path / "again")
    found = sorted(p.relative_to(tmp_path / "again").as_posix() for p in (tmp_path / "again").rglob("*"))
    assert found == [
        "connections.key", "events.duckdb", "events.duckdb.wal", "exports", "exports/a.csv", "spool.db", "touchpoint.toml",
        "workspace.db",
    ]  # fmt: skip
    assert (tmp_path / "again" / "events.duckdb").read_bytes() == b"events" * 10_000
    again = sqlite3.connect(tmp_path / "again" / "spool.db")
    assert again.execute("SELECT x FROM t").fetchall() == [(1,)]
    again.close()
    assert (tmp_path / "again" / "connections.key").stat().st_mode & 0o777 == 0o600
    assert reported[:2] == ["spool.db", "events.duckdb"]


def test_existing_backup_is_not_overwritten(config, tmp_path):
    (tmp_path / "backup").mkdir()
    with pytest.raises(StartupError, match="exists already"):
        create_backup(config, tmp_path / "backup")


def test_restore_needs_an_empty_folder(config, tmp_path):
    create_backup(config, tmp_path / "backup")
    with pytest.raises(StartupError, match="not empty"):
        restore_backup_into_empty_folder(tmp_path / "backup", config.parent)


def test_damaged_backup_is_refused_before_writing(config, tmp_path):
    create_backup(config, tmp_path / "backup")
    (tmp_path / "backup" / "events" / "events.duckdb").write_bytes(b"x" * 60_000)
    with pytest.raises(StartupError, match=r"events/events\.duckdb is not what was written"):
        restore_backup_into_empty_folder(tmp_path / "backup", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_stores_on_servers_are_listed_as_excluded(config, tmp_path):
    config.write_text(
        '[ingest]\nqueue = "redis://localhost:6379/0"\n[connections]\nencryption_key = "keyenv://KEY"\n'
    )
    manifest = create_backup(config, tmp_path / "backup")
    assert manifest.external_settings == ("ingest.queue", "connections.encryption_key")
    assert json.loads((tmp_path / "backup" / "backup.json").read_text())["external_settings"] == list(
        manifest.external_settings
    )


def test_file_deleted_during_the_backup_is_skipped(tmp_path):
    source, target = tmp_path / "exports", tmp_path / "copy"
    source.mkdir()
    target.mkdir()
    (source / "gone.csv").symlink_to(tmp_path / "nowhere")
    (source / "kept.csv").write_text("x")
    copy_folder_without_drafts(source, target)
    assert [path.name for path in (target / "exports").iterdir()] == ["kept.csv"]


def test_folder_that_is_no_backup_is_refused(tmp_path):
    (tmp_path / "some").mkdir()
    with pytest.raises(StartupError, match="is no backup"):
        restore_backup_into_empty_folder(tmp_path / "some", tmp_path / "again")


def test_truncated_archive_is_refused_with_one_sentence(config, tmp_path):
    create_backup(config, tmp_path / "whole.tar.gz")
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes((tmp_path / "whole.tar.gz").read_bytes()[:500])
    with pytest.raises(StartupError, match=r"cut\.tar\.gz is no backup: it is no whole"):
        restore_backup_into_empty_folder(cut, tmp_path / "new" / "again")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind"), [("../there", tarfile.REGTYPE), ("/there", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)]
)
def test_archive_cannot_write_outside_of_the_folder(tmp_path, name, kind):
    member = tarfile.TarInfo(name if name[0] != "/" else str(tmp_path / "there"))
    member.type, member.linkname = kind, str(tmp_path)
    with tarfile.open(tmp_path / "foreign.tar", "w") as pack:
        pack.addfile(member)
    with pytest.raises(StartupError, match=r"foreign\.tar is no backup"):
        restore_backup_into_empty_folder(tmp_path / "foreign.tar", tmp_path / "new" / "again")
    assert [path.name for path in tmp_path.rglob("*")] == ["foreign.tar", "new"]


def raise_disk_full(*_, **__):
    raise OSError(28, "No space left on device")


def raise_broken_pipe(*_):
    raise sqlite3.OperationalError("database or disk is full")


def test_full_disk_is_reported_and_leaves_no_backup(config, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("tarfile.TarFile.add", raise_disk_full)
        with pytest.raises(StartupError, match=r"cannot be written: No space left on device\."):
            create_backup(config, tmp_path / "backup.tar")
    monkeypatch.setitem(COPY_FUNCTIONS, LocalDataKind.SQLITE, raise_broken_pipe)
    with pytest.raises(StartupError, match=r"cannot be written: database or disk is full\."):
        create_backup(config, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == [config.parent]


def test_full_disk_during_restore_is_reported(config, tmp_path, monkeypatch):
    create_backup(config, tmp_path / "backup")
    monkeypatch.setattr("shutil.copyfile", raise_disk_full)
    with pytest.raises(StartupError, match=r"cannot be restored: No space left on device\."):
        restore_backup_into_empty_folder(tmp_path / "backup", tmp_path / "again")
