"""Checks at startup that configured files and folders can be written."""

import os
from pathlib import Path

from service_core.kernel.errors import StartupError


def require_writable_paths_or_parents(setting_name: str, *paths: Path) -> None:
    """Raises an error when the current user cannot write to one of the paths.

    SQLite opens a file that is only readable and fails at the first change; this check fails at startup instead.

    Args:
        setting_name: name of the setting that holds the paths, for the message.
        paths: files and folders. For a path that does not exist, its nearest existing parent folder is checked.

    Raises:
        StartupError: the current user may not write there.
    """
    for path in paths:
        existing = next(candidate for candidate in (path, *path.parents) if os.path.lexists(candidate))
        if not os.access(existing, os.W_OK):
            raise StartupError(
                f"{existing} cannot be written by the user who runs this. Give it to that user, or name another path "
                f"in {setting_name}."
            )
