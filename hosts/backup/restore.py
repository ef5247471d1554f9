"""Restores a deployment from a backup into an empty folder."""

import gzip
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hosts.backup.copy_files import fsync_folder_recursively
from hosts.backup.create import SETTINGS_FILE
from hosts.backup.manifest import Manifest
from hosts.composition.compose import load_installed_registry_once, load_ports
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.plugin_selection import LEAVING_OUT_FAULTY_PLUGINS
from hosts.composition.ports import BACKED_UP_PORTS, start_adapters
from service_core.kernel.errors import StartupError


def restore_backup_into_empty_folder(source: Path, new_folder: Path) -> Manifest:
    """Restores a backup to the paths its settings name, relative to a new folder.

    Args:
        source: a backup, as a folder or a packed file.
        new_folder: where the deployment shall be; absent or empty.

    Raises:
        StartupError: no backup, a damaged one, or something lies where it would be put.
    """
    if new_folder.exists() and (not new_folder.is_dir() or any(new_folder.iterdir())):
        raise StartupError(
            f"{new_folder} is not empty. Restore into a new folder, and move it when all is well."
        )
    try:
        return _verify_and_copy_into(source, new_folder.absolute())
    except OSError as fault:
        raise StartupError(
            f"{source} cannot be restored: {fault.strerror or fault}. Remove what was begun of {new_folder}, and try again "
            "where there is room and you may write."
        ) from fault


async def save_time_of_restore(config: Path) -> None:
    """Saves that answers begin now: what was stored between the backup and the restore is missing.

    Args:
        config: the settings file of the restored deployment.
    """
    ports = load_ports(config, leave_out_faulty=True)
    async with start_adapters([ports.workspace]):
        record = ports.workspace.event_store_record
        known = await record.find_event_store()
        if known is not None:
            await record.save_event_store(replace(known, answers_since=ports.clock()))


def _verify_and_copy_into(source: Path, folder: Path) -> Manifest:
    with _open_folder_or_extract_archive(source, folder.parent) as backup:
        manifest = Manifest.read_of_same_version(backup)
        manifest.verify_sizes_and_digests(backup)
        target_by_port = dict(_restore_path_by_port(backup, folder))
        for target in target_by_port.values():
            if target.exists():
                raise StartupError(f"{target} exists already, and the settings of the backup name it.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for port, target in target_by_port.items():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for backed_up in sorted((backup / port).iterdir()):
                _copy_tree_or_private_file(backed_up, target.parent / backed_up.name)
        shutil.copyfile(backup / SETTINGS_FILE, folder / SETTINGS_FILE)
        (folder / SETTINGS_FILE).chmod(0o600)
    fsync_folder_recursively(folder)
    return manifest


def _restore_path_by_port(backup: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yields each port whose data the backup holds, with the path its setting names."""
    settings = load_settings_with_environment(backup / SETTINGS_FILE)
    registry = load_installed_registry_once(LEAVING_OUT_FAULTY_PLUGINS)
    for port in BACKED_UP_PORTS:
        if not (backup / port.name).is_dir():
            continue
        location = registry.local_data_of_url(port.name, port.url(settings), base_folder=folder)
        if location is None:
            raise StartupError(
                f"The backup holds the data of {port.setting}, but the setting names a server now. "
                "Restore with the settings of the backup, then move the data."
            )
        yield port.name, location[1]


def _copy_tree_or_private_file(backed_up: Path, target: Path) -> None:
    if backed_up.is_dir():
        shutil.copytree(backed_up, target)
    else:
        shutil.copyfile(backed_up, target)
        target.chmod(0o600)


@contextmanager
def _open_folder_or_extract_archive(source: Path, extraction_parent: Path) -> Iterator[Path]:
    """Gives the backup as a folder; an archive is extracted beside the target."""
    if source.is_dir():
        yield source
        return
    extraction_parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="touchpoint-restore-", dir=extraction_parent) as folder:
        try:
            with tarfile.open(source) as pack:
                _extract_archive_or_reject_unsafe_member(pack, Path(folder).resolve())
        except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error):
            raise StartupError(f"{source} is no backup: it is no whole .tar or .tar.gz.") from None
        yield Path(folder)


def _extract_archive_or_reject_unsafe_member(archive: tarfile.TarFile, folder: Path) -> None:
    """Extracts files and folders and refuses paths outside; not every Python 3.11 has the filter of `tarfile` for this.

    Raises:
        tarfile.TarError: there is something else in it, or it is not whole.
    """
    for member in archive:
        target, content = (
            (folder / member.name).resolve(),
            archive.extractfile(member) if member.isfile() else None,
        )
        if not target.is_relative_to(folder) or not (content or member.isdir()):
            raise tarfile.TarError(member.name)
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        with content, target.open("xb") as copy:
            shutil.copyfileobj(content, copy)
        target.chmod(member.mode & 0o666 | 0o600)
