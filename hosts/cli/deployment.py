"""The deployment a command works on: its settings, its directory and the workspace meant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from hosts.composition.compose import Service, compose, load_ports
from hosts.composition.load_settings import (
    list_settings_named_by_environment,
    load_settings_with_environment,
    settings_folder,
)
from hosts.composition.ports import PORTS, Ports, start_adapters
from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.kernel.errors import StartupError


def load_and_compose_service(config: Path) -> Service:
    """Return the composed deployment, not started.

    Raises:
        StartupError: there is no such file, or something in it does not fit.
    """
    return compose(load_settings_with_environment(config), settings_folder(config))


def load_ports_of_existing_deployment(config: Path) -> Ports:
    """Returns the ports of a deployment, none of them opened.

    Raises:
        StartupError: its workspace store is a file that does not exist: the command would work on a new, empty one.
    """
    ports = load_ports(config)
    settings, setting = load_settings_with_environment(config), PORTS["workspace"].setting
    local = ports.registry.local_data_of_url(
        "workspace", PORTS["workspace"].url(settings), base_folder=settings_folder(config)
    )
    if local is not None and not local[1].exists():
        variable = list_settings_named_by_environment().get(setting)
        source = f"the environment variable {variable}" if variable else str(config)
        raise StartupError(
            f"There is no {local[1]}, which {setting} names according to {source}. If the service takes its settings from its "
            "unit or container, run this command with the same environment; otherwise make a deployment with "
            "`touchpoint init DIR`, or start it with `touchpoint serve`."
        )
    return ports


@asynccontextmanager
async def open_workspace_store(config: Path) -> AsyncIterator[WorkspaceStore]:
    """The directory of a deployment alone, so keys can be changed while the service runs."""
    ports = load_ports_of_existing_deployment(config)
    async with start_adapters([ports.workspace]):
        yield ports.workspace


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
