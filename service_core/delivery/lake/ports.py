"""Ports of the lake: where its files are, and who writes Parquet."""

from collections.abc import Callable, Sequence
from typing import Protocol

from service_core.analytics.reads.export_streams import RowBatch
from service_core.delivery.lake.columns import LakeColumn


class LakeStorage(Protocol):
    """Stores files under paths with folders. A file is visible only when it is complete."""

    async def write_file(self, path: str, content: bytes) -> None:
        """Stores a file durably, in place of one with the same path."""

    async def read_file(self, path: str) -> bytes | None:
        """Returns the content of a file; None if there is none."""

    async def delete_file(self, path: str) -> None:
        """Deletes a file; a missing one is ignored."""

    async def list_files(self, folder: str) -> list[str]:
        """Returns the paths of all files in a folder and its folders."""


class ParquetFile(Protocol):
    """A Parquet file of a table that is being made, in memory."""

    def add_rows(self, batch: RowBatch) -> int:
        """Adds a batch of rows; returns how many they are."""

    @property
    def memory_bytes(self) -> int:
        """Returns about how many bytes its rows take in memory."""

    def encode(self) -> bytes:
        """Returns the content of the file."""


ParquetFileFactory = Callable[[Sequence[LakeColumn]], ParquetFile]
"""Opens a file with some columns; the core has none, since it knows no data frames."""
