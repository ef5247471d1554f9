"""Column types that return the value that was written, on every engine."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator, TypeEngine

CODE_POINT_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Text that is compared by code point, as Python compares it, whatever the collation of the database."""


class Instant(TypeDecorator[datetime]):
    """An aware datetime, stored and returned in UTC. SQLite drops the time zone, so it is added again."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Converts the datetime to UTC.

        Raises:
            ValueError: the datetime is naive.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the datetime in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class DecimalText(TypeDecorator[Decimal]):
    """A decimal, stored as text with all its digits."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the digits."""
        return None if value is None else f"{value:f}"

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Decimal | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the decimal."""
        return None if value is None else Decimal(value)


class EnumText(TypeDecorator[StrEnum]):
    """A member of an enum, stored as its value."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, enum: type[StrEnum]) -> None:
        super().__init__()
        self.enum = enum

    def process_bind_param(self, value: StrEnum | str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the value of the member."""
        return None if value is None else self.enum(value).value

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> StrEnum | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the member of a value."""
        return None if value is None else self.enum(value)


class JsonValue(TypeDecorator[Any]):
    """A value stored as JSON.

    Args:
        dump: turns the value into JSON data.
        load: turns JSON data into the value.
    """

    impl = sa.JSON(none_as_null=True)
    cache_ok = True

    def __init__(self, dump: Callable[[Any], Any], load: Callable[[Any], Any]) -> None:
        super().__init__()
        self.dump = dump
        self.load = load

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the JSON data of the value."""
        return None if value is None else self.dump(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """Returns the value of the JSON data."""
        return None if value is None else self.load(value)


_PLAIN_TYPES: Final[Mapping[Any, TypeEngine[Any]]] = {
    str: sa.Text(),
    int: sa.BigInteger(),
    bool: sa.Boolean(),
    bytes: sa.LargeBinary(),
    date: sa.Date(),
    datetime: Instant(),
    Decimal: DecimalText(),
    UUID: sa.Uuid(),
}


def column_type_of(annotation: Any) -> TypeEngine[Any]:
    """Returns the type of a column that stores the values of a field with this annotation.

    Sets are stored as sorted lists, tuples as lists, and nested tuples as nested lists.
    """
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not type(None))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is frozenset:
        item = arguments[0]
        return JsonValue(sorted, lambda items: frozenset(map(item, items)))
    if origin is tuple:
        item = tuple if get_origin(arguments[0]) is tuple else arguments[0]
        return JsonValue(list, lambda items: tuple(map(item, items)))
    if origin in (dict, Mapping):
        return JsonValue(dict, dict)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return EnumText(annotation)
    return _PLAIN_TYPES[annotation]


def is_optional(annotation: Any) -> bool:
    """Returns whether a field with this annotation may be None."""
    return type(None) in get_args(annotation)


def plain_type(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    """Returns the type that gives stored enum values, decimals and JSON as they are stored."""
    return type_.impl_instance if isinstance(type_, EnumText | DecimalText | JsonValue) else type_
