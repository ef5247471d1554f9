"""Stored rows back to event values, and instants as the engine keeps them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from plugins.events_sql.tables import JSON_COLUMNS, plain
from service_core.plugin import COLUMNS, Event

_NAMES: Final = tuple(f.name for f in COLUMNS)
_EMPTY: Final = {name: "[]" if name == "bot_reasons" else "{}" for name in JSON_COLUMNS}


def stored(name: str, value: Any) -> Any:
    """The value of a column as a scalar: collections as JSON text."""
    if value is None or name not in JSON_COLUMNS:
        return value
    return orjson.dumps(value).decode() if value else _EMPTY[name]


def loads(text: str) -> Any:
    """A value kept as JSON text."""
    return orjson.loads(text)


def aware(value: datetime) -> datetime:
    """An instant of the store, which keeps UTC without saying so."""
    return value.replace(tzinfo=UTC)


def naive(value: datetime) -> datetime:
    """An aware instant as the store keeps it."""
    return value.astimezone(UTC).replace(tzinfo=None)


def _reader(name: str, declared: Any) -> Callable[[Any], Any] | None:
    if plain(declared) is datetime:
        return aware
    if name == "bot_reasons":
        return lambda text: tuple(loads(text))
    return loads if name in JSON_COLUMNS else None


_READERS: Final = tuple(
    (position, reader)
    for position, f in enumerate(COLUMNS)
    if (reader := _reader(f.name, f.type)) is not None
)


def event(row: Sequence[Any]) -> Event:
    """The event of a row with the columns of `Event` in order."""
    values = list(row)
    for position, read in _READERS:
        if values[position] is not None:
            values[position] = read(values[position])
    return Event(**dict(zip(_NAMES, values, strict=True)))
