"""Spans of time that statements read."""

from datetime import UTC, datetime
from typing import Final

from service_core.plugin import ORDER_DEDUP_WINDOW, TimeRange

_MIN_INSTANT: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_INSTANT: Final = datetime(9999, 1, 1, tzinfo=UTC)


def all_time_span() -> TimeRange:
    """Returns the span of all events."""
    return TimeRange(_MIN_INSTANT, _MAX_INSTANT)


def span_with_repeats(span: TimeRange) -> TimeRange:
    """Returns a span extended by the time before it in which an earlier report makes a conversion a repeat."""
    return TimeRange(max(span.start, _MIN_INSTANT + ORDER_DEDUP_WINDOW) - ORDER_DEDUP_WINDOW, span.end)
