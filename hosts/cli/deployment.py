"""The deployment a command works on: its settings, its directory and the workspace meant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from hosts.composition.compose import Service, compose, installed
from hosts.composition.container import WorkspaceDatabase
from hosts.composition.load import folder_of, load_settings
from hosts.composition.ports import Ports, running
from service_core.access.model import Workspace
from service_core.access.ports import Directory
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError


def service_of(config: Path) -> Service:
    """The whole deployment, composed and not started.

    Raises:
        StartupError: there is no such file, or something in it does not fit.
    """
    return compose(load_settings(config), folder_of(config))


def ports_of(config: Path) -> Ports:
    """The ports of a deployment, none of them opened."""
    return Ports(load_settings(config), folder_of(config), installed(), system_clock)


@asynccontextmanager
async def directory_of(config: Path) -> AsyncIterator[WorkspaceDatabase]:
    """The directory of a deployment alone, so keys can be changed while the service runs."""
    ports = ports_of(config)
    async with running([ports.workspace]):
        yield ports.workspace


async def chosen(directory: Directory, public_id: str | None) -> Workspace:
    """The workspace with this public id, or the only one there is.

    Raises:
        StartupError: there is none at all.
        typer.BadParameter: none has this id, or it is not clear which is meant.
    """
    workspaces = await directory.workspaces()
    meant = [one for one in workspaces if public_id in {None, one.public_id}]
    if len(meant) == 1:
        return meant[0]
    if not workspaces:
        raise StartupError(
            "This deployment has no workspace. Make one with `touchpoint workspace create --name NAME`."
        )
    known = ", ".join(f"{one.public_id} ({one.name})" for one in workspaces)
    raise typer.BadParameter(f"name one workspace; this deployment has {known}", param_hint="--workspace")
