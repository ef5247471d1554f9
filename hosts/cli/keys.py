"""``touchpoint key``: named keys of a workspace, and the end of any key."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId, output

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.keys import Minted
    from service_core.access.model import Credential, Workspace
    from service_core.access.ports import Directory

T = TypeVar("T")

app = typer.Typer(help="Create, list and revoke keys.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def create(
    name: Annotated[str, typer.Option(metavar="N", help="Name shown in lists and in the audit.")] = "Key",
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help="What it may do; repeat for several. [default: service:read]"),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Create a named key and show it once."""
    from service_core.access.keys import mint_key
    from service_core.access.scopes import parse_scopes
    from service_core.kernel.clock import system_clock

    scopes = parse_scopes(scope or ["service:read"])

    async def mint(directory: "Directory", owner: "Workspace") -> "Minted":
        return await mint_key(directory, owner, system_clock(), name=name, scopes=scopes)

    minted = _within(config, workspace, mint)
    if as_json:
        granted = sorted(one.value for one in minted.credential.scopes)
        typer.echo(json.dumps({"key": minted.secret, "id": str(minted.credential.id), "scopes": granted}))
    else:
        _show_once(minted)


@app.command()
def revoke(
    key_id: Annotated[UUID, typer.Argument(metavar="ID", help="Id of the key, from `touchpoint key list`.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """End a key at once, in every running process."""
    from service_core.access.keys import revoke_key
    from service_core.kernel.clock import system_clock
    from service_core.kernel.errors import NotFound

    async def end(directory: "Directory", owner: "Workspace") -> "Credential":
        try:
            return await revoke_key(directory, owner, key_id, system_clock())
        except NotFound:
            raise typer.BadParameter(
                f"{owner.name} has no key {key_id}; `touchpoint key list` shows its keys", param_hint="ID"
            ) from None

    ended = _within(config, workspace, end)
    output().print(f"{ended.name} ({ended.hint}) is revoked.", soft_wrap=True, markup=False)


class Replaced(StrEnum):
    """Keys a workspace has one of."""

    AGENT = "agent"
    WRITE = "write"


@app.command("regenerate")
def regeneration(
    which: Annotated[Replaced, typer.Argument(metavar="agent|write", help="The key to replace.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Replace the Agent key or the write key.

    The old value ends at once.
    """
    from service_core.access.keys import regenerate
    from service_core.access.model import CredentialKind
    from service_core.kernel.clock import system_clock

    async def replace(directory: "Directory", owner: "Workspace") -> "Minted":
        return await regenerate(directory, owner, CredentialKind(which.value), system_clock())

    _show_once(_within(config, workspace, replace))


@app.command("list")
def listing(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List the keys of a workspace, revoked ones included."""

    async def every(directory: "Directory", owner: "Workspace") -> "list[Credential]":
        return await directory.keys(owner.id)

    console = output()
    for credential in _within(config, workspace, every):
        ended = credential.revoked_at is not None
        title = f"{credential.id}  {credential.hint}  {credential.name}"
        console.print(title, style="dim strike" if ended else "bold", soft_wrap=True, markup=False)
        console.print(f"    {_particulars(credential)}", style="dim", soft_wrap=True, markup=False)


def _show_once(minted: "Minted") -> None:
    console = output()
    console.print(minted.secret, style="bold", soft_wrap=True, markup=False)
    credential = minted.credential
    console.print(
        f"{credential.name} ({credential.id}) may {_abilities(credential)}.", soft_wrap=True, markup=False
    )
    console.print("The key is shown this once; only its digest is kept.", style="yellow")


def _abilities(credential: "Credential") -> str:
    return ", ".join(sorted(scope.value for scope in credential.scopes)) or "send events"


def _particulars(credential: "Credential") -> str:
    """Kind, abilities, limit and dates of a key in one line."""
    parts = [credential.kind.value, _abilities(credential)]
    if credential.scopes:
        parts.append(f"{credential.rate_limit} requests per minute")
    parts.append(f"created {credential.created_at:%Y-%m-%d}")
    if credential.revoked_at:
        parts.append(f"revoked {credential.revoked_at:%Y-%m-%d}")
    return " · ".join(parts)


def _within(
    config: "Path", workspace: str | None, work: "Callable[[Directory, Workspace], Awaitable[T]]"
) -> T:
    """Run ``work`` on the directory and the chosen workspace of a deployment."""
    from hosts.cli.deployment import chosen, directory_of

    async def run() -> T:
        async with directory_of(config) as directory:
            return await work(directory, await chosen(directory, workspace))

    return asyncio.run(run())
