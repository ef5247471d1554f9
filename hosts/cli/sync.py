"""Reading what is connected at once, from the command line: a bar for each part, and what became of all."""

from typing import TYPE_CHECKING

import typer

from hosts.cli.options import error_console, output_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.progress import TaskID

    from hosts.composition.ports import Ports
    from service_core.access.models import Workspace
    from service_core.commerce.sync.connection_sync import ConnectionSync, SyncOutcome, SyncProgress

    OutcomesByWorkspaceName = Sequence[tuple[str, Sequence[SyncOutcome] | None]]
    """Name of each workspace, and what became of its connections; None while another process reads them."""


async def sync_one_or_all_workspaces(
    ports: "Ports", connection_sync: "ConnectionSync", public_id: str | None
) -> "OutcomesByWorkspaceName":
    """Syncs the workspace of this public id, or every workspace; those without credentials are left out."""
    from hosts.cli.deployment import find_named_or_only_workspace

    directory = ports.workspace
    workspaces = (
        [await find_named_or_only_workspace(directory.credentials, public_id)]
        if public_id
        else await directory.credentials.list_workspaces()
    )
    connected = {id_ for id_, _ in await ports.connection_secrets.list_connections_with_secrets()}
    return [
        (workspace.name, await _sync_workspace_with_progress(connection_sync, workspace))
        for workspace in workspaces
        if workspace.id in connected
    ]


def print_outcomes_and_exit_on_problem(
    outcomes_by_workspace: "OutcomesByWorkspaceName", nothing_connected_message: str
) -> None:
    """Prints the outcomes by workspace, or `nobody` when there are none.

    Raises:
        typer.Exit: with code 1, something could not be read.
    """
    if not any(outcomes is None or outcomes for _, outcomes in outcomes_by_workspace):
        error_console().print(nothing_connected_message, markup=False)
    for name, outcomes in outcomes_by_workspace:
        if outcomes is None:
            error_console().print(f"{name}: another process reads it now.", style="yellow", markup=False)
        else:
            _print_outcomes(name, outcomes)
    if any(
        outcomes is None or any(outcome.problem for outcome in outcomes)
        for _, outcomes in outcomes_by_workspace
    ):
        raise typer.Exit(1)


async def _sync_workspace_with_progress(
    connection_sync: "ConnectionSync", workspace: "Workspace"
) -> "Sequence[SyncOutcome] | None":
    """Read a workspace, with a bar for each part."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}", markup=False)
    bar_by_part: dict[tuple[str, str], TaskID] = {}
    with Progress(
        text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=output_console()
    ) as bars:

        def show_step(step: "SyncProgress") -> None:
            part = step.provider, step.part
            if part not in bar_by_part:
                bar_by_part[part] = bars.add_task(f"{workspace.name}: {' '.join(part)}", total=step.total)
            bars.update(bar_by_part[part], completed=step.done)

        return await connection_sync.sync_workspace_unless_leased(
            workspace.id, ignore_schedule=True, on_progress=show_step
        )


def _print_outcomes(workspace_name: str, outcomes: "Iterable[SyncOutcome]") -> None:
    from hosts.cli.terminal_charts import format_number

    for outcome in outcomes:
        counts = ", ".join(f"{counted} {format_number(count)}" for counted, count in outcome.counts.items())
        style = "red" if outcome.problem else None
        line = f"{workspace_name}: {outcome.provider}  {outcome.problem or counts}"
        output_console().print(line, style=style, soft_wrap=True, markup=False)
