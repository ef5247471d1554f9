"""Whether files and folders that settings name may be changed by whoever runs this."""

import os
from pathlib import Path

from service_core.kernel.errors import StartupError


def require_writable_paths(setting: str, *places: Path) -> None:
    """Refuse places that can be read and not written: SQLite opens such a file, and fails at the first change.

    Args:
        setting: what names them.
        places: files and folders; for one that is not there yet, the nearest folder above it counts.

    Raises:
        StartupError: whoever runs this may not write there.
    """
    for place in places:
        there = next(one for one in (place, *place.parents) if os.path.lexists(one))
        if not os.access(there, os.W_OK):
            raise StartupError(
                f"{there} cannot be written by the user who runs this. Give it to that user, or name another place "
                f"in {setting}."
            )
