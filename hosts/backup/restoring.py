"""``touchpoint restore``: a deployment out of a backup, in a folder that holds nothing yet."""

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

from hosts.backup.copying import make_durable
from hosts.backup.making import SETTINGS
from hosts.backup.manifest import PLACES, Manifest
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from service_core.kernel.errors import StartupError


def restore(source: Path, folder: Path) -> Manifest:
    """Put a backup where its settings say, relative to a new folder.

    Args:
        source: a backup, as a folder or a packed file.
        folder: where the deployment shall be; absent or empty.

    Raises:
        StartupError: no backup, a damaged one, or something lies where it would be put.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StartupError(f"{folder} is not empty. Restore into a new folder, and move it when all is well.")
    with _opened(source) as backup:
        manifest = Manifest.read(backup)
        manifest.check(backup)
        places = dict(_places(backup, folder))
        for target in places.values():
            if target.exists():
                raise StartupError(f"{target} exists already, and the settings of the backup name it.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for port, target in places.items():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for kept in sorted((backup / port).iterdir()):
                _put(kept, target.parent / kept.name)
        shutil.copyfile(backup / SETTINGS, folder / SETTINGS)
        (folder / SETTINGS).chmod(0o600)
    make_durable(folder)
    return manifest


def _places(backup: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Ports whose data the backup holds, and where the settings want it."""
    settings, registry = load_settings(backup / SETTINGS), installed()
    for port, setting in PLACES:
        if not (backup / port).is_dir():
            continue
        place = registry.place(port, attrgetter(setting)(settings), folder=folder)
        if place is None:
            raise StartupError(
                f"The backup holds the data of {setting}, but the setting names a server now. "
                "Restore with the settings of the backup, then move the data."
            )
        yield port, place[1]


def _put(kept: Path, target: Path) -> None:
    if kept.is_dir():
        shutil.copytree(kept, target)
    else:
        shutil.copyfile(kept, target)
        target.chmod(0o600)


def _reason(fault: Exception) -> str:
    """Why a file cannot be read; that it is no archive the library tells in a line for each kind."""
    return "it is no whole .tar or .tar.gz" if isinstance(fault, tarfile.ReadError) else str(fault)


@contextmanager
def _opened(source: Path) -> Iterator[Path]:
    """The backup as a folder."""
    if source.is_dir():
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="touchpoint-restore-") as folder:
        try:
            with tarfile.open(source) as pack:
                pack.extractall(folder, filter="data")
        except (OSError, tarfile.TarError) as fault:
            raise StartupError(f"{source} cannot be read as a backup: {_reason(fault)}.") from None
        yield Path(folder)
