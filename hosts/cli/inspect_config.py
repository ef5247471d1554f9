"""``touchpoint config check``: whether a deployment would start, and what would run."""

from typing import TYPE_CHECKING, Any

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, output_console
from hosts.cli.plugin_list import list_redacted_adapter_urls, print_plugin_faults, render_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

config = typer.Typer(help="Check the settings.", no_args_is_help=True, rich_markup_mode=None)


@config.callback()
def _config_group() -> None:
    """Check the settings."""


@config.command("check")
def check_settings_and_adapters(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Check the settings and print what would run.

    Loads the settings and every plugin, checks that every server that the settings name answers, and
    starts nothing: no mail is sent and no file is written. A faulty plugin is named at the end, with exit code 2.
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
    asyncio.run(_check_event_store_of_existing_deployment(config))
    require_server_installed(settings.http.server)
    console = output_console()
    console.print(render_table(("setting", "adapter"), list_redacted_adapter_urls(settings)))
    console.print()
    console.print(
        render_table(
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
        render_table(("plugins",), [(", ".join(registry.plugins),)]),
        "",
    )
    for warning in list_public_free_signup_warnings(settings):
        console.print(f"Caution  {warning}", style="yellow", soft_wrap=True, markup=False)
    if registry.faults:
        print_plugin_faults(registry)
        raise typer.Exit(2)
    console.print(f"{config} is valid.", style="green", soft_wrap=True, markup=False)


async def _check_adapters_until_first_error(adapters: "Iterable[Any]") -> None:
    """Ask adapters that can tell without starting whether they could be used.

    Raises:
        StartupError: of the first that could not.
    """
    for adapter in adapters:
        if hasattr(adapter, "check"):
            await adapter.check()


async def _check_event_store_of_existing_deployment(config: "Path") -> None:
    """Checks that the event store of the deployment is there, as its start does; a new deployment has none yet.

    Raises:
        StartupError: it is missing.
    """
    from hosts.cli.deployment import open_existing_deployment, require_existing_workspace_store
    from service_core.kernel.errors import StartupError

    try:
        await require_existing_workspace_store(config)
    except StartupError:
        return
    async with open_existing_deployment(config) as ports:
        await ports.missing_event_store_check(is_queue_open=False).start()
