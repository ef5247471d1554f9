"""What plugins bring, by what names it: two of one name stop the start."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from service_core.kernel.errors import StartupError

K = TypeVar("K")
V = TypeVar("V")


def index_unique(values: Iterable[V], key: Callable[[V], K], describe: Callable[[V], str]) -> Mapping[K, V]:
    """The values by name, in their order, frozen.

    Args:
        values: everything that was brought.
        name: value -> what only one may have.
        told: value -> what a refusal calls it, as in ``the metric 'visitors'``.

    Raises:
        StartupError: two have one name.
    """
    found: dict[K, V] = {}
    for value in values:
        if key(value) in found:
            raise StartupError(
                f"Plugins bring {describe(value)} twice. Uninstall one of them, or rename what one brings."
            )
        found[key(value)] = value
    return MappingProxyType(found)
