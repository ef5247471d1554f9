"""``touchpoint import``: recorded traffic and the history of other tools, through the rules of `/track`."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from hosts.cli.import_history import list_imports, remove_import
from hosts.cli.import_sheet import print_reconciliation_sheet, print_sheet_as_json
from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, Site, WorkspaceId, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from hosts.data_import.column_mapping import ColumnMapping
    from hosts.worker.import_record import ImportedFile
    from hosts.worker.run_import import ImportResult, ImportTask
    from service_core.delivery.imports.models import ImportFormat
    from service_core.ingestion.import_sources.models import ImportEntry
    from service_core.ingestion.import_sources.ports import ImportSource

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

_SOURCE_COMMAND: Final = "source"


class _SourcesAsCommands(TyperGroup):
    """Reads the name of an import source as a command: ``import posthog FILE`` is ``import source posthog FILE``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Returns the command of the arguments; that of import sources for a name that no other command has."""
        is_own = not args or args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if is_own else [_SOURCE_COMMAND, *args])


app = typer.Typer(
    cls=_SourcesAsCommands,
    help="Import recorded traffic, and the history of other tools. Safe to stop and to run again.\n\n"
    "`touchpoint import SOURCE FILE` reads a file of another tool; `touchpoint plugins` lists the sources.",
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
    from service_core.delivery.imports.models import ImportFormat

    _import_file_and_print_result(
        file,
        describe_imported_file(file, ImportFormat.ACCESS_LOG),
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
    from service_core.delivery.imports.models import ImportFormat

    overrides = parse_overrides(column_map or ())
    mapping = map_columns(read_event_file_by_suffix(file, ""), overrides, read_header(file))
    _print_mapping(file.name, mapping)
    if dry_run:
        _print_preview(map(mapping.to_entry, read_event_file_by_suffix(file, "")))
        return
    suffix = file.suffix.lower().lstrip(".")
    format_ = ImportFormat.NDJSON if suffix in {"jsonl", "ndjson"} else ImportFormat(suffix)
    _import_file_and_print_result(
        file,
        describe_imported_file(file, format_),
        lambda digest: map(mapping.to_entry, read_event_file_by_suffix(file, digest)),
        config,
        workspace,
        shift_to_now=shift_to_now,
    )


@app.command(_SOURCE_COMMAND, hidden=True)
@print_settings_after_change
def import_source_file(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Import source, such as posthog.")],
    file: File,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Bring in a file of another tool, and print its reconciliation sheet.

    Every row of the file is imported or counted under a named difference, by day. `touchpoint import list` shows what
    was imported, `touchpoint import remove` removes it again.
    """
    from hosts.data_import.source_files import open_source_file
    from hosts.worker.import_dry_run import read_without_importing
    from service_core.delivery.imports.models import ImportFormat
    from service_core.ingestion.import_sources.read_source import read_source_with_row_ids

    reader = _find_source(config, source)
    if dry_run:
        preview = read_without_importing(read_source_with_row_ids(reader, open_source_file(file), ""))
        if as_json:
            print_sheet_as_json({"source": source, "file_name": file.name, "dry_run": True}, preview.sheet)
            return
        _print_preview(preview.first_entries)
        print_reconciliation_sheet(file.name, preview.sheet)
        return
    _import_file_and_print_result(
        file,
        describe_imported_file(file, ImportFormat.SOURCE, source),
        lambda digest: read_source_with_row_ids(reader, open_source_file(file), digest),
        config,
        workspace,
        as_json=as_json,
    )


def _find_source(config: Path, id_: str) -> "ImportSource":
    """Returns an installed import source.

    Raises:
        StartupError: none has this id; the message names the installed ones.
    """
    from hosts.cli.deployment import load_registry_of_usable_plugins
    from service_core.kernel.errors import StartupError

    sources = load_registry_of_usable_plugins(config).import_sources
    if id_ not in sources:
        known = ", ".join(sorted(sources)) or "none"
        raise StartupError(
            f"No import source is named {id_}. Installed are {known}; others are access-log and events."
        )
    return sources[id_]


app.command("list")(list_imports)
app.command("remove")(print_settings_after_change(remove_import))


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
    imported: "ImportedFile",
    read_entries: "Callable[[str], Iterable[ImportEntry]]",
    config: Path,
    workspace: str | None,
    *,
    shift_to_now: bool = False,
    as_json: bool = False,
) -> None:
    from hosts.cli.deployment import require_existing_workspace_store
    from hosts.worker.run_import import ImportTask

    asyncio.run(require_existing_workspace_store(config))
    read_entries(imported.digest)  # refuses an unknown format before anything begins
    task = ImportTask(config, imported, lambda: read_entries(imported.digest), shift_to_now, workspace)
    result = run_import_with_progress(task, file.name, imported.byte_count, is_quiet=as_json)
    if as_json:
        facts = {
            "id": str(result.job.id),
            "source": result.job.source,
            "file_name": file.name,
            "dry_run": False,
        }
        print_sheet_as_json(facts, result.job.sheet)
        return
    print_import_counts_and_warnings(file.name, result)
    print_reconciliation_sheet(file.name, result.job.sheet)
    output_console().print(
        f"Import {result.job.id}. `touchpoint import remove {result.job.id}` removes it again.",
        soft_wrap=True, markup=False,
    )  # fmt: skip


def describe_imported_file(file: Path, format_: "ImportFormat", source: str | None = None) -> "ImportedFile":
    """Returns a file as its import job names it."""
    from hosts.file_digest import sha256_of_file
    from hosts.worker.import_record import ImportedFile

    return ImportedFile(sha256_of_file(file), file.name, format_, source, file.stat().st_size)


def run_import_with_progress(
    task: "ImportTask", file_name: str, file_bytes: int, *, is_quiet: bool = False
) -> "ImportResult":
    """Run an import under two progress bars: what is accepted, and what is stored; without any if it is quiet."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from hosts.worker.run_import import resume_import_and_wait_until_stored

    text = TextColumn("{task.description}", markup=False)
    with Progress(
        text,
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=output_console(),
        disable=is_quiet,
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
