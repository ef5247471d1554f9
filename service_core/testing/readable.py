"""The readable event store that others are compared with, wherever further plugins are installed."""

from functools import cache
from pathlib import Path
from typing import Any

from service_core import builtin
from service_core.extension.registry import Registry, load


@cache
def _installed() -> Registry:
    # With the core: an installed metric pack names its dimensions.
    return load([("builtin", builtin)])


def readable_store() -> Any:
    """A new, empty ``memory://``."""
    return _installed().open("events", "memory://", folder=Path())
