"""``touchpoint import``: recorded traffic, through the rules of `/track`."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, Site, WorkspaceId, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from hosts.data_import.column_mapping import ColumnMapping
    from hosts.data_import.entries import ImportEntry
    from hosts.worker.run_import import ImportResult, ImportTask

_PREVIEW_EVENTS: Final = 5
_PREVIEW_WIDTH: Final = 200
_ID_FIELDS: Final = ("user_id", "anonymous_id", "distinct_id", "visitor_id")
_ACCEPTED: Final = "queued"
_MALFORMED: Final = "malformed"
_OUTCOME_LABELS: Final[Mapping[str, str]] = {
    _ACCEPTED: "Events accepted",
    "duplicate": "Left out: duplicates",
    "asset": "Left out: files such as images",
    "error": "Left out: error answers",
    "feed": "Left out: feeds and sitemaps",
    "method": "Left out: other than GET",
    _MALFORMED: "Left out: lines of another form",
    "empty line": "Left out: empty lines",
}
"""Outcome of an entry -> its label in the table; the other outcomes are refusals."""

app = typer.Typer(
    help="Import recorded traffic. Safe to stop and to run again.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, metavar="FILE", help="The file to read.")
]
ShiftToNow = Annotated[
    bool, typer.Option("--shift-to-now", help="Shift all times so that the newest event is now.")
]


@app.command("access-log")
@print_settings_after_change
def import_access_log(
    file: File,
    site: Site = "http://localhost",
    shift_to_now: ShiftToNow = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Bring in a web server's log in combined format, plain or gzip."""
    from hosts.data_import.access_logs import read_access_log_with_skipped_lines

    _import_file_and_print_result(
        file,
        lambda _: read_access_log_with_skipped_lines(file, site),
        config,
        workspace,
        shift_to_now=shift_to_now,
    )


ColumnMap = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Field of the event that a column becomes, such as user_id=customer or properties.plan=Plan; may be repeated.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the mapping and the first events; import nothing.")
]


@app.command("events")
@print_settings_after_change
def import_event_file(
    file: File,
    column_map: ColumnMap = None,
    dry_run: DryRun = False,
    shift_to_now: ShiftToNow = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Import events from NDJSON, CSV or Parquet.

    An export of Touchpoint, `/track` bodies, or the columns of another tool.
    """
    from hosts.data_import.column_mapping import map_columns, parse_overrides
    from hosts.data_import.event_files import read_event_file_by_suffix, read_header

    overrides = parse_overrides(column_map or ())
    mapping = map_columns(read_event_file_by_suffix(file, ""), overrides, read_header(file))
    _print_mapping(file.name, mapping)
    if dry_run:
        _print_preview(map(mapping.to_entry, read_event_file_by_suffix(file, "")))
        return
    _import_file_and_print_result(
        file,
        lambda digest: map(mapping.to_entry, read_event_file_by_suffix(file, digest)),
        config,
        workspace,
        shift_to_now=shift_to_now,
    )


def _print_mapping(name: str, mapping: "ColumnMapping") -> None:
    """Print which column becomes which field, and the columns that are not used."""
    from hosts.cli.terminal_charts import render_name_value_table

    if mapping.is_export:
        rows = [("Every column of an export of Touchpoint", "the same column of the event")]
    else:
        rows = list(mapping.targets)
    output_console().print(
        render_name_value_table(f"{name}: columns and their fields", rows or [("none", "")])
    )
    if mapping.unused:
        output_console().print(
            f"Not used: {', '.join(mapping.unused)}. --map FIELD=COLUMN uses a column, as in "
            f"properties.{mapping.unused[0].rpartition('.')[2]}={mapping.unused[0]}.",
            style="yellow", markup=False,
        )  # fmt: skip
    output_console().print("")


def _print_preview(entries: "Iterable[ImportEntry]") -> None:
    """Print the first events as `/track` would receive them."""
    from itertools import islice

    from rich.table import Table

    table = Table("Event", "Time", "Ids", "Properties", box=None, title="First events", title_justify="left")
    for entry in islice((entry for entry in entries if entry.body is not None), _PREVIEW_EVENTS):
        body = entry.body or {}
        ids = (f"{name} {body[name]}" for name in _ID_FIELDS if body.get(name))
        shown = (
            body.get("event") or "missing",
            body.get("timestamp") or "missing",
            ", ".join(ids) or "missing",
        )
        table.add_row(*map(str, shown), _format_properties(body.get("properties")))
    output_console().print(table, "", "Nothing was imported: this was a dry run.", markup=False)


def _format_properties(properties: object) -> str:
    if not isinstance(properties, dict):
        return ""
    return ", ".join(f"{name}={value}" for name, value in properties.items())[:_PREVIEW_WIDTH]


def _import_file_and_print_result(
    file: Path,
    read_entries: "Callable[[str], Iterable[ImportEntry]]",
    config: Path,
    workspace: str | None,
    *,
    shift_to_now: bool,
) -> None:
    from hosts.cli.deployment import require_existing_workspace_store
    from hosts.file_digest import sha256_of_file
    from hosts.worker.run_import import ImportTask

    asyncio.run(require_existing_workspace_store(config))
    digest = sha256_of_file(file)
    read_entries(digest)  # refuses an unknown format before anything begins
    task = ImportTask(config, digest, lambda: read_entries(digest), shift_to_now, workspace)
    print_import_counts_and_warnings(
        file.name, run_import_with_progress(task, file.name, file.stat().st_size)
    )


def run_import_with_progress(task: "ImportTask", file_name: str, file_bytes: int) -> "ImportResult":
    """Run an import under two progress bars: what is accepted, and what is stored."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from hosts.worker.run_import import resume_import_and_wait_until_stored

    text = TextColumn("{task.description}", markup=False)
    with Progress(
        text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=output_console()
    ) as bars:
        reading = bars.add_task(f"Reading {file_name}", total=file_bytes)
        storing = bars.add_task("Storing", total=None)

        def show_waiting_events(count: int) -> None:
            total = max(count, int(bars.tasks[storing].total or 0))
            bars.update(storing, total=max(1, total), completed=max(1, total) - count)

        outcome = asyncio.run(
            resume_import_and_wait_until_stored(
                task, lambda done: bars.advance(reading, done), show_waiting_events
            )
        )
        bars.update(reading, completed=file_bytes)
        return outcome


def print_import_counts_and_warnings(file_name: str, outcome: "ImportResult") -> None:
    """Print what became of the entries, by reason."""
    from hosts.cli.terminal_charts import format_number, render_name_value_table

    counts = sorted(
        outcome.counts.items(),
        key=lambda pair: (pair[0] != _ACCEPTED, -pair[1]),
    )
    rows = [
        (_OUTCOME_LABELS.get(reason) or f"Refused: {reason.replace('_', ' ')}", format_number(count))
        for reason, count in counts
    ]
    if outcome.previously_imported:
        rows.append(("Brought in before", format_number(outcome.previously_imported)))
    output_console().print(render_name_value_table(file_name, rows or [("Entries", "0")]), "")
    if outcome.received_now:
        output_console().print(
            f"Events with a time before 2020, or none that can be read: {format_number(outcome.received_now)}. They take that of their "
            "receipt. In a fresh workspace --shift-to-now moves the whole file to the present instead.\n",
            style="yellow", markup=False,
        )  # fmt: skip
    if set(outcome.counts) == {_MALFORMED}:
        output_console().print(
            f"No line of {file_name} is in combined log format.\n", style="yellow", markup=False
        )
