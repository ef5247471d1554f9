"""A lock that lets one process at a time consume the queue of a data folder.

The lock is the operating system's, so it ends with the process that holds it, however that ends.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOCK_FILE: Final = ".consumer.lock"


@contextmanager
def try_consumer_lock(folder: Path) -> Iterator[bool]:
    """Gives whether this process holds the consumer lock of a data folder inside the block.

    Yields:
        True when this process is the consumer now; False when another one is.
    """
    with (folder / LOCK_FILE).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
