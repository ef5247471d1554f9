"""Opens the reference event store ``memory://``, with which other stores are compared."""

from functools import cache
from pathlib import Path
from typing import Any

from service_core import builtin
from service_core.extensions.registry import Registry, collect_plugins_into_registry


@cache
def _installed_registry() -> Registry:
    # The core plugins are needed: installed metric packs refer to their dimensions.
    return collect_plugins_into_registry([("builtin", builtin)])


def open_reference_event_store() -> Any:
    """Returns a new, empty ``memory://`` store."""
    return _installed_registry().open_adapter("events", "memory://", base_folder=Path())
