"""The digest that identifies a file."""

from hashlib import file_digest
from pathlib import Path


def sha256_of_file(path: Path) -> str:
    """Returns the SHA-256 of the content of a file in hex."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
