"""``touchpoint revenue``: what revenue providers tell when they are asked, read at once."""

import asyncio
from typing import TYPE_CHECKING

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, OptionalWorkspace
from hosts.cli.settings_used import print_settings_after_change
from hosts.cli.sync import print_outcomes_and_exit_on_problem

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.cli.sync import OutcomesByWorkspaceName

app = typer.Typer(help="Sync connected revenue providers.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _revenue_group() -> None:
    """Read revenue providers."""


@app.command("sync")
@print_settings_after_change
def sync_revenue(workspace: OptionalWorkspace = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Sync the connected revenue providers now.

    The running service asks them by itself, each hour, and stores what is new. Exit code 1 when one could not be read.
    """
    print_outcomes_and_exit_on_problem(
        asyncio.run(_sync_revenue_of_one_or_all_workspaces(config, workspace)),
        "No revenue provider is connected with a credential to ask it. `touchpoint connection list` tells what is, "
        "`touchpoint connection add PROVIDER --secret NAME` connects one.",
    )


async def _sync_revenue_of_one_or_all_workspaces(
    config: "Path", public_id: str | None
) -> "OutcomesByWorkspaceName":
    from hosts.cli.secrets import open_workspace_store_and_cipher
    from hosts.cli.sync import sync_one_or_all_workspaces
    from hosts.composition.load_settings import load_settings_with_environment
    from hosts.composition.ports import start_adapters
    from hosts.composition.providers import build_pollable_provider_sync

    async with open_workspace_store_and_cipher(config) as ports, start_adapters([ports.queue]):
        return await sync_one_or_all_workspaces(
            ports, build_pollable_provider_sync(ports, load_settings_with_environment(config)), public_id
        )
