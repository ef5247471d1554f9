"""``touchpoint plugins`` and ``touchpoint config check``: what is installed and what would run."""

from typing import TYPE_CHECKING, Any

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, output_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from service_core.extensions.registry import Registry
    from service_core.kernel.settings import Settings

config = typer.Typer(help="Check the settings.", no_args_is_help=True, rich_markup_mode=None)


@config.callback()
def _config_group() -> None:
    """Check the settings."""


def list_plugins(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List installed plugins and what they provide.

    Adapters, metrics, dimensions, attribution models, ad platforms, revenue providers; with a settings
    file also the adapters that deployment uses.
    """
    from hosts.composition.compose import load_installed_registry_once
    from hosts.composition.load_settings import load_settings_with_environment

    registry = load_installed_registry_once()
    # The default file need not be there; one that was named is read, or the reason why not is printed.
    settings = load_settings_with_environment(config) if config.exists() or config != DEFAULT_CONFIG else None
    adapters = (
        (port, f"{scheme}://", one.summary) for (port, scheme), one in sorted(registry.adapters.items())
    )
    metrics = ((one.id, one.unit.value, one.label) for one in registry.catalog.metrics.values())
    console = output_console()
    console.print(_render_table(("port", "scheme", "adapter"), adapters))
    console.print()
    console.print(_render_table(("metric", "unit", "name"), metrics))
    console.print()
    dimensions = ((one.id, one.label) for one in registry.catalog.dimensions.values())
    console.print(_render_table(("dimension", "name"), dimensions))
    console.print()
    console.print(
        _render_table(("model", "name"), ((one.id, one.label) for one in registry.models.by_id.values()))
    )
    console.print()
    console.print(_render_table(("provider", "for"), _list_providers_with_purpose(registry)))
    console.print()
    if settings is not None:
        console.print(_render_table(("setting", "adapter"), _list_redacted_adapter_urls(settings)))
        console.print()
    console.print(_render_table(("plugins",), [(", ".join(registry.plugins),)]))


def _list_providers_with_purpose(registry: "Registry") -> "Iterator[tuple[str, str]]":
    """Rows of what can be connected, and the data it delivers or receives."""
    for providers, purpose in (
        (registry.ad_platforms, "spend"),
        (registry.conversion_senders, "conversions"),
        (registry.revenue_providers, "revenue"),
    ):
        yield from ((provider_id, purpose) for provider_id in sorted(providers))


@config.command("check")
def check_settings_and_adapters(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Check the settings and print what would run.

    Loads the settings and every plugin, checks that every server that the settings name answers, and
    starts nothing: no mail is sent and no file is written.
    """
    import asyncio
    import logging

    from hosts.asgi_runner import require_server_installed
    from hosts.cli.deployment import load_and_compose_service
    from hosts.composition.ports import PORTS
    from hosts.startup_warnings import list_public_free_signup_warnings

    logging.getLogger().addHandler(logging.NullHandler())  # what drivers warn of stands in the sentence
    service = load_and_compose_service(config)
    settings, registry = service.settings, service.registry
    used = [port.name for port in PORTS.values() if port.is_used(settings)]
    asyncio.run(_check_adapters_until_first_error(service.ports.adapter(name) for name in used))
    require_server_installed(settings.http.server)
    console = output_console()
    console.print(_render_table(("setting", "adapter"), _list_redacted_adapter_urls(settings)))
    console.print()
    console.print(
        _render_table(
            ("host", "address"),
            (
                (
                    "API",
                    f"{settings.http.api} on {settings.http.server}, {len(registry.operations)} operations",
                ),
                ("ingest", settings.http.ingest),
            ),
        ),
        "",
        _render_table(("plugins",), [(", ".join(registry.plugins),)]),
        "",
    )
    for warning in list_public_free_signup_warnings(settings):
        console.print(f"Caution  {warning}", style="yellow", soft_wrap=True, markup=False)
    console.print(f"{config} is valid.", style="green", soft_wrap=True, markup=False)


async def _check_adapters_until_first_error(adapters: "Iterable[Any]") -> None:
    """Ask adapters that can tell without starting whether they could be used.

    Raises:
        StartupError: of the first that could not.
    """
    for adapter in adapters:
        if hasattr(adapter, "check"):
            await adapter.check()


def _list_redacted_adapter_urls(settings: "Settings") -> "Iterator[tuple[str, str]]":
    """Yields the setting and the URL of each adapter that the settings name."""
    from hosts.composition.load_settings import redact_url
    from hosts.composition.ports import PORTS

    for port in PORTS.values():
        if url := port.url(settings):
            yield port.setting, redact_url(url)


def _render_table(headings: tuple[str, ...], rows: "Iterable[tuple[str, ...]]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
