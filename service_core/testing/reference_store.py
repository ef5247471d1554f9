"""The readable event store that others are compared with, wherever further plugins are installed."""

from functools import cache
from pathlib import Path
from typing import Any

from service_core import builtin
from service_core.extensions.registry import Registry, load_plugins


@cache
def _installed_registry() -> Registry:
    # With the core: an installed metric pack names its dimensions.
    return load_plugins([("builtin", builtin)])


def reference_event_store() -> Any:
    """A new, empty ``memory://``."""
    return _installed_registry().open_adapter("events", "memory://", folder=Path())
