"""The deployment a command works on: its settings, its directory and the workspace meant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from hosts.composition.compose import Service, compose, load_ports
from hosts.composition.load_settings import load_settings_with_environment, settings_folder
from hosts.composition.ports import start_adapters
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


@asynccontextmanager
async def open_workspace_store(config: Path) -> AsyncIterator[WorkspaceStore]:
    """The directory of a deployment alone, so keys can be changed while the service runs."""
    ports = load_ports(config)
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
