"""Converts stored rows to events, and timestamps to and from the store's naive UTC."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from plugins.events_sql.schema.tables import JSON_COLUMNS, without_none
from service_core.plugin import COLUMNS, Event

_FIELD_NAMES: Final = tuple(f.name for f in COLUMNS)
_EMPTY_JSON: Final = {name: "[]" if name == "bot_reasons" else "{}" for name in JSON_COLUMNS}


def to_column_value(field_name: str, value: Any) -> Any:
    """Returns the stored value of a field; collections become JSON text."""
    if value is None or field_name not in JSON_COLUMNS:
        return value
    return orjson.dumps(value).decode() if value else _EMPTY_JSON[field_name]


def parse_json(text: str) -> Any:
    """Returns the value of a JSON text."""
    return orjson.loads(text)


def to_utc(value: datetime) -> datetime:
    """Returns a naive UTC timestamp of the store with its time zone."""
    return value.replace(tzinfo=UTC)


def to_naive_utc(value: datetime) -> datetime:
    """Returns an aware timestamp as the naive UTC that the store uses."""
    return value.astimezone(UTC).replace(tzinfo=None)


def _time_or_json_parser_or_none(name: str, declared: Any) -> Callable[[Any], Any] | None:
    if without_none(declared) is datetime:
        return to_utc
    if name == "bot_reasons":
        return lambda text: tuple(parse_json(text))
    return parse_json if name in JSON_COLUMNS else None


_FIELD_PARSERS: Final = tuple(
    (position, reader)
    for position, f in enumerate(COLUMNS)
    if (reader := _time_or_json_parser_or_none(f.name, f.type)) is not None
)


def row_to_event(row: Sequence[Any]) -> Event:
    """Returns the event of a row that has the columns of `Event` in order."""
    values = list(row)
    for position, read in _FIELD_PARSERS:
        if values[position] is not None:
            values[position] = read(values[position])
    return Event(**dict(zip(_FIELD_NAMES, values, strict=True)))
