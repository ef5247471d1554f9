"""``touchpoint ads``: what ad platforms report, read at once."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, complaints, output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.progress import TaskID

    from service_core.access.model import Workspace
    from service_core.commerce.ads.reading import AdReading, Outcome, Progress

app = typer.Typer(help="Read ad platforms.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _ads() -> None:
    """Read ad platforms."""


@app.command()
def sync(
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", metavar="PUBLIC_ID", help="This one alone. [default: all there are]"),
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Read the connected ad platforms now.

    The running service reads them by itself, each hour. Exit code 1 when something could not be read.
    """
    found = asyncio.run(_synced(config, workspace))
    if not any(outcomes is None or outcomes for _, outcomes in found):
        complaints().print(
            "No ad platform is connected with credentials that are good. `touchpoint connection list` tells what is, "
            "`touchpoint connection add PROVIDER --secret NAME` connects one.",
            markup=False,
        )
    for name, outcomes in found:
        _show(name, outcomes)
    if any(outcomes is None or any(one.problem for one in outcomes) for _, outcomes in found):
        raise typer.Exit(1)


async def _synced(config: "Path", public_id: str | None) -> "list[tuple[str, Sequence[Outcome] | None]]":
    """Name of each workspace with credentials, and what became of its platforms."""
    from hosts.cli.deployment import chosen
    from hosts.cli.secrets import vault_of
    from hosts.composition.ads import ad_reading_of
    from hosts.composition.compose import installed
    from hosts.composition.load import load_settings

    async with vault_of(config) as ports:
        reading = ad_reading_of(ports, installed(), load_settings(config).ads)
        directory = ports.workspace
        meant = [await chosen(directory, public_id)] if public_id else await directory.workspaces()
        connected = {id_ for id_, _ in await ports.connection_secrets.with_secrets()}
        return [(one.name, await _read(reading, one)) for one in meant if one.id in connected]


async def _read(reading: "AdReading", workspace: "Workspace") -> "Sequence[Outcome] | None":
    """Read a workspace, with a bar for each account."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    text = TextColumn("{task.description}", markup=False)
    begun: dict[tuple[str, str], TaskID] = {}
    with Bars(text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=output()) as bars:

        def tell(step: "Progress") -> None:
            place = step.provider, step.account_id
            if place not in begun:
                begun[place] = bars.add_task(f"{workspace.name}: {' '.join(place)}", total=step.total)
            bars.update(begun[place], completed=step.done)

        return await reading.read(workspace.id, at_once=True, telling=tell)


def _show(name: str, outcomes: "Sequence[Outcome] | None") -> None:
    """Print what became of a workspace."""
    from hosts.cli.drawing import number

    if outcomes is None:
        complaints().print(f"{name}: another process reads it now.", style="yellow", markup=False)
        return
    for one in outcomes:
        read = f"accounts {number(one.accounts)}, rows {number(one.rows)}"
        style = "red" if one.problem else None
        output().print(
            f"{name}: {one.provider}  {one.problem or read}", style=style, soft_wrap=True, markup=False
        )
