"""``touchpoint member``: people of a workspace; this is how the first owner comes."""

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, error_console, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.members.membership import AddedMember
    from service_core.access.members.models import Account, Member

app = typer.Typer(
    help="Add, list, change and remove members.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class RoleName(StrEnum):
    """Roles of a person in a workspace."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


@app.command("add")
@print_settings_after_change
def add_member_and_print_password_link(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="E-mail address.")],
    role: Annotated[RoleName, typer.Option(help="Role in the workspace.")] = RoleName.MEMBER,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Add a member and print a link to set a password.

    No mail is sent.
    """
    added, web_url = asyncio.run(_add_member_and_get_app_url(config, workspace, email, role.value))
    console = output_console()
    account, member = added.account, added.member
    console.print(f"{account.email} is {member.role.value}.", soft_wrap=True, markup=False)
    if added.token is None:
        console.print(f"Sign in: {web_url}/sign-in", soft_wrap=True, markup=False)
    else:
        console.print(f"{web_url}/password?token={added.token}", style="bold", soft_wrap=True, markup=False)
        console.print("The link sets the password. It works once, for 24 hours.", style="yellow")


@app.command("role")
@print_settings_after_change
def change_member_role(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="E-mail address of the member.")],
    role: Annotated[RoleName, typer.Argument(help="New role in the workspace.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Change the role of a member.

    The last owner keeps the role. Sign-ins and connected assistants have the new role at once.
    """
    account = asyncio.run(_change_role_or_remove(config, workspace, email, role.value))
    output_console().print(f"{account.email} is {role.value}.", soft_wrap=True, markup=False)


@app.command("remove")
@print_settings_after_change
def remove_member(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="E-mail address of the member.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Remove a member from a workspace.

    The last owner stays. The account and its memberships of other workspaces stay too. API keys that the member
    granted stop working.
    """
    account = asyncio.run(_change_role_or_remove(config, workspace, email, None))
    output_console().print(f"{account.email} is no member any more.", soft_wrap=True, markup=False)


@app.command("list")
def list_members(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List the people of a workspace."""
    console = output_console()
    people = asyncio.run(_load_members_with_existing_account(config, workspace))
    if not people:
        error_console().print(
            "Nobody yet. `touchpoint member add EMAIL --role owner` adds the first owner.", markup=False
        )
    for account, member in people:
        console.print(f"{member.role.value:<7} {account.email}", soft_wrap=True, markup=False)


async def _add_member_and_get_app_url(
    config: "Path", workspace: str | None, email: str, role: str
) -> "tuple[AddedMember, str]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.serving_addresses import with_serving_addresses
    from service_core.access.members.membership import add_member_with_password_link_if_needed
    from service_core.access.roles import Role
    from service_core.kernel.clock import system_clock

    async with open_workspace_store(config) as store:
        chosen_workspace = await find_named_or_only_workspace(store.credentials, workspace)
        added = await add_member_with_password_link_if_needed(
            store.accounts, store.members, chosen_workspace, email=email, role=Role(role), now=system_clock()
        )
    settings = with_serving_addresses(load_settings_with_environment(config), settings_folder(config))
    return added, settings.http.effective_app_url


async def _load_members_with_existing_account(
    config: "Path", workspace: str | None
) -> "list[tuple[Account, Member]]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async with open_workspace_store(config) as store:
        members = await store.members.list_members(
            (await find_named_or_only_workspace(store.credentials, workspace)).id
        )
        people = [(await store.accounts.get_account(member.account_id), member) for member in members]
    return [(account, member) for account, member in people if account is not None]


async def _change_role_or_remove(
    config: "Path", workspace: str | None, email: str, role: str | None
) -> "Account":
    """Changes the role of a member, or removes the member if ``role`` is None; returns the account.

    Raises:
        typer.BadParameter: the workspace has no such member.
        Conflict: the workspace would have no owner.
    """
    from dataclasses import replace

    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store
    from service_core.access.email_addresses import normalize_or_reject_email
    from service_core.access.roles import Role
    from service_core.kernel.clock import system_clock
    from service_core.kernel.errors import Conflict

    async with open_workspace_store(config) as store:
        owner = await find_named_or_only_workspace(store.credentials, workspace)
        account = await store.accounts.find_account_by_email(normalize_or_reject_email(email))
        member = await store.members.get_member(owner.id, account.id) if account else None
        if account is None or member is None:
            raise typer.BadParameter(
                f"{owner.name} has no member {email}; `touchpoint member list` shows its members",
                param_hint="EMAIL",
            )
        changed = (
            await store.members.remove_member_unless_last_owner(owner.id, account.id, system_clock())
            if role is None
            else await store.members.save_member_unless_no_owner_left(
                replace(member, role=Role(role)), system_clock()
            )
        )
    if not changed:
        raise Conflict("A workspace keeps at least one owner", "resource_changed")
    return account
