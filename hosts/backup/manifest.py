"""The manifest of a backup: its files with size and digest, and the settings whose data it does not hold."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from hosts.file_digest import sha256_of_file
from service_core.kernel.errors import StartupError

MANIFEST_FILE: Final = "backup.json"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of a backup: its path in the backup, its size in bytes, and its SHA-256 in hex."""

    name: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a backup.

    Attributes:
        created_at: when the backup began, RFC 3339.
        files: everything in it.
        external_settings: settings whose data a server keeps, which has backups of its own.
    """

    created_at: str
    files: tuple[BackupFile, ...]
    external_settings: tuple[str, ...]

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files)

    def write(self, folder: Path) -> None:
        """Writes the manifest into the folder of the backup."""
        text = json.dumps({"version": VERSION, **asdict(self)}, indent=1)
        (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read_of_same_version(cls, folder: Path) -> "Manifest":
        """Reads the manifest of a backup.

        Raises:
            StartupError: there is none, or another version wrote it.
        """
        try:
            stored = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise StartupError(f"{folder} is no backup: it has no {MANIFEST_FILE}.") from None
        if stored.pop("version", None) != VERSION:
            raise StartupError(f"{folder} was made by another version. Restore it with that one.")
        files = tuple(BackupFile(**file) for file in stored["files"])
        return cls(stored["created_at"], files, tuple(stored["external_settings"]))

    def verify_sizes_and_digests(self, folder: Path) -> None:
        """Checks that every file is there, with its size and digest.

        Raises:
            StartupError: one is missing, or is not what was written.
        """
        for expected in self.files:
            file = folder / expected.name
            size = file.stat().st_size if file.is_file() else None
            if size != expected.size or sha256_of_file(file) != expected.digest:
                raise StartupError(
                    f"The backup is damaged: {expected.name} is not what was written. Use another."
                )


def list_backup_files(folder: Path) -> Iterator[BackupFile]:
    """Lists every file below a folder, sorted."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield BackupFile(file.relative_to(folder).as_posix(), file.stat().st_size, sha256_of_file(file))
