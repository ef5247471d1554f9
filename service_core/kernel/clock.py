"""The `Clock` type and the system clock. Code takes a `Clock` argument so that tests can set the time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

Clock = Callable[[], datetime]
"""Returns the current time as an aware UTC datetime."""


def system_clock() -> datetime:
    """Returns the current time of the machine's clock, aware, in UTC."""
    return datetime.now(UTC)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_milliseconds(instant: datetime) -> int:
    """Returns the whole milliseconds since 1970, truncated, computed without floating point."""
    return (instant - _EPOCH) // timedelta(milliseconds=1)
