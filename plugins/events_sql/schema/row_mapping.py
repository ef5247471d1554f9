"""Stored rows back to event values, and instants as the engine keeps them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from plugins.events_sql.schema.tables import JSON_COLUMNS, without_none
from service_core.plugin import COLUMNS, Event

_FIELD_NAMES: Final = tuple(f.name for f in COLUMNS)
_EMPTY_JSON: Final = {name: "[]" if name == "bot_reasons" else "{}" for name in JSON_COLUMNS}


def to_column_value(name: str, value: Any) -> Any:
    """The value of a column as a scalar: collections as JSON text."""
    if value is None or name not in JSON_COLUMNS:
        return value
    return orjson.dumps(value).decode() if value else _EMPTY_JSON[name]


def parse_json(text: str) -> Any:
    """A value kept as JSON text."""
    return orjson.loads(text)


def to_utc(value: datetime) -> datetime:
    """An instant of the store, which keeps UTC without saying so."""
    return value.replace(tzinfo=UTC)


def to_naive_utc(value: datetime) -> datetime:
    """An aware instant as the store keeps it."""
    return value.astimezone(UTC).replace(tzinfo=None)


def _field_parser(name: str, declared: Any) -> Callable[[Any], Any] | None:
    if without_none(declared) is datetime:
        return to_utc
    if name == "bot_reasons":
        return lambda text: tuple(parse_json(text))
    return parse_json if name in JSON_COLUMNS else None


_FIELD_PARSERS: Final = tuple(
    (position, reader)
    for position, f in enumerate(COLUMNS)
    if (reader := _field_parser(f.name, f.type)) is not None
)


def row_to_event(row: Sequence[Any]) -> Event:
    """The event of a row with the columns of `Event` in order."""
    values = list(row)
    for position, read in _FIELD_PARSERS:
        if values[position] is not None:
            values[position] = read(values[position])
    return Event(**dict(zip(_FIELD_NAMES, values, strict=True)))
