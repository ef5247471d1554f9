"""``touchpoint import``: recorded traffic, through the rules of `/track`."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, Site, WorkspaceId, output

if TYPE_CHECKING:
    from hosts.importing.entries import Entry
    from hosts.importing.run import Outcome, Task

_ACCEPTED: Final = "queued"
_UNREAD: Final = "malformed"
_SAID: Final[Mapping[str, str]] = {
    _ACCEPTED: "Events accepted",
    "duplicate": "Left out: duplicates",
    "asset": "Left out: files such as images",
    "error": "Left out: error answers",
    "feed": "Left out: feeds and sitemaps",
    "method": "Left out: other than GET",
    _UNREAD: "Left out: lines of another form",
    "empty line": "Left out: empty lines",
}
"""What became of an entry -> how the table says it; the other outcomes are refusals."""

app = typer.Typer(
    help="Bring in recorded traffic. Safe to stop and to run again.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, metavar="FILE", help="The file to read.")
]
ShiftToNow = Annotated[
    bool, typer.Option("--shift-to-now", help="Move the newest event to now; distances stay as they are.")
]


@app.command("access-log")
def access_log(
    file: File,
    site: Site = "http://localhost",
    shift_to_now: ShiftToNow = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Bring in a web server's log in combined format, plain or gzip."""
    from hosts.importing.access_logs import log_entries

    _import(file, lambda _: log_entries(file, site), config, workspace, shift_to_now=shift_to_now)


@app.command("events")
def events(
    file: File,
    shift_to_now: ShiftToNow = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Bring in events from NDJSON, CSV or Parquet.

    One `/track` body per line or row.
    """
    from hosts.importing.files import event_entries

    _import(file, lambda digest: event_entries(file, digest), config, workspace, shift_to_now=shift_to_now)


def _import(
    file: Path,
    entries: "Callable[[str], Iterable[Entry]]",
    config: Path,
    workspace: str | None,
    *,
    shift_to_now: bool,
) -> None:
    from hosts.importing.files import digest_of
    from hosts.importing.run import Task

    digest = digest_of(file)
    entries(digest)  # a format that is not known is told before anything begins
    task = Task(config, digest, lambda: entries(digest), shift_to_now, workspace)
    show(file.name, run_shown(task, file.name, file.stat().st_size))


def run_shown(task: "Task", name: str, size: int) -> "Outcome":
    """Run an import under two progress bars: what is accepted, and what is stored."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from hosts.importing.run import bring_in

    text = TextColumn("{task.description}", markup=False)
    with Progress(text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=output()) as bars:
        reading = bars.add_task(f"Reading {name}", total=size)
        storing = bars.add_task("Storing", total=None)

        def waiting(count: int) -> None:
            total = max(count, int(bars.tasks[storing].total or 0))
            bars.update(storing, total=max(1, total), completed=max(1, total) - count)

        outcome = asyncio.run(bring_in(task, lambda done: bars.advance(reading, done), waiting))
        bars.update(reading, completed=size)
        return outcome


def show(name: str, outcome: "Outcome") -> None:
    """Print what became of the entries, by reason."""
    from hosts.cli.drawing import facts, number

    counts = sorted(outcome.counts.items(), key=lambda one: (one[0] != _ACCEPTED, -one[1]))
    rows = [
        (_SAID.get(reason) or f"Refused: {reason.replace('_', ' ')}", number(count))
        for reason, count in counts
    ]
    if outcome.before:
        rows.append(("Brought in before", number(outcome.before)))
    output().print(facts(name, rows or [("Entries", "0")]), "")
    if outcome.retimed:
        output().print(
            f"Events with a time before 2020, or none that can be read: {number(outcome.retimed)}. They take that of their "
            "receipt. In a fresh workspace --shift-to-now moves the whole file to the present instead.\n",
            style="yellow", markup=False,
        )  # fmt: skip
    if set(outcome.counts) == {_UNREAD}:
        output().print(f"No line of {name} is in combined log format.\n", style="yellow", markup=False)
