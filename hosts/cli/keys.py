"""``touchpoint key``: named keys of a workspace, and the end of any key."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.api_keys import KeyWithSecret
    from service_core.access.models import Credential, Workspace
    from service_core.access.ports import CredentialStore

T = TypeVar("T")

app = typer.Typer(help="Create, list and revoke keys.", no_args_is_help=True, rich_markup_mode=None)


@app.command("create")
@print_settings_after_change
def create_and_print_named_key(
    name: Annotated[str, typer.Option(metavar="N", help="Name shown in lists and in the audit.")] = "Key",
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help="Scope; repeat for several. [default: service:read]"),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Create a named key and show it once."""
    from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
    from service_core.access.scopes import parse_scopes_rejecting_unknown
    from service_core.kernel.clock import system_clock

    scopes = parse_scopes_rejecting_unknown(scope or ["service:read"])

    async def create_key(directory: "CredentialStore", owner: "Workspace") -> "KeyWithSecret":
        return await create_named_key_clamping_rate_limit_to_plan(
            directory, owner, system_clock(), name=name, scopes=scopes
        )

    minted = _run_on_credential_store(config, workspace, create_key)
    if as_json:
        granted = sorted(granted_scope.value for granted_scope in minted.credential.scopes)
        typer.echo(json.dumps({"key": minted.secret, "id": str(minted.credential.id), "scopes": granted}))
    else:
        _print_new_key(minted)


@app.command("revoke")
@print_settings_after_change
def revoke_key_of_workspace(
    key_id: Annotated[UUID, typer.Argument(metavar="ID", help="Id of the key, from `touchpoint key list`.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """End a key at once, in every running process."""
    from service_core.access.api_keys import revoke_key_if_active
    from service_core.kernel.clock import system_clock
    from service_core.kernel.errors import NotFound

    async def end_key(directory: "CredentialStore", owner: "Workspace") -> "Credential":
        try:
            return await revoke_key_if_active(directory, owner, key_id, system_clock())
        except NotFound:
            raise typer.BadParameter(
                f"{owner.name} has no key {key_id}; `touchpoint key list` shows its keys", param_hint="ID"
            ) from None

    ended = _run_on_credential_store(config, workspace, end_key)
    output_console().print(f"{ended.name} ({ended.hint}) is revoked.", soft_wrap=True, markup=False)


class ReplaceableKey(StrEnum):
    """Keys a workspace has one of."""

    AGENT = "agent"
    WRITE = "write"


@app.command("regenerate")
@print_settings_after_change
def replace_agent_or_write_key(
    which: Annotated[ReplaceableKey, typer.Argument(metavar="agent|write", help="The key to replace.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Replace the Agent key or the write key.

    The old value ends at once.
    """
    from service_core.access.api_keys import revoke_and_reissue_workspace_key
    from service_core.access.models import CredentialKind
    from service_core.kernel.clock import system_clock

    async def regenerate_key(directory: "CredentialStore", owner: "Workspace") -> "KeyWithSecret":
        return await revoke_and_reissue_workspace_key(
            directory, owner, CredentialKind(which.value), system_clock()
        )

    _print_new_key(_run_on_credential_store(config, workspace, regenerate_key))


@app.command("list")
def list_keys_with_revoked(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List the keys of a workspace, revoked ones included."""

    async def load_keys(directory: "CredentialStore", owner: "Workspace") -> "list[Credential]":
        return await directory.list_keys(owner.id)

    console = output_console()
    for credential in _run_on_credential_store(config, workspace, load_keys):
        ended = credential.revoked_at is not None
        title = f"{credential.id}  {credential.hint}  {credential.name}"
        console.print(title, style="dim strike" if ended else "bold", soft_wrap=True, markup=False)
        console.print(f"    {_format_key_details(credential)}", style="dim", soft_wrap=True, markup=False)


def _print_new_key(minted: "KeyWithSecret") -> None:
    console = output_console()
    console.print(minted.secret, style="bold", soft_wrap=True, markup=False)
    credential = minted.credential
    console.print(
        f"{credential.name} ({credential.id}) may {_format_scopes(credential)}.", soft_wrap=True, markup=False
    )
    console.print("Copy the key now; you won't see it again.", style="yellow")


def _format_scopes(credential: "Credential") -> str:
    return ", ".join(sorted(scope.value for scope in credential.scopes)) or "send events"


def _format_key_details(credential: "Credential") -> str:
    """Kind, abilities, limit and dates of a key in one line."""
    parts = [credential.kind.value, _format_scopes(credential)]
    if credential.scopes:
        parts.append(f"{credential.rate_limit} requests per minute")
    parts.append(f"created {credential.created_at:%Y-%m-%d}")
    if credential.revoked_at:
        parts.append(f"revoked {credential.revoked_at:%Y-%m-%d}")
    return " · ".join(parts)


def _run_on_credential_store(
    config: "Path",
    workspace: str | None,
    credential_task: "Callable[[CredentialStore, Workspace], Awaitable[T]]",
) -> T:
    """Run ``work`` on the directory and the chosen workspace of a deployment."""
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async def open_store_and_run_task() -> T:
        async with open_workspace_store(config) as directory:
            return await credential_task(
                directory.credentials, await find_named_or_only_workspace(directory.credentials, workspace)
            )

    return asyncio.run(open_store_and_run_task())
