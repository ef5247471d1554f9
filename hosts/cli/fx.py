"""``touchpoint fx``: what exchange rates there are."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, error_console, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.analytics.fx.ports import RateCoverage


@print_settings_after_change
def show_exchange_rate_coverage(
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    read: Annotated[bool, typer.Option("--read", help="Sync the source first.")] = False,
) -> None:
    """Show the exchange rates and how fresh they are.

    The running service reads their source by itself, each hour. Exit code 1 without any.
    """
    known = asyncio.run(_load_rate_coverage(config, sync_first=read))
    if known is None or known.last_day is None:
        error_console().print(
            "There is no exchange rate. fx.rates names their source, `touchpoint fx --read` reads it.",
            markup=False,
        )
        raise typer.Exit(1)
    output_console().print(
        f"{known.currencies} currencies from {known.first_day} to {known.last_day}, read at {known.read_at:%Y-%m-%d %H:%M} UTC",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


async def _load_rate_coverage(config: "Path", *, sync_first: bool) -> "RateCoverage | None":
    """The stored coverage of the source."""
    from hosts.cli.deployment import load_ports_of_existing_deployment, open_existing_deployment
    from service_core.analytics.fx.ports import RateSourceUnavailable
    from service_core.commerce.fx.sync_rates import ExchangeRateSync
    from service_core.kernel.errors import StartupError

    if load_ports_of_existing_deployment(config).fx is None:
        return None
    async with open_existing_deployment(config, "fx") as ports:
        assert ports.fx is not None
        try:
            if sync_first:
                await ExchangeRateSync(ports.fx, ports.workspace.exchange_rates, ports.clock).sync_now()
        except RateSourceUnavailable as fault:
            raise StartupError(f"Exchange rates cannot be read: {fault}") from None
        return await ports.workspace.exchange_rates.rate_coverage_or_none_if_never_read(ports.fx.id)
