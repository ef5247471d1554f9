"""``touchpoint move``: what a deployment keeps, from one store into another."""

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, error_console, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from rich.progress import TaskID

    from hosts.store_copy.compare import Difference
    from service_core.access.models import Workspace


class StoreKind(StrEnum):
    """Stores that can be moved, by their setting in ``[storage]``."""

    EVENTS = "events"
    WORKSPACE = "workspace"


@print_settings_after_change
def copy_and_compare_store(
    target: Annotated[str, typer.Option("--to", metavar="URL", help="URL of the new store.")],
    what: Annotated[
        StoreKind,
        typer.Argument(
            help="What to move: events, or all workspace data (members, keys, rules, links, spend)."
        ),
    ] = StoreKind.EVENTS,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="URL of the current store. [default: from the settings]"),
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Copy a store into another one and compare both.

    Events: every metric of every workspace and month is asked of both sides before it says done. Safe to stop
    and to run again: days that are there already are not copied anew. Workspaces: the new store has to be
    empty, takes all or nothing, and is read again. Nothing is removed from the present store.
    """
    copy = (
        _copy_events_or_exit_on_difference
        if what is StoreKind.EVENTS
        else _copy_workspace_store_with_progress
    )
    copy(config, source, target)
    output_console().print(
        f"Name the new store in storage.{what}, and start the service.",
        style="green",
        soft_wrap=True,
        markup=False,
    )


def _copy_events_or_exit_on_difference(config: "Path", source_url: str | None, target_url: str) -> None:
    differences = _copy_and_compare_events_with_progress(config, source_url, target_url)
    if differences:
        _print_differences(differences)
        raise typer.Exit(1)
    _print_result("Every metric of every workspace and month is the same on both sides.")


def _copy_workspace_store_with_progress(config: "Path", source_url: str | None, target_url: str) -> None:
    """Copies and compares the workspace store; shows a bar that counts the copied records."""
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    from hosts.store_copy.copy_workspace_store import copy_and_compare_workspace_store

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        MofNCompleteColumn(),
        console=output_console(),
    ) as bars:
        task = bars.add_task("Copying", total=None)

        def show_copied_records(kind: str, count: int) -> None:
            bars.update(task, description=f"Copying {kind}", advance=count)

        content = asyncio.run(
            copy_and_compare_workspace_store(config, source_url, target_url, show_copied_records)
        )
        bars.update(task, description="Copied and compared", total=bars.tasks[0].completed)
    _print_result(
        f"{content.counts.total()} records of {len(+content.counts)} kinds are the same on both sides."
    )


def _print_result(sentence: str) -> None:
    output_console().print(sentence, style="green", soft_wrap=True, markup=False)


def _copy_and_compare_events_with_progress(
    config: "Path", source_url: str | None, target_url: str
) -> "list[Difference]":
    """Copies events with a bar per workspace, compares both stores with one bar, and returns the differences."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from hosts.store_copy.copy_event_store import (
        CopyProgress,
        copy_event_store_and_find_differences,
    )

    name = TextColumn("{task.description}", markup=False)
    with Progress(
        name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=output_console()
    ) as bars:
        tasks: dict[UUID | None, TaskID] = {}

        def show_copied_events(workspace: "Workspace", total: int, more: int) -> None:
            if workspace.id not in tasks:
                tasks[workspace.id] = bars.add_task(f"Copying {workspace.name}", total=total)
            bars.advance(tasks[workspace.id], more)

        def show_compared_month(workspace: "Workspace", month: str) -> None:
            if None not in tasks:
                tasks[None] = bars.add_task("", total=None)
            bars.update(tasks[None], description=f"Comparing {workspace.name} {month}", advance=1)

        differences = asyncio.run(
            copy_event_store_and_find_differences(
                config, source_url, target_url, CopyProgress(show_copied_events, show_compared_month)
            )
        )
        if None in tasks:
            bars.update(tasks[None], description="Comparing", total=bars.tasks[-1].completed)
        return differences


def _print_differences(differences: "list[Difference]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for heading in ("workspace", "month", "what", "present store", "new store"):
        table.add_column(heading, overflow="fold")
    for difference in differences:
        table.add_row(
            *map(
                Text,
                (
                    difference.workspace,
                    difference.month,
                    difference.metric,
                    difference.source,
                    difference.target,
                ),
            )
        )
    output_console().print(table)
    error_console().print(
        "The stores differ. The present one stays in use; run the command again, or start with an empty new store.",
        style="bold red", soft_wrap=True,
    )  # fmt: skip
