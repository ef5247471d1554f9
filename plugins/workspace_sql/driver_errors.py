"""Maps errors of database drivers to the exception of the ports."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from service_core.plugin import StoreUnavailable

_STATEMENT_ERRORS: Final = (IntegrityError, DataError, ProgrammingError, NotSupportedError)
"""Errors of a statement, such as a violated constraint. They do not mean that the database is unavailable."""


@contextmanager
def driver_errors_as_store_unavailable() -> Iterator[None]:
    """Raises `StoreUnavailable` for errors of the driver in the block that mean that the database is unavailable.

    Raises:
        StoreUnavailable: it is locked for too long, full, unreadable, stopped or not connected. A write was not
            applied, unless the connection was lost during its commit.
    """
    try:
        yield
    except _STATEMENT_ERRORS:
        raise
    except (DBAPIError, PoolTimeout, sqlite3.Error) as fault:
        raise StoreUnavailable from fault
