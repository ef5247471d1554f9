"""One process at a time consumes the queue of a data folder.

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
    """Try to become the consumer of a data folder for the length of the context.

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
