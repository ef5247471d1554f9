"""A bounded memory of what was used last."""

from collections import OrderedDict
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class LruCache(Generic[_K, _V]):
    """Keeps the ``limit`` values used last; the oldest is forgotten first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[_K, _V] = OrderedDict()

    def __contains__(self, key: _K) -> bool:
        return key in self._values

    def get(self, key: _K) -> _V | None:
        """The value of a key, None when unknown or forgotten; a look counts as a use."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: _K, value: _V) -> None:
        """Remember a value."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
