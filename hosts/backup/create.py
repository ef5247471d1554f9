"""Creates a backup: one consistent copy of the local data of a deployment, while it runs."""

import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hosts.backup.copy_files import COPY_FUNCTIONS, DRAFT_SUFFIX, fsync_folder_recursively
from hosts.backup.manifest import Manifest, list_backup_files
from hosts.backup.tombstones import remember_backup_folder
from hosts.backup.write_pause import writes_of_running_service_paused
from hosts.composition.compose import load_registry_of_deployment
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import BACKED_UP_PORTS, BackupStep
from hosts.consumer_lock import try_consumer_lock
from service_core.extensions.adapters import LocalDataKind
from service_core.kernel.errors import StartupError

SETTINGS_FILE: Final = "touchpoint.toml"
ARCHIVE_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz")
_PORTS_COPIED_DURING_PAUSE: Final = frozenset(
    port.name for port in BACKED_UP_PORTS if port.backup is BackupStep.CONSUMER_PAUSED
)

DataLocation = tuple[LocalDataKind, Path]


def create_backup(
    config: Path, target: Path, on_progress: Callable[[str], None] = lambda _: None
) -> Manifest:
    """Creates a backup of a deployment.

    Args:
        config: its settings file.
        target: a folder that is not there yet, or a file that ends with one of `ARCHIVE_SUFFIXES`.
        on_progress: gets the name of each file or folder before it is copied.

    Raises:
        StartupError: the deployment cannot be read, the target exists, or the copy is not consistent.
    """
    draft = target.with_name(target.name + DRAFT_SUFFIX)
    if target.exists():
        raise StartupError(f"{target} exists already. Choose another name for each backup.")
    started_at = datetime.now(UTC)
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(mode=0o700, parents=True)
        external_settings = _copy_local_data_and_list_external_settings(config.absolute(), draft, on_progress)
        manifest = Manifest(started_at.isoformat(), tuple(list_backup_files(draft)), external_settings)
        manifest.write(draft)
        fsync_folder_recursively(draft)
        remember_backup_folder(config.absolute().parent, target.absolute().parent)
        _rename_or_archive_draft(draft, target)
    except (OSError, sqlite3.Error) as fault:
        raise StartupError(
            f"The backup cannot be written: {getattr(fault, 'strerror', None) or fault}. Nothing of it is left; try "
            "again where there is room and you may write."
        ) from fault
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def _copy_local_data_and_list_external_settings(
    config: Path, draft: Path, on_progress: Callable[[str], None]
) -> tuple[str, ...]:
    """Copies all local data; returns the settings whose data a server keeps."""
    settings = load_settings_with_environment(config)
    registry = load_registry_of_deployment(settings, config.parent, leave_out_faulty=True)
    locations: dict[str, DataLocation] = {}
    external_settings = []
    for port in BACKED_UP_PORTS:
        location = registry.local_data_of_url(port.name, port.url(settings), base_folder=config.parent)
        if location is None:
            external_settings.append(port.setting)
        else:
            locations[port.name] = location
    with _consumer_paused_if_queue_or_events_are_local(config.parent, locations):
        _copy_data_of_ports(locations, _PORTS_COPIED_DURING_PAUSE, draft, on_progress)
    _copy_data_of_ports(locations, frozenset(locations) - _PORTS_COPIED_DURING_PAUSE, draft, on_progress)
    shutil.copyfile(config, draft / SETTINGS_FILE)
    return tuple(external_settings)


def _copy_data_of_ports(
    locations: dict[str, DataLocation],
    only_ports: frozenset[str],
    draft: Path,
    on_progress: Callable[[str], None],
) -> None:
    for port, (keeps, path) in locations.items():
        if port in only_ports:
            on_progress(path.name)
            (draft / port).mkdir()
            COPY_FUNCTIONS[keeps](path, draft / port)


@contextmanager
def _consumer_paused_if_queue_or_events_are_local(
    folder: Path, locations: dict[str, DataLocation]
) -> Iterator[None]:
    """Pauses the consumer inside the block, so that no event moves from the queue to the store."""
    if _PORTS_COPIED_DURING_PAUSE.isdisjoint(locations):
        yield
        return
    with try_consumer_lock(folder) as nobody_serves:
        if nobody_serves:
            yield
        else:
            with writes_of_running_service_paused(folder):
                yield


def _rename_or_archive_draft(draft: Path, target: Path) -> None:
    """Moves the finished backup to its target, as a folder or packed into one file."""
    if not target.name.endswith(ARCHIVE_SUFFIXES):
        draft.rename(target)
        return
    archive_draft = target.with_name(f"{target.name}{DRAFT_SUFFIX}.tar")
    try:
        with tarfile.open(archive_draft, "w" if target.suffix == ".tar" else "w:gz") as archive:
            archive.add(draft, arcname=".")
        archive_draft.chmod(0o600)
        archive_draft.rename(target)
    finally:
        archive_draft.unlink(missing_ok=True)
