"""A move of events from URL to URL: those of every workspace copied, then compared."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from hosts.composition.compose import installed
from hosts.composition.load import folder_of, load_settings
from hosts.composition.ports import Ports, running
from hosts.moving.comparing import Difference, differences
from hosts.moving.copying import Store, copy, count, scan_of
from hosts.ownership import consumer_of
from service_core.access.model import Workspace
from service_core.changes.ports import Units
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.ranges import Span
from service_core.workspace.identity.model import RevokedLink


@dataclass(frozen=True, slots=True)
class Watching:
    """Who hears how far a move is.

    Attributes:
        copying: of a workspace, its events in the source and how many more are there.
        comparing: of a workspace, the month that is compared now.
    """

    copying: Callable[[Workspace, int, int], None]
    comparing: Callable[[Workspace, str], None]


async def move(config: Path, source_url: str | None, target_url: str, watching: Watching) -> list[Difference]:
    """Bring the events of every workspace of a deployment from one store into another.

    Args:
        config: settings file of the deployment.
        source_url: where they are; None for the store of the settings.
        target_url: where they shall be.
        watching: hears how far it is.

    Returns:
        What the two say differently; none when the move is done.

    Raises:
        StartupError: the deployment consumes, or a store cannot be opened.
    """
    folder = folder_of(config)
    settings, registry = load_settings(config), installed()
    origin = source_url or settings.storage.events
    if origin == target_url:
        raise StartupError("Both URLs are the same. Name the new store with --to.")
    with consumer_of(folder) as nobody_consumes:
        if not nobody_consumes:
            raise StartupError(
                "The deployment is running. Stop `touchpoint serve` first; `touchpoint serve --role ingest` may "
                "go on taking events, which wait in the queue until the move is done."
            )
        ports = Ports(settings, folder, registry, system_clock)
        source: Store = registry.open("events", origin, folder=folder)
        target: Store = registry.open("events", target_url, folder=folder)
        async with running([ports.workspace, source, target]):
            workspaces = await ports.workspace.workspaces()
            for workspace in workspaces:
                await _copied(workspace, source, target, ports.workspace, watching)
            now = system_clock()
            found: list[Difference] = []
            for workspace in workspaces:
                told = partial(watching.comparing, workspace)
                found += [
                    each
                    async for each in differences(workspace, source, target, registry, now=now, told=told)
                ]
    return found


async def _copied(
    workspace: Workspace, source: Store, target: Store, units: Units, watching: Watching
) -> None:
    bounds = await source.bounds(workspace.id)
    if bounds is None:
        return
    whole = Span(bounds[0], bounds[1] + timedelta.resolution)
    total = await count(source, scan_of(workspace, whole))
    watching.copying(workspace, total, 0)
    await copy(workspace, source, target, partial(watching.copying, workspace, total))
    async with units.look(workspace.id) as unit:
        revoked = await unit.resources.every(RevokedLink)
    for link in revoked:
        await target.revoke_link(workspace.id, link.name)
