"""``touchpoint costs``: what goods cost, from a file."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from service_core.commerce.costs.import_schemas import CostImport
    from service_core.commerce.costs.validate_import import ValidatedImport

app = typer.Typer(help="Import item costs.", no_args_is_help=True, rich_markup_mode=None)


def _parse_currency(text: str | None) -> str | None:
    code = text and text.upper()
    if code and not (len(code) == _CURRENCY_LETTERS and code.isascii() and code.isalpha()):
        raise typer.BadParameter(f"{text}: write three letters, as in EUR")
    return code


_CURRENCY_LETTERS: Final = 3
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
def _costs_group() -> None:
    """Import what goods cost."""


@app.command("import")
@print_settings_after_change
def import_all_costs_or_none(
    file: CostFile,
    default_effective_from: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="First day the costs apply, for rows without a date."),
    ] = None,
    currency: Annotated[
        str | None,
        typer.Option(
            metavar="CODE", callback=_parse_currency, help="Currency of the costs. [default: the workspace's]"
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Validate the file and change nothing.")] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Import item costs: all rows of a file, or none.

    A cost replaces what the same item cost from the same day on, so a file may be imported again.
    Exit code 1 when a row is rejected; then nothing is changed.
    """
    from service_core.commerce.costs.import_schemas import CostImport

    text = file.read_text("utf-8", errors="replace")
    cost_import = CostImport(csv=text, effective_from=default_effective_from, currency=currency)
    validated = asyncio.run(
        _validate_costs_and_save_if_all_valid(cost_import, workspace, config, validate_only=check)
    )
    if validated.errors:
        _print_rejected_rows(validated)
        raise typer.Exit(1)
    done = "rows are good; nothing was changed." if check else "costs are imported."
    output_console().print(f"{len(validated.costs):,} {done}", style="green")


async def _validate_costs_and_save_if_all_valid(
    cost_import: "CostImport", public_id: str | None, config: Path, *, validate_only: bool
) -> "ValidatedImport":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store
    from service_core.commerce.costs.validate_import import validate_cost_rows
    from service_core.kernel.clock import system_clock

    async with open_workspace_store(config) as directory:
        workspace = await find_named_or_only_workspace(directory.credentials, public_id)
        validated = validate_cost_rows(cost_import, workspace)
        if not (validate_only or validated.errors):
            await directory.item_costs.save_or_replace_costs(
                workspace.id, validated.import_id, validated.costs, system_clock()
            )
        return validated


def _print_rejected_rows(validated: "ValidatedImport") -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    for heading in ("row", "reason"):
        table.add_column(heading)
    for row, reason in validated.errors:
        table.add_row(f"{row}", reason.value)
    console = output_console()
    console.print(table)
    rows = len(validated.errors) + len(validated.costs)
    console.print(
        f"{len(validated.errors):,} of {rows:,} rows are rejected; nothing was changed.", style="bold red"
    )
