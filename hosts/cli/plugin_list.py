"""``touchpoint plugins``: installed plugins with their packages, what they provide, and their faults."""

import json
import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, error_console, output_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from rich.table import Table

    from hosts.composition.plugin_task_runs import TaskRuns
    from hosts.monitoring.plugin_totals import PluginTotals
    from service_core.extensions.plugin_values import LoadedPlugin
    from service_core.extensions.registry import Registry
    from service_core.kernel.settings import Settings

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
"""Keys of TOML that need no quotes."""


def list_plugins(
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
    with_hashes: Annotated[
        bool, typer.Option("--hashes", help="Print the hashes for plugins.allowed, and nothing else.")
    ] = False,
) -> None:
    """List installed plugins and what they provide.

    Packages, versions, adapters, metrics, dimensions, attribution models, ad platforms, revenue providers; with a
    settings file also the adapters that deployment uses. A faulty plugin is left out, and named with its package.
    Where `monitoring.listen` names an address of this machine, also the calls and faults since the service was started.
    With --json also the last run of each background task.
    """
    from hosts.composition.compose import load_registry_of_deployment
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.composition.plugin_descriptions import describe_plugins

    settings = _load_settings_if_named_or_there(config)
    if with_hashes:
        _print_hashes_as_setting(settings or load_settings_with_environment(None), config)
        return
    registry = load_registry_of_deployment(
        settings or load_settings_with_environment(None),
        settings_folder(config),
        leave_out_faulty=True,
    )
    totals = _read_totals_of_running_service(settings)
    if as_json:
        runs = _read_task_runs_of_deployment(config, registry) if settings is not None else None
        typer.echo(
            json.dumps(describe_plugins(registry, totals, runs, _read_levels(registry)), ensure_ascii=False)
        )
        return
    _print_tables(registry, settings, totals)
    print_plugin_faults(registry)


def _print_hashes_as_setting(settings: "Settings", config: "Path") -> None:
    """Prints the setting that allows the installed plugins of others as they are; none of them is imported."""
    from dataclasses import replace

    from hosts.composition.load_settings import settings_folder
    from hosts.composition.plugin_selection import select_plugins
    from service_core.extensions.discovery import PluginOrigin, find_plugins
    from service_core.kernel.errors import StartupError

    selection = replace(select_plugins(settings.plugins, settings_folder(config)), allowed=None)
    installed, _ = find_plugins(selection, (), discover_entry_points=True)
    typer.echo("[plugins.allowed]")
    for plugin in installed:
        if plugin.origin is not PluginOrigin.BUILT_IN:
            try:
                key = plugin.name if _BARE_KEY.fullmatch(plugin.name) else json.dumps(plugin.name)
                hash_ = plugin.hash_files().hash
                typer.echo(f'{key} = "{hash_}"  # {plugin.package} {plugin.version}'.rstrip())
            except StartupError as fault:
                typer.echo(f"# {plugin.name}: {fault}")


def print_plugin_faults(registry: "Registry") -> None:
    """Prints a sentence for each plugin that was left out."""
    for fault in registry.faults:
        error_console().print(fault.message, style="bold red", soft_wrap=True, markup=False)


def list_redacted_adapter_urls(settings: "Settings") -> "Iterator[tuple[str, str]]":
    """Yields the setting and the URL of each adapter that the settings name."""
    from hosts.composition.load_settings import redact_url
    from hosts.composition.ports import PORTS

    for port in PORTS.values():
        if url := port.url(settings):
            yield port.setting, redact_url(url)


