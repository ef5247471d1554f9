"""Validates the tables ``[plugins.NAME]`` of the settings file by the models that plugins declare."""

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError

from service_core.extensions.plugin_values import LoadedPlugin
from service_core.extensions.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PluginsSettings


def validate_plugin_settings(
    registry: Registry, settings: PluginsSettings
) -> Mapping[type[BaseModel], BaseModel]:
    """Returns the settings of each plugin that declares a model, by the model.

    Raises:
        StartupError: a table is of no plugin, of one without settings, or does not fit the model.
    """
    plugin_by_name = {plugin.installed.name: plugin for plugin in registry.loaded_plugins}
    left_out = {fault.plugin.name for fault in registry.faults} | registry.disabled
    for name in settings.tables:
        if name not in plugin_by_name and name not in left_out:
            raise StartupError(_describe_unknown_table(name, list(plugin_by_name)))
    values = {}
    for name, plugin in plugin_by_name.items():
        table = settings.tables.get(name)
        if plugin.info.settings is not None:
            values[plugin.info.settings] = _validate_table(plugin, plugin.info.settings, table)
        elif table:
            raise StartupError(
                f"[plugins.{name}] in the settings: plugin {plugin.installed.described} has no settings."
            )
    return values


def _validate_table(plugin: LoadedPlugin, model: type[BaseModel], table: object) -> BaseModel:
    try:
        return model.model_validate(table or {})
    except ValidationError as fault:
        problems = "; ".join(
            f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors()
        )
        raise StartupError(
            f"[plugins.{plugin.installed.name}] does not fit plugin {plugin.installed.described}: {problems}."
        ) from None


def _describe_unknown_table(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    advice = f"Did you mean {near[0]}?" if near else "`touchpoint plugins` lists those that are."
    return f"[plugins.{name}] in the settings: no plugin {name} is installed. {advice}"
