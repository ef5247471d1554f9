"""``touchpoint quarantine``: accepted events that could not be stored, kept raw with the reason."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.composition.ports import Ports
    from service_core.access.models import Workspace
    from service_core.ingestion.models import QuarantinedEvent

app = typer.Typer(
    help="List and replay events that could not be stored.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_earliest_quarantined(
    limit: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Maximum number.")] = 100,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per event, with what was sent.")
    ] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """List quarantined events with their reasons.

    The earliest first.
    """

    async def load_events() -> "list[QuarantinedEvent]":
        async with _open_quarantine(config, workspace) as (ports, chosen):
            return await ports.queue.list_quarantined(chosen.id, limit)

    events = asyncio.run(load_events())
    if as_json:
        for event in events:
            typer.echo(json.dumps(_event_to_json(event)))
    else:
        _print_events(events)


@app.command("replay")
@print_settings_after_change
def requeue_quarantined_events(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Put quarantined events back into the queue.

    Do this after the reason is fixed.
    The consumer takes them like new ones; events that still cannot be stored are quarantined again.
    """

    async def requeue_events() -> int:
        async with _open_quarantine(config, workspace) as (ports, chosen):
            gaps = ports.workspace.transform_gaps
            # Deleted first: the consumer may take an event, and add its hour again, before the replay returns.
            held = await gaps.delete_held_gaps(chosen.id)
            try:
                return await ports.queue.replay(chosen.id)
            except BaseException:
                await gaps.add_gaps(held)
                raise

    output_console().print(f"{asyncio.run(requeue_events())} events are back in the queue.", style="green")


@asynccontextmanager
async def _open_quarantine(config: "Path", public_id: str | None) -> "AsyncIterator[tuple[Ports, Workspace]]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment

    async with open_existing_deployment(config, "queue") as ports:
        yield ports, await find_named_or_only_workspace(ports.workspace.credentials, public_id)


def _event_to_json(event: "QuarantinedEvent") -> dict[str, object]:
    arrival = event.queued.arrival
    return {
        "seq": event.queued.seq,
        "event_id": arrival.event_id,
        "received_at": arrival.received_at.isoformat(),
        "reason": event.reason,
        "body": arrival.body.decode(errors="replace"),
    }


def _print_events(events: "list[QuarantinedEvent]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for heading in ("sequence", "received", "event id", "reason"):
        table.add_column(heading, overflow="fold")
    for event in events:
        fields = _event_to_json(event)
        table.add_row(*(Text(str(fields[name])) for name in ("seq", "received_at", "event_id", "reason")))
    output_console().print(table if events else "The quarantine is empty.")
