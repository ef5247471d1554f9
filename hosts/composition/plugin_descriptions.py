"""Describes installed plugins as JSON, for ``touchpoint plugins --json`` and ``touchpoint plugin check``."""

from typing import Any

from service_core.extensions.discovery import PluginFault
from service_core.extensions.plugin_info import API_VERSION
from service_core.extensions.plugin_values import LoadedPlugin
from service_core.extensions.registry import Registry


def describe_plugins(registry: Registry) -> dict[str, Any]:
    """Returns the plugins of a registry, the disabled ones, and the faults of those that were left out."""
    return {
        "api_version": API_VERSION,
        "plugins": [_describe_plugin(plugin) for plugin in registry.loaded_plugins],
        "disabled": sorted(registry.disabled),
        "faults": [_describe_fault(fault) for fault in registry.faults],
    }


def _describe_plugin(plugin: LoadedPlugin) -> dict[str, Any]:
    return {
        "name": plugin.installed.name,
        "label": plugin.label,
        "icon": plugin.info.icon,
        "package": plugin.installed.package,
        "version": plugin.version,
        "origin": plugin.installed.origin.value,
        "homepage": plugin.homepage,
        "api_version": plugin.info.api_version,
        "hosts": list(plugin.info.hosts),
        "reads": [kind.value for kind in plugin.info.reads],
        "settings": sorted(plugin.info.settings.model_fields) if plugin.info.settings is not None else [],
        "provides": {hook: list(ids) for hook, ids in plugin.provided_ids.items()},
    }


def _describe_fault(fault: PluginFault) -> dict[str, str]:
    return {
        "plugin": fault.plugin.name,
        "package": fault.plugin.package,
        "version": fault.plugin.version,
        "message": fault.message,
    }
