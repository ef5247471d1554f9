"""``touchpoint workspace reenrich``: applies the present rules to stored events."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.composition.ports import Ports
    from service_core.access.models import Workspace

    OnDays = Callable[[int, int], None]

_POLL_SECONDS: Final = 0.5
"""Seconds between two reads of the progress."""


@print_settings_after_change
def reenrich_stored_events(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Apply the present rules to stored events.

    Derives source, channel, referrer, reported touches, referrer spam and, of whole addresses, the location again.
    Safe to stop and to run again; a second run at the same time is refused. With an embedded event store the running service does the work.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=output_console(),
    ) as bars:
        task = bars.add_task("Days of events", total=None)

        def show_days(done: int, days: int) -> None:
            bars.update(task, completed=done, total=max(1, days))

        changed = asyncio.run(_reenrich_here_or_in_service(config, workspace, show_days))
    output_console().print(
        f"{changed:,} events have another source, channel, referrer, touch, place or bot mark now.",
        soft_wrap=True,
        markup=False,
    )


async def _reenrich_here_or_in_service(config: "Path", public_id: str | None, on_days: "OnDays") -> int:
    """Runs the re-enrichment, or waits for the service where it owns the event store; returns the changed events."""
    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.composition.ports import PORTS, start_adapters
    from hosts.consumer_lock import try_consumer_lock
    from hosts.worker.reenrichment import ReenrichmentRequests, reenrich_workspace

    folder = settings_folder(config)
    async with open_existing_deployment(config) as ports:
        workspace = await find_named_or_only_workspace(ports.workspace.credentials, public_id)
        url = PORTS["events"].url(load_settings_with_environment(config))
        is_embedded = ports.registry.local_data_of_url("events", url, base_folder=folder) is not None
        with try_consumer_lock(folder) as is_free:
            if is_embedded and not is_free:
                return await _request_and_wait(ports, workspace, on_days)
            events = ports.event_store_in_start_order(is_queue_open=False)
            async with start_adapters([*events, ports.geo, ports.domains]):
                requests = ReenrichmentRequests(folder)
                changed = await reenrich_workspace(ports, workspace, requests, on_days)
                requests.remove(workspace.id)
                return changed


async def _request_and_wait(ports: "Ports", workspace: "Workspace", on_days: "OnDays") -> int:
    """Requests the re-enrichment from the running service, and returns the changed events once it is complete.

    The completed request stays in the file: another command may wait for the same run.
    """
    from hosts.worker.reenrichment import ReenrichmentProgress, ReenrichmentRequests

    requests = ReenrichmentRequests(ports.folder)
    found = requests.load().get(workspace.id)
    if found is None or found.is_complete:
        requests.save(workspace.id, ReenrichmentProgress())
    while not (progress := requests.load()[workspace.id]).is_complete:
        on_days(progress.done_days, progress.days)
        await asyncio.sleep(_POLL_SECONDS)
    return progress.changed_events
