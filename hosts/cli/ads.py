"""``touchpoint ads``: what ad platforms report, read at once."""

import asyncio
from typing import TYPE_CHECKING

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, OptionalWorkspace
from hosts.cli.sync import print_sync_result

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.cli.sync import Found

app = typer.Typer(
    help="Sync ad spend from connected ad platforms.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _ads_group() -> None:
    """Read ad platforms."""


@app.command("sync")
def sync_ads(workspace: OptionalWorkspace = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Sync the connected ad platforms now.

    The running service reads them by itself, each hour. Exit code 1 when something could not be read.
    """
    print_sync_result(
        asyncio.run(_sync_workspaces(config, workspace)),
        "No ad platform is connected with credentials that are good. `touchpoint connection list` tells what is, "
        "`touchpoint connection add PROVIDER --secret NAME` connects one.",
    )


async def _sync_workspaces(config: "Path", public_id: str | None) -> "Found":
    from hosts.cli.secrets import open_vault
    from hosts.cli.sync import sync_now
    from hosts.composition.load_settings import load_settings
    from hosts.composition.providers import build_ad_sync

    async with open_vault(config) as ports:
        return await sync_now(ports, build_ad_sync(ports, load_settings(config)), public_id)