def render_table(headings: tuple[str, ...], rows: "Iterable[tuple[str, ...]]") -> "Table":
    """Returns a table without lines."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _load_settings_if_named_or_there(config: "Path") -> "Settings | None":
    """Returns the settings of a file; None where the default file is absent."""
    from hosts.composition.load_settings import load_settings_with_environment

    return load_settings_with_environment(config) if config.exists() or config != DEFAULT_CONFIG else None


def _read_totals_of_running_service(settings: "Settings | None") -> "Mapping[str, PluginTotals] | None":
    """Returns the calls of plugins in the running service; None if it has no metrics address or does not answer."""
    if settings is None or not settings.monitoring.listen:
        return None
    from hosts.monitoring.plugin_totals import read_plugin_totals

    return read_plugin_totals(settings.monitoring.listen)


def _read_task_runs_of_deployment(
    config: "Path", registry: "Registry"
) -> "Mapping[tuple[str, str], TaskRuns] | None":
    """Returns the latest runs of the background tasks of plugins; None if the deployment cannot be read."""
    import asyncio

    from hosts.cli.deployment import open_workspace_store
    from hosts.composition.plugin_task_runs import read_task_runs
    from service_core.analytics.ports import StoreUnavailable
    from service_core.kernel.errors import StartupError

    async def read() -> "Mapping[tuple[str, str], TaskRuns]":
        async with open_workspace_store(config) as store:
            return await read_task_runs(store, registry)

    try:
        return asyncio.run(read())
    except (StartupError, StoreUnavailable):
        return None


def _print_tables(
    registry: "Registry", settings: "Settings | None", totals: "Mapping[str, PluginTotals] | None"
) -> None:
    console = output_console()
    for table in _build_tables(registry, settings, totals):
        console.print(table)
        console.print()
    console.print(render_table(("plugins",), [(", ".join(registry.plugins),)]))


def _build_tables(
    registry: "Registry", settings: "Settings | None", totals: "Mapping[str, PluginTotals] | None"
) -> "Iterator[Table]":
    levels = _read_levels(registry)
    yield render_table(
        ("plugin", "label", "version", "package", "level", "provides"),
        (_plugin_row(plugin, levels.get(plugin.installed.name, "")) for plugin in registry.loaded_plugins),
    )
    if totals is not None:
        yield render_table(("plugin", "calls", "faults", "seconds"), _total_rows(totals))
    adapters = sorted(registry.adapters.items())
    yield render_table(
        ("port", "scheme", "adapter"),
        ((port, f"{scheme}://", one.summary) for (port, scheme), one in adapters),
    )
    metrics = registry.catalog.metrics.values()
    yield render_table(("metric", "unit", "name"), ((one.id, one.unit.value, one.label) for one in metrics))
    dimensions = registry.catalog.dimensions.values()
    yield render_table(("dimension", "name"), ((one.id, one.label) for one in dimensions))
    yield render_table(("model", "name"), ((one.id, one.label) for one in registry.models.by_id.values()))
    yield render_table(("provider", "for"), _list_providers_with_purpose(registry))
    if settings is not None:
        yield render_table(("setting", "adapter"), list_redacted_adapter_urls(settings))


def _read_levels(registry: "Registry") -> "Mapping[str, str]":
    """Returns plugin -> its level by the report in its package, of the plugins of others that have one."""
    from pathlib import Path

    from hosts.plugin_author.saved_report import read_level_of_unchanged_code
    from service_core.extensions.discovery import PluginOrigin

    levels = {}
    for plugin in registry.loaded_plugins:
        if plugin.installed.origin is PluginOrigin.BUILT_IN:
            continue
        if plugin.installed.origin is PluginOrigin.FOLDER:
            name: str | None = plugin.installed.package  # loading it a second time would run it again
        else:
            name = getattr(plugin.installed.load(), "__file__", None)
        if not name:
            continue
        file = Path(name)
        level = read_level_of_unchanged_code(file.parent if file.name == "__init__.py" else file)
        if level is not None:
            levels[plugin.installed.name] = level.value
    return levels


def _plugin_row(plugin: "LoadedPlugin", level: str) -> tuple[str, ...]:
    counts = ((hook.replace("_", " "), len(ids)) for hook, ids in plugin.provided_ids_by_hook.items())
    provides = ", ".join(f"{count} {noun if count > 1 else noun.removesuffix('s')}" for noun, count in counts)
    return plugin.installed.name, plugin.label, plugin.version, plugin.installed.package, level, provides


def _total_rows(totals: "Mapping[str, PluginTotals]") -> "Iterator[tuple[str, ...]]":
    for name, total in sorted(totals.items()):
        yield name, str(total.calls), str(total.faults), f"{total.seconds:.1f}"


def _list_providers_with_purpose(registry: "Registry") -> "Iterator[tuple[str, str]]":
    """Rows of what can be connected, and the data it delivers or receives."""
    for providers, purpose in (
        (registry.ad_platforms, "spend"),
        (registry.conversion_senders, "conversions"),
        (registry.revenue_providers, "revenue"),
        (registry.webhook_sources, "events"),
    ):
        yield from ((provider_id, purpose) for provider_id in sorted(providers))
