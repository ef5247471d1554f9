"""Copies the events of every workspace from one event store to another, then compares both."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from hosts.composition.compose import load_registry_of_deployment
from hosts.composition.empty_workspace_store import EmptyWorkspaceStoreCheck
from hosts.composition.load_settings import load_settings_with_environment, redact_url, settings_folder
from hosts.composition.missing_event_store import MissingEventStoreCheck
from hosts.composition.ports import Ports, start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.store_copy.compare import Difference, find_metric_differences_by_month
from hosts.store_copy.copy_events import (
    Store,
    build_scope_of_all_events,
    copy_incomplete_days_of_workspace,
    copy_superseded_events,
    count_events,
)
from service_core.access.models import Workspace
from service_core.changes.ports import Transactions
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.time_ranges import TimeRange
from service_core.workspace.identity.models import RevokedIdentityLink


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """Callbacks for the progress of a copy.

    Attributes:
        on_copied: of a workspace, its events in the source and how many more are there.
        on_compared: of a workspace, the month that is compared now.
    """

    on_copied: Callable[[Workspace, int, int], None]
    on_compared: Callable[[Workspace, str], None]


async def copy_event_store_and_find_differences(
    config: Path, source_url: str | None, target_url: str, progress: CopyProgress
) -> list[Difference]:
    """Copies the events of every workspace of a deployment from one store to another.

    Args:
        config: settings file of the deployment.
        source_url: where they are; None for the store of the settings.
        target_url: where they shall be.
        progress: hears how far it is.

    Returns:
        What the two say differently; none when the move is done.

    Raises:
        StartupError: the deployment consumes, or a store cannot be opened.
    """
    folder = settings_folder(config)
    settings = load_settings_with_environment(config)
    registry = load_registry_of_deployment(settings, folder)
    origin = source_url or settings.storage.events
    if origin == target_url:
        raise StartupError("Both URLs are the same. Name the new store with --to.")
    with try_consumer_lock(folder) as nobody_consumes:
        if not nobody_consumes:
            raise StartupError(
                "The deployment is running. Stop `touchpoint serve` first; `touchpoint serve --role ingest` may "
                "go on taking events, which wait in the queue until the move is done."
            )
        ports = Ports(settings, folder, registry, system_clock)
        source: Store = registry.open_adapter("events", origin, base_folder=folder)
        target: Store = registry.open_adapter("events", target_url, base_folder=folder)
        check = EmptyWorkspaceStoreCheck(ports.workspace, redact_url(settings.storage.workspace))
        sources: list[object] = [source]
        if source_url is None:
            sources.insert(
                0,
                MissingEventStoreCheck(
                    source, ports.workspace, None, redact_url(settings.storage.events), system_clock
                ),
            )
        async with start_adapters([check, ports.workspace, *sources, target]):
            workspaces = await ports.workspace.credentials.list_workspaces()
            for workspace in workspaces:
                await _copy_workspace_events_and_revocations(
                    workspace, source, target, ports.workspace.transactions, progress
                )
            now = system_clock()
            differences: list[Difference] = []
            for workspace in workspaces:
                on_month = partial(progress.on_compared, workspace)
                differences += [
                    difference
                    async for difference in find_metric_differences_by_month(
                        workspace, source, target, registry, now=now, on_month=on_month
                    )
                ]
    return differences


async def _copy_workspace_events_and_revocations(
    workspace: Workspace, source: Store, target: Store, transactions: Transactions, progress: CopyProgress
) -> None:
    await copy_superseded_events(workspace, source, target)
    bounds = await source.first_and_last_event_time(workspace.id)
    if bounds is None:
        return
    whole = TimeRange(bounds[0], bounds[1] + timedelta.resolution)
    total = await count_events(source, build_scope_of_all_events(workspace, whole))
    progress.on_copied(workspace, total, 0)
    await copy_incomplete_days_of_workspace(
        workspace, source, target, partial(progress.on_copied, workspace, total)
    )
    async with transactions.read(workspace.id) as unit:
        revoked = await unit.resources.list_all(RevokedIdentityLink)
    for link in revoked:
        await target.revoke_identity_link(workspace.id, link.name)
