"""Where an import stopped: entries that are durable, per file digest, kept beside the data."""

import json
import os
from pathlib import Path
from typing import Final

CHECKPOINT_FILE: Final = "imports.json"


class ImportCheckpoint:
    """The place in one file; another digest is another file.

    Args:
        folder: the data folder.
        digest: SHA-256 of the file, with what changes its events (the target workspace).
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self._path = folder / CHECKPOINT_FILE
        self._digest = digest
        self.done = self._read_counts().get(digest, 0)

    def advance(self, entries: int) -> None:
        """Remember that so many more entries are durable; the file is replaced as a whole."""
        self.done += entries
        places = {**self._read_counts(), self._digest: self.done}
        fresh = self._path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump(places, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)

    def _read_counts(self) -> dict[str, int]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}
