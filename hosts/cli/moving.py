"""``touchpoint move``: the events of a deployment from one store into another."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, complaints, output

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from rich.progress import TaskID

    from hosts.moving.comparing import Difference
    from service_core.access.model import Workspace


def move(
    target: Annotated[str, typer.Option("--to", metavar="URL", help="The new event store.")],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="The present one; by default that of the settings."),
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Copy all events into another store, and compare both.

    Every metric of every workspace and month is asked of both sides before it says done.
    Safe to stop and to run again: days that are there already are not copied anew. Nothing is removed
    from the present store.
    """
    found = _shown(config, source, target)
    if found:
        _differ(found)
        raise typer.Exit(1)
    output().print(
        "Every metric of every workspace and month is the same on both sides.\n"
        "Name the new store in storage.events, and start the service.",
        style="green", soft_wrap=True, markup=False,
    )  # fmt: skip


def _shown(config: "Path", source: str | None, target: str) -> "list[Difference]":
    """Run under a progress bar for each workspace, and one for all that is compared."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from hosts.moving.run import Watching
    from hosts.moving.run import move as moved

    name = TextColumn("{task.description}", markup=False)
    with Progress(name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=output()) as bars:
        tasks: dict[UUID | None, TaskID] = {}

        def copying(workspace: "Workspace", total: int, more: int) -> None:
            if workspace.id not in tasks:
                tasks[workspace.id] = bars.add_task(f"Copying {workspace.name}", total=total)
            bars.advance(tasks[workspace.id], more)

        def compared(workspace: "Workspace", month: str) -> None:
            if None not in tasks:
                tasks[None] = bars.add_task("", total=None)
            bars.update(tasks[None], description=f"Comparing {workspace.name} {month}", advance=1)

        found = asyncio.run(moved(config, source, target, Watching(copying, compared)))
        if None in tasks:
            bars.update(tasks[None], description="Comparing", total=bars.tasks[-1].completed)
        return found


def _differ(found: "list[Difference]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for heading in ("workspace", "month", "what", "present store", "new store"):
        table.add_column(heading, overflow="fold")
    for each in found:
        table.add_row(*map(Text, (each.workspace, each.month, each.what, each.source, each.target)))
    output().print(table)
    complaints().print(
        "The stores differ. The present one stays in use; run the command again, or start with an empty new store.",
        style="bold red", soft_wrap=True,
    )  # fmt: skip
