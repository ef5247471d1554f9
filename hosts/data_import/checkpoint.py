"""The checkpoint of an import: how many entries of a file are durable, by the digest of the file."""

import json
import os
from pathlib import Path
from typing import Final

CHECKPOINT_FILE: Final = "imports.json"


class ImportCheckpoint:
    """The position in one file, identified by its digest.

    Args:
        folder: the data folder.
        digest: SHA-256 of the file, with what changes its events (the target workspace).
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self._path = folder / CHECKPOINT_FILE
        self._digest = digest
        self.done_entries = self._read_counts().get(digest, 0)

    def advance_and_save(self, entry_count: int) -> None:
        """Adds to the number of durable entries; the checkpoint file is replaced as a whole."""
        self.done_entries += entry_count
        places = {**self._read_counts(), self._digest: self.done_entries}
        fresh = self._path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump(places, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)

    def _read_counts(self) -> dict[str, int]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}
