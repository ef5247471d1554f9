"""Determines when an event happened from the time its client sent."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

NONE: Final = "none"
CLAMPED: Final = "clamped"
REPLACED: Final = "replaced"

EARLIEST_EVENT_TIME: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""Earlier times are replaced by the time of receipt."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM: Final = 1e11
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)


def replace_or_clamp_event_time(sent_time: object, received_at: datetime) -> tuple[datetime, str]:
    """Returns the event's time in UTC, and how the sent time was adjusted: `NONE`, `CLAMPED` or `REPLACED`.

    Args:
        sent_time: ISO 8601 text, epoch seconds or milliseconds; a time without offset is UTC.
        received_at: aware UTC; it replaces an unreadable time or one before 2020, and limits a future one. A missing
            time becomes this, too, without counting as adjusted.
    """
    if sent_time is None or sent_time == "":
        return received_at, NONE
    instant = parse_iso_or_epoch_time(sent_time)
    if instant is None or instant < EARLIEST_EVENT_TIME:
        return received_at, REPLACED
    if instant > received_at:
        return received_at, CLAMPED
    return instant, NONE


def parse_iso_or_epoch_time(sent_time: object) -> datetime | None:
    """Parses a time sent by a client to UTC; None if it cannot be parsed."""
    try:
        if isinstance(sent_time, str):
            text = sent_time.strip()
            return _from_epoch(float(text)) if _NUMBER.fullmatch(text) else _from_iso(text)
        if isinstance(sent_time, int | float) and not isinstance(sent_time, bool):
            return _from_epoch(sent_time)
    except (ValueError, OverflowError):
        return None
    return None


def _from_epoch(number: float) -> datetime:
    unit = "milliseconds" if number >= _MILLISECONDS_FROM else "seconds"
    return _EPOCH + timedelta(**{unit: number})


def _from_iso(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
