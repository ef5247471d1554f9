"""Values <-> rows, where a table has one column per field of a dataclass."""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import lru_cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_Value = TypeVar("_Value")


def row_of(value: Any) -> dict[str, Any]:
    """The columns of a dataclass: names of enum members, and sets as sorted lists."""
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def value_of(kind: type[_Value], row: Mapping[Any, Any], prefix: str = "") -> _Value:
    """The dataclass of a row whose columns may carry a prefix."""
    described: Any = kind
    return kind(**{name: _read(hint, row[f"{prefix}{name}"]) for name, hint in _hints(described).items()})


@lru_cache(maxsize=64)
def _hints(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(_plain(item) for item in value)
    return value.value if isinstance(value, StrEnum) else value


def _read(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(hint, UnionType):
        return _read(next(part for part in get_args(hint) if part is not type(None)), value)
    if get_origin(hint) is frozenset:
        return frozenset(_read(get_args(hint)[0], item) for item in value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, StrEnum) else value
