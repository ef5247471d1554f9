"""Describes installed plugins as JSON, for ``touchpoint plugins --json`` and ``touchpoint plugin check``."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, Protocol

from hosts.composition.plugin_task_runs import TASK_TYPE_BY_HOOK, TaskRuns
from service_core.extensions.discovery import PluginFault
from service_core.extensions.plugin_info import API_VERSION
from service_core.extensions.plugin_values import LoadedPlugin
from service_core.extensions.registry import Registry
from service_core.kernel.timestamps import format_timestamp


class CallTotals(Protocol):
    """Calls of a plugin in a running service."""

    calls: int
    faults: int
    seconds: float


def describe_plugins(
    registry: Registry,
    totals: Mapping[str, CallTotals] | None = None,
    runs: Mapping[tuple[str, str], TaskRuns] | None = None,
    levels: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Returns the plugins of a registry, the disabled ones, and the faults of those that were left out.

    Args:
        registry: the registry.
        totals: plugin -> its calls in the running service; None if they are unknown.
        runs: hook and id of a background task -> its latest runs; None if they are unknown.
        levels: plugin -> its quality level, of those that have one.
    """
    return {
        "api_version": API_VERSION,
        "plugins": [
            _describe_plugin(plugin)
            | {
                "level": levels.get(plugin.installed.name),
                "calls": _describe_calls(plugin.installed.name, totals),
                "tasks": _describe_tasks(plugin, runs),
            }
            for plugin in registry.loaded_plugins
        ],
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
        "connections": _describe_connections(plugin),
        "provides": {hook: list(ids) for hook, ids in plugin.provided_ids_by_hook.items()},
    }


def _describe_connections(plugin: LoadedPlugin) -> list[dict[str, Any]]:
    """Returns the connections to providers of a plugin, with the names and the help of their credentials."""
    return [
        {"provider": id_, "test": f"touchpoint connection test {id_}", **asdict(declaration)}
        for id_, declaration in plugin.connections.items()
    ]


def _describe_calls(name: str, totals: Mapping[str, CallTotals] | None) -> dict[str, float] | None:
    """Returns the calls of a plugin; None if they are unknown, as of plugins that are not watched."""
    found = None if totals is None else totals.get(name)
    return (
        None
        if found is None
        else {"count": found.calls, "faults": found.faults, "seconds": round(found.seconds, 3)}
    )


def _describe_tasks(
    plugin: LoadedPlugin, runs: Mapping[tuple[str, str], TaskRuns] | None
) -> list[dict[str, Any]]:
    """Returns the background tasks of a plugin; their runs are null if they are unknown."""
    tasks = []
    for hook in TASK_TYPE_BY_HOOK:
        for id_ in plugin.provided_ids_by_hook.get(hook, ()):
            known = None if runs is None else runs.get((hook, id_))
            tasks.append(
                {
                    "hook": hook,
                    "id": id_,
                    "last_run_at": known and known.last_run_at and format_timestamp(known.last_run_at),
                    "last_status": known and known.last_status,
                    "last_error": known and known.last_error,
                    "waiting": known and known.waiting,
                }
            )
    return tasks


def _describe_fault(fault: PluginFault) -> dict[str, str]:
    return {
        "plugin": fault.plugin.name,
        "package": fault.plugin.package,
        "version": fault.plugin.version,
        "message": fault.message,
    }
