"""``touchpoint backup``: one consistent copy of what a deployment keeps on this machine, while it runs."""

import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Final

from hosts.backup.control import held
from hosts.backup.copying import COPIES, DRAFT, make_durable
from hosts.backup.manifest import PLACES, Manifest, held_in
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.ownership import consumer_of
from service_core.extension.adapters import Keeps
from service_core.kernel.errors import StartupError

SETTINGS: Final = "touchpoint.toml"
PACKED: Final = (".tar", ".tar.gz", ".tgz")
_STILL: Final = frozenset({"queue", "events"})

Place = tuple[Keeps, Path]


def back_up(config: Path, target: Path, telling: Callable[[str], None] = lambda _: None) -> Manifest:
    """Copy a deployment.

    Args:
        config: its settings file.
        target: a folder that is not there yet, or a file that ends with `PACKED`.
        telling: told what is copied now.

    Raises:
        StartupError: the deployment cannot be read, the target exists, or the copy is not consistent.
    """
    draft = target.with_name(target.name + DRAFT)
    if target.exists():
        raise StartupError(f"{target} exists already. Choose another name for each backup.")
    began = datetime.now(UTC)
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(mode=0o700, parents=True)
        elsewhere = _copy(config.absolute(), draft, telling)
        manifest = Manifest(began.isoformat(), tuple(held_in(draft)), elsewhere)
        manifest.write(draft)
        make_durable(draft)
        _put(draft, target)
    except (OSError, sqlite3.Error) as fault:
        raise StartupError(
            f"The backup cannot be written: {getattr(fault, 'strerror', None) or fault}. Nothing of it is left; try "
            "again where there is room and you may write."
        ) from fault
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def _copy(config: Path, draft: Path, telling: Callable[[str], None]) -> tuple[str, ...]:
    """Copy everything that lies here; returns the settings whose data lies elsewhere."""
    settings, registry = load_settings(config), installed()
    places: dict[str, Place] = {}
    elsewhere = []
    for port, setting in PLACES:
        place = registry.place(port, attrgetter(setting)(settings), folder=config.parent)
        if place is None:
            elsewhere.append(setting)
        else:
            places[port] = place
    with _still(config.parent, places):
        _each(places, _STILL, draft, telling)
    _each(places, frozenset(places) - _STILL, draft, telling)
    shutil.copyfile(config, draft / SETTINGS)
    return tuple(elsewhere)


def _each(
    places: dict[str, Place], ports: frozenset[str], draft: Path, telling: Callable[[str], None]
) -> None:
    for port, (keeps, path) in places.items():
        if port in ports:
            telling(path.name)
            (draft / port).mkdir()
            COPIES[keeps](path, draft / port)


@contextmanager
def _still(folder: Path, places: dict[str, Place]) -> Iterator[None]:
    """Nothing moves from the queue into the store inside the block."""
    if _STILL.isdisjoint(places):
        yield
        return
    with consumer_of(folder) as nobody_serves:
        if nobody_serves:
            yield
        else:
            with held(folder):
                yield


def _put(draft: Path, target: Path) -> None:
    """Give the finished backup its name, as a folder or packed into one file."""
    if not target.name.endswith(PACKED):
        draft.rename(target)
        return
    packed = target.with_name(f"{target.name}{DRAFT}.tar")
    try:
        with tarfile.open(packed, "w" if target.suffix == ".tar" else "w:gz") as pack:
            pack.add(draft, arcname=".")
        packed.chmod(0o600)
        packed.rename(target)
    finally:
        packed.unlink(missing_ok=True)
