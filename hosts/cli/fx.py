"""``touchpoint fx``: what exchange rates there are."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, complaints, output

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.insight.fx.ports import RatesKnown


def fx(
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    read: Annotated[bool, typer.Option("--read", help="Read the source first, due or not.")] = False,
) -> None:
    """Show what exchange rates there are, and how fresh they are.

    The running service reads their source by itself, each hour. Exit code 1 without any.
    """
    known = asyncio.run(_known(config, read=read))
    if known is None or known.last is None:
        complaints().print(
            "There is no exchange rate. fx.rates names their source, `touchpoint fx --read` reads it.",
            markup=False,
        )
        raise typer.Exit(1)
    output().print(
        f"{known.currencies} currencies from {known.first} to {known.last}, read at {known.read_at:%Y-%m-%d %H:%M} UTC",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


async def _known(config: "Path", *, read: bool) -> "RatesKnown | None":
    """What is kept of the source."""
    from hosts.cli.deployment import ports_of
    from hosts.composition.ports import running
    from service_core.commerce.fx.keeping import RateKeeping
    from service_core.insight.fx.ports import RatesDown
    from service_core.kernel.errors import StartupError

    ports = ports_of(config)
    if ports.fx is None:
        return None
    async with running([ports.workspace, ports.fx]):
        try:
            if read:
                await RateKeeping(ports.fx, ports.workspace, ports.clock).read()
        except RatesDown as fault:
            raise StartupError(f"Exchange rates cannot be read: {fault}") from None
        return await ports.workspace.rates_known(ports.fx.id)
