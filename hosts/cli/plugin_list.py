"""``touchpoint plugins``: installed plugins with their packages, what they provide, and their faults."""

import json
from typing import TYPE_CHECKING

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, error_console, output_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rich.table import Table

    from service_core.extensions.plugin_values import LoadedPlugin
    from service_core.extensions.registry import Registry
    from service_core.kernel.settings import Settings


def list_plugins(config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """List installed plugins and what they provide.

    Packages, versions, adapters, metrics, dimensions, attribution models, ad platforms, revenue providers; with a
    settings file also the adapters that deployment uses. A faulty plugin is left out, and named with its package.
    """
    from hosts.composition.compose import load_registry_of_deployment
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.composition.plugin_descriptions import describe_plugins

    settings = _load_settings_if_named_or_there(config)
    registry = load_registry_of_deployment(
        settings or load_settings_with_environment(None),
        settings_folder(config),
        leave_out_faulty=True,
    )
    if as_json:
        typer.echo(json.dumps(describe_plugins(registry), ensure_ascii=False))
        return
    _print_tables(registry, settings)
    print_plugin_faults(registry)


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


def _print_tables(registry: "Registry", settings: "Settings | None") -> None:
    console = output_console()
    for table in _tables(registry, settings):
        console.print(table)
        console.print()
    console.print(render_table(("plugins",), [(", ".join(registry.plugins),)]))


def _tables(registry: "Registry", settings: "Settings | None") -> "Iterator[Table]":
    yield render_table(
        ("plugin", "version", "package", "provides"), map(_plugin_row, registry.loaded_plugins)
    )
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


def _plugin_row(plugin: "LoadedPlugin") -> tuple[str, ...]:
    counts = ((hook.replace("_", " "), len(ids)) for hook, ids in plugin.provided_ids.items())
    provides = ", ".join(f"{count} {noun if count > 1 else noun.removesuffix('s')}" for noun, count in counts)
    return plugin.installed.name, plugin.version, plugin.installed.package, provides


def _list_providers_with_purpose(registry: "Registry") -> "Iterator[tuple[str, str]]":
    """Rows of what can be connected, and the data it delivers or receives."""
    for providers, purpose in (
        (registry.ad_platforms, "spend"),
        (registry.conversion_senders, "conversions"),
        (registry.revenue_providers, "revenue"),
    ):
        yield from ((provider_id, purpose) for provider_id in sorted(providers))
