"""Files and folders that only the user of the service can read: data, keys and settings."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

PRIVATE_FILE_MODE: Final = 0o600
PRIVATE_FOLDER_MODE: Final = 0o700
_COMPANION_SUFFIXES: Final = ("", "-wal", "-shm", "-journal", ".wal")
"""Endings of the files that SQLite and DuckDB keep beside a database."""


def set_private_umask() -> None:
    """Makes every file this process and its children create readable by their user alone."""
    os.umask(0o777 & ~PRIVATE_FOLDER_MODE)


def create_private_folder(folder: Path) -> None:
    """Creates a folder and its missing parents with mode 0700; existing ones keep theirs.

    Raises:
        OSError: it cannot be created.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)


def create_private_file(file: Path) -> None:
    """Creates an empty file with mode 0600 and its folder, where they are missing.

    An existing file, and what an engine keeps beside it, gets mode 0600 if it belongs to this user.

    Raises:
        OSError: it cannot be created.
    """
    create_private_folder(file.parent)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE_MODE))
    restrict_database_to_owner(file)


def restrict_database_to_owner(file: Path) -> None:
    """Gives a database, and what its engine keeps beside it, mode 0600; files of other users keep theirs."""
    for suffix in _COMPANION_SUFFIXES:
        with suppress(FileNotFoundError, PermissionError):
            file.with_name(f"{file.name}{suffix}").chmod(PRIVATE_FILE_MODE)
