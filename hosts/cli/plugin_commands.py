"""Commands of plugins: found when somebody enters a name that is not built in."""

import os
from pathlib import Path
from typing import Any, Final

from hosts.cli.options import DEFAULT_CONFIG

CONFIG_KEY: Final = "touchpoint.config"
"""Key of the context's ``meta`` under which the value of ``--config`` stands."""


def find_config_option(arguments: list[str]) -> str | None:
    """Returns the value of ``--config`` among arguments; None without it."""
    for position, argument in enumerate(arguments):
        if argument == "--config":
            return arguments[position + 1] if position + 1 < len(arguments) else None
        if argument.startswith("--config="):
            return argument.partition("=")[2]
    return None


def find_command_of_plugin(context: Any, name: str) -> Any:
    """Returns the commands that a plugin brings under a name; None if no usable plugin does.

    Args:
        context: context of the command line; its options and ``meta`` are read.
        name: what was entered.

    Raises:
        StartupError: the plugin gives something else than commands, or its settings do not fit.
    """
    from typer import Typer
    from typer.main import get_group

    from hosts.cli.plugin_list import print_plugin_faults
    from hosts.cli.without_plugins import leave_out_plugins_until_close
    from hosts.composition.compose import load_registry_of_deployment
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.composition.plugin_settings import validate_plugin_settings
    from service_core.kernel.errors import StartupError

    if without := context.params.get("without_plugin"):
        leave_out_plugins_until_close(context, without)
    config = Path(context.meta.get(CONFIG_KEY) or os.environ.get("TOUCHPOINT_CONFIG") or DEFAULT_CONFIG)
    settings = load_settings_with_environment(config if config.exists() else None)
    registry = load_registry_of_deployment(settings, settings_folder(config), leave_out_faulty=True)
    group = registry.command_groups.get(name)
    if group is None:
        print_plugin_faults(registry)
        return None
    (owner,) = (plugin for plugin in registry.loaded_plugins if group in plugin.values["command_groups"])
    model = owner.info.settings
    values = validate_plugin_settings(registry, settings.plugins)
    commands = group.open(None if model is None else values[model])
    if not isinstance(commands, Typer):
        raise StartupError(
            f"Plugin {owner.installed.described}: its commands {name!r} are {commands!r}, which is no typer.Typer."
        )
    return get_group(commands)
