"""Creates a key file."""

import os
import secrets
from base64 import b64encode
from pathlib import Path
from typing import Final
from uuid import uuid4

from service_core.plugin import CipherUnavailable

KEY_BYTES: Final = 32


def create_key_file_unless_present(path: Path) -> None:
    """Creates a key file that only its owner can read; a file created meanwhile is kept.

    Raises:
        CipherUnavailable: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(opened, b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
            os.fsync(opened)
        finally:
            os.close(opened)
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            draft.unlink()
    except OSError as fault:
        raise CipherUnavailable(f"The key file {path} cannot be made: {fault.strerror}.") from fault
