"""A file as an answer: the one kind of answer that is not JSON."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

ByteStreamOpener = Callable[[], AsyncIterator[bytes]]
"""Opens the content and gives it piece by piece; closing the iterator closes the file."""

CSV_MEDIA_TYPE: Final = "text/csv; charset=utf-8"
NDJSON_MEDIA_TYPE: Final = "application/x-ndjson"
FILE_MEDIA_TYPES: Final = (CSV_MEDIA_TYPE, NDJSON_MEDIA_TYPE)
"""The kinds of files the service gives out."""


@dataclass(frozen=True)
class FileResponse:
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
    open_stream: ByteStreamOpener
