"""The deployment a command works on: its settings, its directory and the workspace meant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from hosts.composition.compose import Service, compose, load_ports, load_registry_of_deployment
from hosts.composition.empty_workspace_store import EmptyWorkspaceStoreCheck
from hosts.composition.load_settings import (
    load_settings_with_environment,
    name_source_of_setting,
    redact_url,
    settings_folder,
)
from hosts.composition.ports import PORTS, Ports, start_adapters
from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.extensions.registry import Registry
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.kernel.errors import StartupError


def load_and_compose_service(config: Path) -> Service:
    """Returns the composed deployment without faulty plugins, not started.

    Raises:
        StartupError: there is no such file, or something in it does not fit.
    """
    settings, folder = load_settings_with_environment(config), settings_folder(config)
    registry = load_registry_of_deployment(settings, folder, leave_out_faulty=True)
    return compose(settings, folder, registry=registry)


def load_registry_of_usable_plugins(config: Path) -> Registry:
    """Returns the core and the plugins of a deployment; faulty plugins are left out."""
    return load_registry_of_deployment(
        load_settings_with_environment(config), settings_folder(config), leave_out_faulty=True
    )


def load_ports_of_existing_deployment(config: Path) -> Ports:
    """Returns the ports of a deployment, none of them opened.

    Raises:
        StartupError: its workspace store is a file that does not exist: the command would work on a new, empty one.
    """
    ports = load_ports(config, leave_out_faulty=True)
    settings, setting = load_settings_with_environment(config), PORTS["workspace"].setting
    local = ports.registry.local_data_of_url(
        "workspace", PORTS["workspace"].url(settings), base_folder=settings_folder(config)
    )
    if local is not None and not local[1].exists():
        raise StartupError(
            f"There is no {local[1]}, which {setting} names according to {name_source_of_setting(setting, config)}. If the service takes its settings from its "
            "unit or container, run this command with the same environment; otherwise make a deployment with "
            "`touchpoint init DIR`, or start it with `touchpoint serve`."
        )
    return ports


@asynccontextmanager
async def open_existing_deployment(config: Path, *port_names: str) -> AsyncIterator[Ports]:
    """Opens the workspace store and the named ports of a deployment.

    Raises:
        StartupError: its workspace store is empty, or an adapter cannot be used.
    """
    ports = load_ports_of_existing_deployment(config)
    check = EmptyWorkspaceStoreCheck(ports.workspace, describe_workspace_store(config))
    opened: list[object] = [check, ports.workspace]
    for position, name in enumerate(port_names):
        opened += (
            ports.event_store_in_start_order(is_queue_open="queue" in port_names[:position])
            if name == "events"
            else [ports.adapter(name)]
        )
    async with start_adapters(opened):
        yield ports


@asynccontextmanager
async def open_workspace_store(config: Path) -> AsyncIterator[WorkspaceStore]:
    """Opens only the workspace store of a deployment, so keys can be changed while the service runs."""
    async with open_existing_deployment(config) as ports:
        yield ports.workspace


async def require_existing_workspace_store(config: Path) -> None:
    """Returns if the workspace store of a deployment exists; opens nothing.

    Raises:
        StartupError: it is empty, or cannot be reached.
    """
    ports = load_ports_of_existing_deployment(config)
    await EmptyWorkspaceStoreCheck(ports.workspace, describe_workspace_store(config)).start()


def describe_workspace_store(config: Path) -> str:
    """Returns the file or server of the workspace store, without its password, and what names it."""
    setting = PORTS["workspace"].setting
    url = PORTS["workspace"].url(load_settings_with_environment(config))
    local = load_ports(config, leave_out_faulty=True).registry.local_data_of_url(
        "workspace", url, base_folder=settings_folder(config)
    )
    location = redact_url(url) if local is None else local[1]
    return (
        f"{location}, which {setting} names according to {name_source_of_setting(setting, config.absolute())}"
    )


async def find_named_or_only_workspace(directory: CredentialStore, public_id: str | None) -> Workspace:
    """The workspace with this public id, or the only one there is.

    Raises:
        StartupError: there is none at all.
        typer.BadParameter: none has this id, or it is not clear which is meant.
    """
    workspaces = await directory.list_workspaces()
    matching = [workspace for workspace in workspaces if public_id in {None, workspace.public_id}]
    if len(matching) == 1:
        return matching[0]
    if not workspaces:
        raise StartupError(
            "This deployment has no workspace. Make one with `touchpoint workspace create --name NAME`."
        )
    known = ", ".join(f"{workspace.public_id} ({workspace.name})" for workspace in workspaces)
    raise typer.BadParameter(f"name one workspace; this deployment has {known}", param_hint="--workspace")
