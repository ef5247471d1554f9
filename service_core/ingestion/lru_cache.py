"""A cache that keeps the most recently used values."""

from collections import OrderedDict
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class LruCache(Generic[_K, _V]):
    """Keeps the ``limit`` most recently used values."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._values: OrderedDict[_K, _V] = OrderedDict()

    def __contains__(self, key: _K) -> bool:
        return key in self._values

    def get(self, key: _K) -> _V | None:
        """Returns the value of a key and marks it as used; None if it is not cached."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: _K, value: _V) -> None:
        """Stores a value."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > self._max_entries:
            self._values.popitem(last=False)

    def clear(self) -> None:
        """Removes all values."""
        self._values.clear()
