"""The response value for file downloads, the only responses that are not JSON."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

ByteStreamOpener = Callable[[], AsyncIterator[bytes]]
"""Opens the content and returns an iterator over its chunks. Closing the iterator closes the file."""

CSV_MEDIA_TYPE: Final = "text/csv; charset=utf-8"
NDJSON_MEDIA_TYPE: Final = "application/x-ndjson"
ARROW_MEDIA_TYPE: Final = "application/vnd.apache.arrow.stream"
FILE_MEDIA_TYPES: Final = (CSV_MEDIA_TYPE, NDJSON_MEDIA_TYPE)
"""Media types of the files the service returns."""

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that a spreadsheet may run as a formula; in CSV an apostrophe stands before them."""


@dataclass(frozen=True)
class FileResponse:
    """A file download.

    Attributes:
        name: file name for the ``Content-Disposition`` header; letters, digits, dots and hyphens.
        media_type: value of the ``Content-Type`` header.
        size: length in bytes.
        open_stream: opens the content; a large file is never held in memory.
    """

    name: str
    media_type: str
    size: int
    open_stream: ByteStreamOpener
