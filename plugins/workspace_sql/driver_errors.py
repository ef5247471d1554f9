"""Maps errors of database drivers to the exception of the ports."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from service_core.plugin import StoreUnavailable

_STATEMENT_ERRORS: Final = (IntegrityError, DataError, ProgrammingError, NotSupportedError)
"""What a driver says of the statement: that is a rule of the directory, or a fault of it."""


@contextmanager
def map_driver_errors() -> Iterator[None]:
    """Ask the database in the block.

    Raises:
        StoreUnavailable: it is locked for too long, full, unreadable, stopped or not connected. Of a write
            nothing is there, unless the connection was lost while it was committed.
    """
    try:
        yield
    except _STATEMENT_ERRORS:
        raise
    except (DBAPIError, PoolTimeout, sqlite3.Error) as fault:
        raise StoreUnavailable from fault
