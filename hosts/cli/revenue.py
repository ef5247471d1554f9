"""``touchpoint revenue``: what revenue providers tell when they are asked, read at once."""

import asyncio
from typing import TYPE_CHECKING

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, OneAlone
from hosts.cli.rounds import show

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.cli.rounds import Found

app = typer.Typer(help="Read revenue providers.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _revenue() -> None:
    """Read revenue providers."""


@app.command()
def sync(workspace: OneAlone = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Ask the connected revenue providers now what happened.

    The running service asks them by itself, each hour, and stores what is new. Exit code 1 when one could not be read.
    """
    show(
        asyncio.run(_synced(config, workspace)),
        "No revenue provider is connected with a credential to ask it. `touchpoint connection list` tells what is, "
        "`touchpoint connection add PROVIDER --secret NAME` connects one.",
    )


async def _synced(config: "Path", public_id: str | None) -> "Found":
    from hosts.cli.rounds import read_now
    from hosts.cli.secrets import vault_of
    from hosts.composition.load import load_settings
    from hosts.composition.ports import running
    from hosts.composition.revenue import provider_reading_of

    async with vault_of(config) as ports, running([ports.queue]):
        return await read_now(ports, provider_reading_of(ports, load_settings(config)), public_id)
