"""``touchpoint ads``: what ad platforms report, read at once."""

import asyncio
from typing import TYPE_CHECKING

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, OptionalWorkspace
from hosts.cli.settings_used import print_settings_after_change
from hosts.cli.sync import print_outcomes_and_exit_on_problem

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.cli.sync import OutcomesByWorkspaceName

app = typer.Typer(
    help="Sync ad spend from connected ad platforms.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _ads_group() -> None:
    """Read ad platforms."""


@app.command("sync")
@print_settings_after_change
def sync_ads(workspace: OptionalWorkspace = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Sync the connected ad platforms now.

    The running service reads them by itself, each hour. Exit code 1 when something could not be read.
    """
    print_outcomes_and_exit_on_problem(
        asyncio.run(_sync_ads_of_one_or_all_workspaces(config, workspace)),
        "No ad platform is connected with credentials that are good. `touchpoint connection list` tells what is, "
        "`touchpoint connection add PROVIDER --secret NAME` connects one.",
    )


async def _sync_ads_of_one_or_all_workspaces(
    config: "Path", public_id: str | None
) -> "OutcomesByWorkspaceName":
    from hosts.cli.secrets import open_workspace_store_and_cipher
    from hosts.cli.sync import sync_one_or_all_workspaces
    from hosts.composition.load_settings import load_settings_with_environment
    from hosts.composition.providers import build_ad_sync

    async with open_workspace_store_and_cipher(config) as ports:
        return await sync_one_or_all_workspaces(
            ports, build_ad_sync(ports, load_settings_with_environment(config)), public_id
        )
