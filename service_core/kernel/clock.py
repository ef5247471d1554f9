"""Time enters the house through one door, so tests can hold it still."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

Clock = Callable[[], datetime]
"""Gives the present as an aware UTC datetime."""


def system_clock() -> datetime:
    """The present by the machine's clock, aware, in UTC."""
    return datetime.now(UTC)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_milliseconds(instant: datetime) -> int:
    """Milliseconds since 1970, cut and not rounded; no float is in the way."""
    return (instant - _EPOCH) // timedelta(milliseconds=1)
