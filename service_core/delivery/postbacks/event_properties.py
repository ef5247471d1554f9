"""Reads single values of an event by the names that rules use."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from service_core.ingestion.models import WIRE_COLUMNS, Event
from service_core.kernel.money import to_major
from service_core.kernel.timestamps import format_timestamp

_COLUMNS: Final = frozenset(WIRE_COLUMNS) - {"event_data"}


def get_path(data: Any, path: str) -> Any:
    """Returns the value at a dot-separated path; None if there is none."""
    for key in path.split("."):
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def event_value_as_api_shows_it(event: Event, column_or_path: str) -> Any:
    """Returns a column as the API shows it, or a value of ``event_data``."""
    if column_or_path not in _COLUMNS:
        return get_path(event.event_data, column_or_path)
    value = getattr(event, column_or_path)
    if column_or_path == "revenue" and value is not None and event.currency is not None:
        return float(to_major(value, event.currency))
    return format_timestamp(value) if isinstance(value, datetime) else value
