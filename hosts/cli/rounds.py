"""Reading what is connected at once, from the command line: a bar for each part, and what became of all."""

from typing import TYPE_CHECKING

import typer

from hosts.cli.options import complaints, output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.progress import TaskID

    from hosts.composition.ports import Ports
    from service_core.access.model import Workspace
    from service_core.commerce.rounds import Outcome, Progress, Rounds

    Found = Sequence[tuple[str, Sequence[Outcome] | None]]
    """Name of each workspace, and what became of its connections; None while another process reads them."""


async def read_now(ports: "Ports", rounds: "Rounds", public_id: str | None) -> "Found":
    """Read the connections of one workspace, or of every one that has credentials."""
    from hosts.cli.deployment import chosen

    directory = ports.workspace
    meant = [await chosen(directory, public_id)] if public_id else await directory.workspaces()
    connected = {id_ for id_, _ in await ports.connection_secrets.with_secrets()}
    return [(one.name, await _read(rounds, one)) for one in meant if one.id in connected]


def show(found: "Found", nobody: str) -> None:
    """Print what became of them; `nobody` when nothing is connected.

    Raises:
        typer.Exit: with code 1, something could not be read.
    """
    if not any(outcomes is None or outcomes for _, outcomes in found):
        complaints().print(nobody, markup=False)
    for name, outcomes in found:
        if outcomes is None:
            complaints().print(f"{name}: another process reads it now.", style="yellow", markup=False)
        else:
            _show(name, outcomes)
    if any(outcomes is None or any(one.problem for one in outcomes) for _, outcomes in found):
        raise typer.Exit(1)


async def _read(rounds: "Rounds", workspace: "Workspace") -> "Sequence[Outcome] | None":
    """Read a workspace, with a bar for each part."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    text = TextColumn("{task.description}", markup=False)
    begun: dict[tuple[str, str], TaskID] = {}
    with Bars(text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=output()) as bars:

        def tell(step: "Progress") -> None:
            place = step.provider, step.part
            if place not in begun:
                begun[place] = bars.add_task(f"{workspace.name}: {' '.join(place)}", total=step.total)
            bars.update(begun[place], completed=step.done)

        return await rounds.read(workspace.id, at_once=True, telling=tell)


def _show(name: str, outcomes: "Iterable[Outcome]") -> None:
    from hosts.cli.drawing import number

    for one in outcomes:
        found = ", ".join(f"{what} {number(count)}" for what, count in one.found.items())
        style = "red" if one.problem else None
        line = f"{name}: {one.provider}  {one.problem or found}"
        output().print(line, style=style, soft_wrap=True, markup=False)
