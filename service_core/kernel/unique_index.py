"""An index of plugin values by a unique key."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from service_core.kernel.errors import StartupError

K = TypeVar("K")
V = TypeVar("V")


def index_unique_or_startup_error(
    values: Iterable[V], key_of: Callable[[V], K], describe: Callable[[V], str]
) -> Mapping[K, V]:
    """Returns a read-only mapping from key to value, in the order of the values.

    Args:
        values: the values of all plugins.
        key_of: returns the key of a value; no two values may have the same one.
        describe: returns the text for a value in the error message, such as ``the metric 'visitors'``.

    Raises:
        StartupError: two values have the same key.
    """
    index: dict[K, V] = {}
    for value in values:
        if key_of(value) in index:
            raise StartupError(
                f"Two plugins provide {describe(value)}. Uninstall one of them, or rename it in one of them."
            )
        index[key_of(value)] = value
    return MappingProxyType(index)
