"""Restores a deployment from a backup into an empty folder."""

import gzip
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hosts.backup.copy_files import sync_to_disk
from hosts.backup.create import SETTINGS_FILE
from hosts.backup.manifest import Manifest
from hosts.composition.compose import load_installed_registry
from hosts.composition.load_settings import load_settings
from hosts.composition.ports import BACKED_UP_PORTS
from service_core.kernel.errors import StartupError


def restore_backup(source: Path, folder: Path) -> Manifest:
    """Restores a backup to the paths its settings name, relative to a new folder.

    Args:
        source: a backup, as a folder or a packed file.
        folder: where the deployment shall be; absent or empty.

    Raises:
        StartupError: no backup, a damaged one, or something lies where it would be put.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StartupError(f"{folder} is not empty. Restore into a new folder, and move it when all is well.")
    try:
        return _restore_into(source, folder.absolute())
    except OSError as fault:
        raise StartupError(
            f"{source} cannot be restored: {fault.strerror or fault}. Remove what was begun of {folder}, and try again "
            "where there is room and you may write."
        ) from fault


def _restore_into(source: Path, folder: Path) -> Manifest:
    with _open_backup(source, folder.parent) as backup:
        manifest = Manifest.read(backup)
        manifest.verify(backup)
        target_by_port = dict(_restore_locations(backup, folder))
        for target in target_by_port.values():
            if target.exists():
                raise StartupError(f"{target} exists already, and the settings of the backup name it.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for port, target in target_by_port.items():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for backed_up in sorted((backup / port).iterdir()):
                _move_into_place(backed_up, target.parent / backed_up.name)
        shutil.copyfile(backup / SETTINGS_FILE, folder / SETTINGS_FILE)
        (folder / SETTINGS_FILE).chmod(0o600)
    sync_to_disk(folder)
    return manifest


def _restore_locations(backup: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yields each port whose data the backup holds, with the path its setting names."""
    settings, registry = load_settings(backup / SETTINGS_FILE), load_installed_registry()
    for port in BACKED_UP_PORTS:
        if not (backup / port.name).is_dir():
            continue
        location = registry.local_data_of_url(port.name, port.url(settings), folder=folder)
        if location is None:
            raise StartupError(
                f"The backup holds the data of {port.setting}, but the setting names a server now. "
                "Restore with the settings of the backup, then move the data."
            )
        yield port.name, location[1]


def _move_into_place(kept: Path, target: Path) -> None:
    if kept.is_dir():
        shutil.copytree(kept, target)
    else:
        shutil.copyfile(kept, target)
        target.chmod(0o600)


@contextmanager
def _open_backup(source: Path, beside: Path) -> Iterator[Path]:
    """Gives the backup as a folder; an archive is extracted beside the target."""
    if source.is_dir():
        yield source
        return
    beside.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="touchpoint-restore-", dir=beside) as folder:
        try:
            with tarfile.open(source) as pack:
                _extract_archive(pack, Path(folder).resolve())
        except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error):
            raise StartupError(f"{source} is no backup: it is no whole .tar or .tar.gz.") from None
        yield Path(folder)


def _extract_archive(pack: tarfile.TarFile, folder: Path) -> None:
    """Extracts files and folders and refuses paths outside; not every Python 3.11 has the filter of `tarfile` for this.

    Raises:
        tarfile.TarError: there is something else in it, or it is not whole.
    """
    for member in pack:
        target, content = (
            (folder / member.name).resolve(),
            pack.extractfile(member) if member.isfile() else None,
        )
        if not target.is_relative_to(folder) or not (content or member.isdir()):
            raise tarfile.TarError(member.name)
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        with content, target.open("xb") as copy:
            shutil.copyfileobj(content, copy)
        target.chmod(member.mode & 0o666 | 0o600)
