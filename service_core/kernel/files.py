"""A file as an answer: the one kind of answer that is not JSON."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

Chunks = Callable[[], AsyncIterator[bytes]]
"""Opens the content and gives it piece by piece; closing the iterator closes the file."""

CSV: Final = "text/csv; charset=utf-8"
NDJSON: Final = "application/x-ndjson"
MEDIA_TYPES: Final = (CSV, NDJSON)
"""The kinds of files the service gives out."""


@dataclass(frozen=True)
class File:
    """A file to be saved under a name.

    Attributes:
        name: letters, digits, dots, hyphens; it stands in a header as it is.
        media_type: its kind, for the header of the answer.
        size: its length in bytes.
        chunks: its content; a large file is never held in memory.
    """

    name: str
    media_type: str
    size: int
    chunks: Chunks
