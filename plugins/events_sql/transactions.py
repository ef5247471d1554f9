"""Everything or nothing: what is written together."""

import contextlib
from collections.abc import Iterator

import duckdb


@contextlib.contextmanager
def transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what the block wrote, or nothing of it when it fails.

    A commit that fails has ended its transaction itself; what failed is told, not the roll-back.
    """
    cursor.execute("BEGIN")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        raise
