"""Tombstones of erased persons: written beside the backups of a deployment, applied to a restored one.

`touchpoint backup` notes the folders it wrote to. A completed erasure adds its tombstone to a file in each of them, where
`touchpoint restore` finds it.
"""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from hosts.backup.copy_files import DRAFT_SUFFIX
from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from service_core.kernel.errors import StartupError
from service_core.privacy.models import Erasure

TOMBSTONES_FILE: Final = "touchpoint-tombstones.jsonl"
"""Name of the file with tombstones in each folder that holds backups."""

_BACKUP_FOLDERS_FILE: Final = "backup-folders.json"
_log: Final = logging.getLogger("touchpoint.privacy")


def remember_backup_folder(deployment_folder: Path, backup_folder: Path) -> None:
    """Notes that a folder holds backups of the deployment, so that tombstones are written there."""
    folders = list_backup_folders(deployment_folder)
    added = backup_folder.resolve()
    if added not in folders:
        names = [str(folder) for folder in (*folders, added)]
        _replace_file(deployment_folder / _BACKUP_FOLDERS_FILE, json.dumps(names) + "\n")


def list_backup_folders(deployment_folder: Path) -> list[Path]:
    """Returns the folders that backups were written to, those that are gone included."""
    try:
        return [Path(name) for name in json.loads((deployment_folder / _BACKUP_FOLDERS_FILE).read_text())]
    except FileNotFoundError:
        return []


def add_tombstone_beside_backups(deployment_folder: Path, erasure: Erasure) -> None:
    """Adds the tombstone of a completed erasure to the file of every folder that backups were written to.

    A folder that cannot be written to is logged with the command that prints the tombstones for it.
    """
    for folder in list_backup_folders(deployment_folder):
        try:
            _add_tombstone_if_missing(folder / TOMBSTONES_FILE, erasure)
        except (OSError, StartupError) as fault:
            _log.error(
                "tombstones cannot be written to %s: %s. Store the output of `touchpoint person tombstones` there.",
                folder,
                fault,
            )


def read_tombstones_beside_backup(backup: Path) -> list[Erasure]:
    """Returns the tombstones in the folder of a backup; empty if there are none.

    Raises:
        StartupError: the file has another format.
    """
    file = backup.absolute().parent / TOMBSTONES_FILE
    return read_tombstones(file) if file.exists() else []


def _add_tombstone_if_missing(file: Path, erasure: Erasure) -> None:
    known = {known.id for known in read_tombstones(file)} if file.exists() else set()
    if erasure.id not in known:
        earlier = file.read_text() if file.exists() else ""
        _replace_file(file, f"{earlier}{json.dumps(tombstone_to_json(erasure))}\n")


def _replace_file(file: Path, text: str) -> None:
    """Writes a private file durably; a crash leaves the earlier content."""
    draft = file.with_name(file.name + DRAFT_SUFFIX)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as output:
        output.write(text)
        output.flush()
        os.fsync(output.fileno())
    draft.replace(file)


def tombstone_to_json(erasure: Erasure) -> dict[str, Any]:
    """Returns the tombstone of a completed erasure as JSON values."""
    return {
        "id": str(erasure.id),
        "workspace": str(erasure.workspace_id),
        "requested_by": erasure.requested_by,
        "erased_at": erasure.completed_at.isoformat() if erasure.completed_at else None,
        "salt": erasure.salt,
        "id_digests": list(erasure.id_digests),
    }


def read_tombstones(file: Path) -> list[Erasure]:
    """Returns the erasures that a file of tombstones requests.

    Raises:
        StartupError: the file has another format.
    """
    try:
        return [_erasure_of(json.loads(line)) for line in file.read_text().splitlines() if line.strip()]
    except (ValueError, KeyError, TypeError) as fault:
        raise StartupError(
            f"{file} holds no tombstones. `touchpoint person tombstones` of the newest deployment prints them."
        ) from fault


async def request_erasures_of_tombstones(config: Path, tombstones: list[Erasure]) -> int:
    """Requests the erasures that a restored deployment does not know; it completes them when it runs.

    Returns:
        How many were requested. Those of workspaces that the deployment does not have are left out.
    """
    ports = load_ports(config, leave_out_faulty=True)
    requested = 0
    async with start_adapters([ports.workspace]):
        workspaces = {workspace.id for workspace in await ports.workspace.credentials.list_workspaces()}
        for tombstone in {tombstone.id: tombstone for tombstone in tombstones}.values():
            if tombstone.workspace_id not in workspaces:
                continue
            known = await ports.workspace.erasures.list_erasures(tombstone.workspace_id)
            if any(erasure.id == tombstone.id and erasure.completed_at is not None for erasure in known):
                continue
            await ports.workspace.erasures.save_erasure(replace(tombstone, person_id=None))
            requested += 1
    return requested


def _erasure_of(line: Mapping[str, Any]) -> Erasure:
    return Erasure(
        id=UUID(line["id"]),
        workspace_id=UUID(line["workspace"]),
        requested_by=str(line["requested_by"]),
        requested_at=datetime.fromisoformat(line["erased_at"]),
        person_id=None,
        salt=str(line["salt"]),
        id_digests=tuple(map(str, line["id_digests"])),
    )
