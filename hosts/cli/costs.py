"""``touchpoint costs``: what goods cost, from a file."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, output

if TYPE_CHECKING:
    from service_core.commerce.costs.asked import CostImport
    from service_core.commerce.costs.checking import Checked

app = typer.Typer(help="Import what goods cost.", no_args_is_help=True, rich_markup_mode=None)


def _code(text: str | None) -> str | None:
    code = text and text.upper()
    if code and not (len(code) == _LETTERS and code.isascii() and code.isalpha()):
        raise typer.BadParameter(f"{text}: write three letters, as in EUR")
    return code


_LETTERS: Final = 3
CostFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Comma-separated values with a header: sku or variant_id, unit_cost, handling_cost, effective_from, currency.",
    ),
]


@app.callback()
def _costs() -> None:
    """Import what goods cost."""


@app.command("import")
def bring(
    file: CostFile,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="First day the costs count, for rows that name none."),
    ] = None,
    currency: Annotated[
        str | None,
        typer.Option(metavar="CODE", callback=_code, help="Of all costs. [default: the workspace's]"),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Say what is wrong, and change nothing.")] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Import what goods cost, all rows of a file or none.

    A cost replaces what the same item cost from the same day on, so a file may be imported again.
    Exit code 1 when a row is rejected; then nothing is changed.
    """
    from service_core.commerce.costs.asked import CostImport

    text = file.read_text("utf-8", errors="replace")
    sent = CostImport(csv=text, effective_from=since, currency=currency)
    found = asyncio.run(_imported(sent, workspace, config, check=check))
    if found.errors:
        _show(found)
        raise typer.Exit(1)
    done = "rows are good; nothing was changed." if check else "costs are imported."
    output().print(f"{len(found.costs):,} {done}", style="green")


async def _imported(sent: "CostImport", public_id: str | None, config: Path, *, check: bool) -> "Checked":
    from hosts.cli.deployment import chosen, directory_of
    from service_core.commerce.costs.checking import checked
    from service_core.kernel.clock import system_clock

    async with directory_of(config) as directory:
        workspace = await chosen(directory, public_id)
        found = checked(sent, workspace)
        if not (check or found.errors):
            await directory.keep_costs(workspace.id, found.import_id, found.costs, system_clock())
        return found


def _show(found: "Checked") -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    for heading in ("row", "reason"):
        table.add_column(heading)
    for row, reason in found.errors:
        table.add_row(f"{row}", reason.value)
    console = output()
    console.print(table)
    rows = len(found.errors) + len(found.costs)
    console.print(
        f"{len(found.errors):,} of {rows:,} rows are rejected; nothing was changed.", style="bold red"
    )
