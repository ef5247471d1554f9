"""``touchpoint ads``: what ad platforms report, read at once."""

import asyncio
from typing import TYPE_CHECKING

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, OneAlone
from hosts.cli.rounds import show

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.cli.rounds import Found

app = typer.Typer(help="Read ad platforms.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _ads() -> None:
    """Read ad platforms."""


@app.command()
def sync(workspace: OneAlone = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Read the connected ad platforms now.

    The running service reads them by itself, each hour. Exit code 1 when something could not be read.
    """
    show(
        asyncio.run(_synced(config, workspace)),
        "No ad platform is connected with credentials that are good. `touchpoint connection list` tells what is, "
        "`touchpoint connection add PROVIDER --secret NAME` connects one.",
    )


async def _synced(config: "Path", public_id: str | None) -> "Found":
    from hosts.cli.rounds import read_now
    from hosts.cli.secrets import vault_of
    from hosts.composition.ads import ad_reading_of
    from hosts.composition.compose import installed
    from hosts.composition.load import load_settings

    async with vault_of(config) as ports:
        return await read_now(ports, ad_reading_of(ports, installed(), load_settings(config).ads), public_id)
