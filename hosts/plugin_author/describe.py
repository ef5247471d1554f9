"""Prints what one plugin declares and provides, as JSON; run in a process of its own."""

import json
import sys
from pathlib import Path

from hosts.composition.plugin_descriptions import describe_plugins
from service_core import builtin
from service_core.extensions.discovery import PluginSelection
from service_core.extensions.registry import Registry, collect_plugins_into_registry


def main() -> None:
    """Prints the plugin; arguments are the folder of one-file plugins, or an empty text, and its name."""
    folder = Path(sys.argv[1]) if sys.argv[1] else None
    others = {file.stem for file in folder.glob("*.py")} - {sys.argv[2]} if folder else set()
    registry = collect_plugins_into_registry(
        [("builtin", builtin)], selection=PluginSelection(frozenset(others), folder, leave_out_faulty=True)
    )
    sys.stdout.write("\n" + json.dumps(describe_plugin_and_credentials(registry, sys.argv[2])))


def describe_plugin_and_credentials(registry: Registry, name: str) -> dict[str, object]:
    """Returns the declaration of a plugin, its faults, and the names of the credentials that it declares."""
    loaded = [plugin for plugin in registry.loaded_plugins if plugin.installed.name == name]
    names = {
        name
        for plugin in loaded
        for declaration in plugin.connections.values()
        for name in declaration.credential_names
    }
    described = {plugin["name"]: plugin for plugin in describe_plugins(registry)["plugins"]}
    return {
        "plugin": described[name] | {"is_declared": bool(loaded[0].info.label)} if loaded else None,
        "faults": [fault.message for fault in registry.faults if fault.plugin.name == name],
        "credential_names": sorted(names),
    }


if __name__ == "__main__":
    main()
