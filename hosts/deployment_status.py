"""Reads the state of a deployment from outside of its processes: for `touchpoint status` and `touchpoint doctor`."""

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from hosts.composition.empty_workspace_store import EmptyWorkspaceStoreCheck
from hosts.composition.load_settings import redact_url
from hosts.composition.ports import PORTS, Ports, start_adapters
from service_core.access.models import Workspace
from service_core.access.roles import Role
from service_core.analytics.connections.models import Connection
from service_core.analytics.ports import StoreUnavailable
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings

_ANSWER_SECONDS: Final = 5.0
_MAX_LISTED_WORKSPACES: Final = 100
"""Connections, owners and quarantined events are read for so many workspaces, the oldest first."""


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """A connection with the public id of its workspace."""

    workspace: str
    connection: Connection


@dataclass(frozen=True, slots=True)
class DeploymentStatus:
    """The state of a deployment at one moment.

    Attributes:
        version: of the installed package.
        failing_adapters: name of a setting -> why its adapter cannot be used.
        roles: role -> probe -> ``ok`` or ``degraded``, from the metrics address; None if nothing answers there, or
            ``monitoring.listen`` names no address.
        api_ready: answer of ``/ready`` of the API; None if nothing answers.
        queued_events: events that wait for the event store; None if the queue cannot be read.
        oldest_queued_at: when the oldest of them was received.
        workspaces: all workspaces; empty if they cannot be read.
        workspaces_without_owner: public ids of those nobody owns.
        quarantined_workspaces: public ids of those with events that could not be stored.
        connections: connections of the workspaces.
        free_bytes, total_bytes: of the disk of the data folder.
    """

    version: str
    failing_adapters: Mapping[str, str]
    roles: Mapping[str, Mapping[str, str]] | None
    api_ready: Mapping[str, Any] | None
    queued_events: int | None
    oldest_queued_at: datetime | None
    workspaces: Sequence[Workspace]
    workspaces_without_owner: Sequence[str]
    quarantined_workspaces: Sequence[str]
    connections: Sequence[ConnectionState]
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class _StoredState:
    """The part of the status that is read from the workspace store and the queue."""

    queued_events: int | None = None
    oldest_queued_at: datetime | None = None
    workspaces: Sequence[Workspace] = ()
    without_owner: Sequence[str] = ()
    quarantined: Sequence[str] = ()
    connections: Sequence[ConnectionState] = ()
    missing_event_store: str | None = None


async def read_deployment_status(ports: Ports, settings: Settings, folder: Path) -> DeploymentStatus:
    """Reads the state of a deployment; nothing is changed.

    Args:
        ports: of the deployment, none opened; the event store stays closed, since it may belong to one process.
        settings: of the deployment.
        folder: of the settings file.
    """
    failing = await _check_adapters(ports, settings)
    workspace_setting, queue_setting = PORTS["workspace"].setting, PORTS["queue"].setting
    stored = (
        _StoredState()
        if workspace_setting in failing
        else await _read_stores(ports, is_queue_readable=queue_setting not in failing)
    )
    if stored.missing_event_store is not None:
        failing.setdefault(PORTS["events"].setting, stored.missing_event_store)
    listen = settings.monitoring.listen
    metrics = await asyncio.to_thread(_fetch_json, f"http://{listen}/ready") if listen else None
    disk = shutil.disk_usage(folder)
    return DeploymentStatus(
        version=version("touchpoint-analytics"),
        failing_adapters=failing,
        roles=None if metrics is None else metrics.get("roles"),
        api_ready=await asyncio.to_thread(_fetch_json, f"http://{_local(settings.http.api)}/ready"),
        queued_events=stored.queued_events,
        oldest_queued_at=stored.oldest_queued_at,
        workspaces=stored.workspaces,
        workspaces_without_owner=stored.without_owner,
        quarantined_workspaces=stored.quarantined,
        connections=stored.connections,
        free_bytes=disk.free,
        total_bytes=disk.total,
    )


async def _check_adapters(ports: Ports, settings: Settings) -> dict[str, str]:
    """Returns setting -> why its adapter cannot be used, of those that tell without starting."""
    failing: dict[str, str] = {}
    for port in PORTS.values():
        if not port.is_used(settings):
            continue
        try:
            adapter = ports.adapter(port.name)
            if hasattr(adapter, "check"):
                await adapter.check()
            if port.name == "workspace":
                await EmptyWorkspaceStoreCheck(adapter, redact_url(port.url(settings))).start()
        except StartupError as fault:
            failing[port.setting] = str(fault)
    return failing


async def _read_stores(ports: Ports, *, is_queue_readable: bool) -> _StoredState:
    opened = [ports.workspace, ports.queue] if is_queue_readable else [ports.workspace]
    async with start_adapters(opened):
        store = ports.workspace
        workspaces = await store.credentials.list_workspaces()
        without_owner, quarantined, connections = [], [], []
        for workspace in workspaces[:_MAX_LISTED_WORKSPACES]:
            members = await store.members.list_members(workspace.id)
            if all(member.role is not Role.OWNER for member in members):
                without_owner.append(workspace.public_id)
            if is_queue_readable and await ports.queue.list_quarantined(workspace.id, 1):
                quarantined.append(workspace.public_id)
            connections += [
                ConnectionState(workspace.public_id, connection)
                for connection in await store.connections.list_connections_oldest_first(workspace.id)
            ]
        count, oldest = None, None
        if is_queue_readable:
            try:
                state = await ports.queue.state()
                count, oldest = state.waiting_count, state.oldest_received_at
            except StoreUnavailable:
                pass
        missing = await _describe_missing_event_store(ports, is_queue_readable=is_queue_readable)
    return _StoredState(count, oldest, workspaces, without_owner, quarantined, connections, missing)


async def _describe_missing_event_store(ports: Ports, *, is_queue_readable: bool) -> str | None:
    """Returns the sentence with which a start would be refused; None if the event store is there."""
    try:
        await ports.missing_event_store_check(is_queue_open=is_queue_readable).start()
    except StartupError as refusal:
        return str(refusal)
    return None


def _local(address: str) -> str:
    """Returns an address that reaches this machine, for one that listens on all of its addresses."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in {"0.0.0.0", "[::]", ""} else address  # noqa: S104 - only compared


def _fetch_json(url: str) -> dict[str, Any] | None:
    """Returns the JSON answer of a local address, errors included; None if nothing answers."""
    try:
        with urlopen(url, timeout=_ANSWER_SECONDS) as response:  # noqa: S310 - always http
            return dict(json.load(response))
    except HTTPError as refused:
        with refused:
            try:
                return dict(json.load(refused))
            except ValueError:
                return None
    except (URLError, OSError, ValueError):
        return None
