"""Prints the reconciliation sheet of an import: rows = accepted + named differences, by day."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import typer

from hosts.cli.options import output_console

_SHOWN_DAYS: Final = 31


def print_sheet_as_json(facts: Mapping[str, Any], sheet: Mapping[str, Mapping[str, int]]) -> None:
    """Prints an import as one JSON object: what is known of it, its totals, and a line for each day."""
    from service_core.delivery.imports.models import ACCEPTED
    from service_core.ingestion.import_sources.reconciliation import reconciliation_lines_by_day

    days = reconciliation_lines_by_day(sheet, ACCEPTED)
    typer.echo(json.dumps({**facts, **_sum_days(days), "days": days}, indent=2, ensure_ascii=False))


def print_reconciliation_sheet(file_name: str, sheet: Mapping[str, Mapping[str, int]]) -> None:
    """Prints the sheet as a table: the latest 31 days, and the total of all."""
    from rich.table import Table

    from service_core.delivery.imports.models import ACCEPTED
    from service_core.ingestion.import_sources.reconciliation import reconciliation_lines_by_day

    days = reconciliation_lines_by_day(sheet, ACCEPTED)
    if not days:
        return
    title = f"Reconciliation of {file_name}: rows = accepted + differences"
    table = Table("Day (UTC)", "Rows", "Accepted", "Differences", box=None, title=title, title_justify="left")
    shown = days[-_SHOWN_DAYS:]
    for line in shown:
        table.add_row(line["day"] or "no day", *_cells(line))
    table.add_row("All days", *_cells(_sum_days(days)))
    console = output_console()
    console.print(table, "", markup=False)
    if len(days) > len(shown):
        console.print(
            f"{len(days) - len(shown)} earlier days are not shown: `touchpoint import list --json` has all of them.",
            markup=False,
        )


def _cells(line: Mapping[str, Any]) -> tuple[str, str, str]:
    named = (f"{reason.replace('_', ' ')}: {count:,}" for reason, count in line["differences"].items())
    return f"{line['rows']:,}", f"{line['accepted']:,}", ", ".join(named) or "none"


def _sum_days(days: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    differences: Counter[str] = Counter()
    rows = accepted = 0
    for line in days:
        rows, accepted = rows + line["rows"], accepted + line["accepted"]
        differences.update(line["differences"])
    return {"rows": rows, "accepted": accepted, "differences": dict(sorted(differences.items()))}
