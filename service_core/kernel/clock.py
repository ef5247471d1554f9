"""Time enters the house through one door, so tests can hold it still."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the present as an aware UTC datetime."""


def system_clock() -> datetime:
    """The present by the machine's clock, aware, in UTC."""
    return datetime.now(UTC)
