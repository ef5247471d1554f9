"""The addresses a running service listens on, kept in its folder for commands that print them.

Options of ``touchpoint serve``, variables of its unit and port 0 make them differ from those in the settings file.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from service_core.kernel.settings import Settings

FILE_NAME: Final = "serving.json"
_FILE_MODE: Final = 0o600


@contextmanager
def recorded_listen_addresses(folder: Path, **addresses: str) -> Iterator[None]:
    """Keeps the addresses in the folder while the block runs. A folder that cannot be written is left without.

    Args:
        folder: of the settings file.
        addresses: ``api`` and ``ingest``, as ``HOST:PORT``; what another process serves is left out.
    """
    file = folder / FILE_NAME
    content = json.dumps({"process": os.getpid(), **addresses})
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)
    except OSError:
        yield
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as target:
        target.write(content)
    try:
        yield
    finally:
        if file.exists() and file.read_text(encoding="utf-8") == content:
            file.unlink()


def with_serving_addresses(settings: Settings, folder: Path) -> Settings:
    """Returns the settings with the addresses that the running service of a folder listens on; unchanged without one."""
    try:
        recorded = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        if not _is_running(int(recorded["process"])):
            return settings
    except (OSError, ValueError, KeyError, TypeError):
        return settings
    served = {name: recorded[name] for name in ("api", "ingest") if isinstance(recorded.get(name), str)}
    return settings.model_copy(update={"http": settings.http.model_copy(update=served)})


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except PermissionError:  # a process of another user
        return True
    except OSError:
        return False
    return True
