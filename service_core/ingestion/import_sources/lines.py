"""The lines of a file, none longer than an event can be."""

from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final

MAX_LINE_BYTES: Final = 2_000_000
"""Longer lines are no event: `/track` refuses a body of more than a megabyte."""


def iterate_lines_and_cut_long_ones(file: BufferedIOBase) -> Iterator[bytes]:
    """Yields each line; of a longer one the first `MAX_LINE_BYTES`, and the rest is read and dropped.

    A file without line ends, or one that unpacks to such a file, needs at most `MAX_LINE_BYTES` of memory.
    """
    while line := file.readline(MAX_LINE_BYTES):
        yield line
        while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
