"""Builds the transforms of a deployment from the settings of their plugins."""

import logging
from collections.abc import Callable
from typing import Final

from hosts.composition.plugin_settings import validate_plugin_settings
from hosts.composition.watched_calls import log_if_blocking
from service_core.extensions.registry import Registry
from service_core.ingestion.transforms.run_transforms import EventTransforms, TransformUse
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PluginsSettings

_LOG: Final = logging.getLogger("touchpoint.transforms")

ObserveTransform = Callable[[str, TransformUse], None]
"""Gets the name of a plugin, and what one of its transforms did in a batch."""


def build_event_transforms(
    registry: Registry, settings: PluginsSettings, observe: ObserveTransform
) -> EventTransforms:
    """Returns the transforms that the settings ask for.

    Args:
        registry: the installed plugins.
        settings: has the table of each plugin.
        observe: gets what each transform did in a batch.

    Raises:
        StartupError: a table does not fit, or a transform cannot be built.
    """
    values = validate_plugin_settings(registry, settings)
    functions = []
    for plugin in registry.loaded_plugins:
        for transform in plugin.values.get("transforms", ()):
            try:
                function = transform.build(plugin.info.settings and values[plugin.info.settings])
            except Exception as error:
                raise StartupError(
                    f"The transform {transform.id!r} of plugin {plugin.installed.described} cannot be built. "
                    f"{type(error).__name__}: {error}."
                ) from error
            if function is not None:
                functions.append((transform, function))
    return EventTransforms(functions, _TransformLog(registry, observe).record)


class _TransformLog:
    """Passes on what transforms did, and logs when one blocks the event loop, is left out, and works again.

    Args:
        registry: the installed plugins.
        observe: gets what each transform did in a batch.
    """

    def __init__(self, registry: Registry, observe: ObserveTransform) -> None:
        self._registry = registry
        self._observe = observe
        self._left_out: set[str] = set()

    def record(self, use: TransformUse) -> None:
        """Passes on what a transform did."""
        plugin = self._registry.plugin_of_value("transforms", use.transform_id)
        name = plugin.name if plugin is not None else ""
        self._observe(name, use)
        log_if_blocking(name, use.transform_id, use.longest_seconds)
        if use.is_left_out and use.transform_id not in self._left_out:
            self._left_out.add(use.transform_id)
            _LOG.error("The transform %s of plugin %s keeps failing and is left out.", use.transform_id, name)
        elif not use.is_left_out and use.transform_id in self._left_out:
            self._left_out.discard(use.transform_id)
            _LOG.warning("The transform %s of plugin %s is tried again.", use.transform_id, name)
