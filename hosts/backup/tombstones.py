"""Tombstones of erased persons: written from one deployment, applied to a restored one."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from service_core.kernel.errors import StartupError
from service_core.privacy.models import Erasure


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
    ports = load_ports(config)
    requested = 0
    async with start_adapters([ports.workspace]):
        workspaces = {workspace.id for workspace in await ports.workspace.credentials.list_workspaces()}
        for tombstone in tombstones:
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
