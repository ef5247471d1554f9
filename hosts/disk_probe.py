"""The readiness probe of the disks that hold local data."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

from service_core.api.readiness import Probe, ProbeResult

MIN_FREE_BYTES: Final = 32_000_000
"""With less the disk counts as full: the databases need room for their logs."""

_WRITTEN_BYTES: Final = 65_536


def build_disk_probes(folders: Collection[Path]) -> list[Probe]:
    """Returns the probe that writes a file into each folder and removes it; none without folders.

    The probe fails when a disk is full, read-only or gone.
    """

    async def write_test_files() -> ProbeResult:
        return ProbeResult(ok=await asyncio.to_thread(lambda: all(map(_has_room_and_takes_writes, folders))))

    return [Probe("disk", write_test_files)] if folders else []


def _has_room_and_takes_writes(folder: Path) -> bool:
    if not folder.exists():
        return False
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
        return False
    with tempfile.TemporaryFile(dir=folder, prefix=".ready-", buffering=0) as file:
        return file.write(os.urandom(_WRITTEN_BYTES)) == _WRITTEN_BYTES
