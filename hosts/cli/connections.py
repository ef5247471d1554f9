"""``touchpoint connection``: what a workspace has connected, and with which credentials."""

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId, error_console, output_console
from hosts.cli.secrets import SecretNames
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.composition.ports import Ports
    from service_core.access.models import Workspace
    from service_core.analytics.connections.models import ConnectedAccount, Connection, ProviderKind
    from service_core.changes.change_executor import ChangeExecutor
    from service_core.commerce.connections.schemas import ConnectionTestResult
    from service_core.extensions.workspace_store import WorkspaceStore

app = typer.Typer(
    help="Connect ad platforms and revenue providers.", no_args_is_help=True, rich_markup_mode=None
)


class KindName(StrEnum):
    """Purpose of a connection."""

    ADS = "ads"
    REVENUE = "revenue"
    EVENTS = "events"


class StatusName(StrEnum):
    """Status of a connection."""

    CONNECTED = "connected"
    PENDING = "pending"
    ERROR = "error"
    EXPIRED = "expired"
    DISCONNECTED = "disconnected"


@app.command("add")
@print_settings_after_change
def add_or_replace_connection(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Provider id, such as meta or stripe.")],
    account: Annotated[
        list[str] | None, typer.Option(metavar="ID[=NAME]", help="Account id; repeat for several.")
    ] = None,
    asset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ACCOUNT/ID[=NAME]",
            help="A pixel or conversion action of an account; repeat for several.",
        ),
    ] = None,
    kind: Annotated[
        KindName | None, typer.Option(help="Kind of provider; required when no plugin knows it.")
    ] = None,
    secret: SecretNames = None,
    status: Annotated[
        StatusName | None,
        typer.Option(
            help="Status. [default: pending when it has a secret, until the first sync; else connected]"
        ),
    ] = None,
    error: Annotated[str | None, typer.Option(metavar="TEXT", help="Error message to show.")] = None,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Add a connection, or replace the one of this provider.

    Credentials that are given replace those there were; without any, those stay. An ad platform with
    credentials is read by the running service: the accounts that are named, or all there are.
    """
    from hosts.cli.secrets import read_secrets_from_environment_or_stdin
    from service_core.analytics.connections.models import ConnectionStatus

    provider_kind = _chosen_or_installed_provider_kind(config, provider, kind)
    _require_declared_secret_names(config, provider, secret or [])
    accounts = _parse_accounts_with_assets(account or [], asset or [])
    secrets = read_secrets_from_environment_or_stdin(secret or [])
    is_synced_later = bool(secrets) and not _is_send_only(config, provider)
    default_status = ConnectionStatus.PENDING if is_synced_later else ConnectionStatus.CONNECTED
    connection_status = ConnectionStatus(status.value) if status else default_status

    async def save_connection_and_secrets() -> tuple["Connection", str | None]:
        from hosts.cli.deployment import find_named_or_only_workspace
        from hosts.cli.secrets import open_workspace_store_and_cipher
        from service_core.analytics.connections.models import Connection

        async with open_workspace_store_and_cipher(config) as ports:
            owner = await find_named_or_only_workspace(ports.workspace.credentials, workspace)
            connection = Connection(
                owner.id, provider, provider_kind, connection_status, ports.clock(), accounts, error
            )
            await _save_with_audit_entry(ports, owner, connection, secrets)
            accepts_webhooks = secrets and provider in ports.registry.webhook_providers
            return connection, f"/webhooks/{provider}/{owner.public_id}" if accepts_webhooks else None

    connection, webhook = asyncio.run(save_connection_and_secrets())
    _print_connection_with_assets_or_accounts(connection)
    if webhook is not None:
        output_console().print(
            f"Let it send webhooks to {webhook} of the ingest host.", soft_wrap=True, markup=False
        )


@app.command("list")
def list_connections(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List what a workspace has connected."""
    connections = asyncio.run(_load_connections(config, workspace))
    if not connections:
        error_console().print(
            "Nothing is connected. `touchpoint connection add PROVIDER` notes what is.", markup=False
        )
    for connection in connections:
        _print_connection_with_assets_or_accounts(connection)


@app.command("remove")
@print_settings_after_change
def remove_connection(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Provider of the connection.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Forget a connection."""
    if not asyncio.run(_remove_connection(config, workspace, provider)):
        raise typer.BadParameter(f"{provider} is not connected", param_hint="PROVIDER")
    output_console().print(f"Removed the connection {provider}.", soft_wrap=True, markup=False)


@app.command("renew")
@print_settings_after_change
def replace_connection_secrets(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Provider of the connection.")],
    secret: SecretNames = None,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Replace the credentials of a connection.

    Its accounts, pixels and what was read stay; it is read again with the new ones.
    """
    from hosts.cli.secrets import read_secrets_from_environment_or_stdin

    if not secret:
        raise typer.BadParameter("name what is replaced, as in --secret access_token", param_hint="--secret")
    _require_declared_secret_names(config, provider, secret)
    _print_connection_with_assets_or_accounts(
        asyncio.run(
            _replace_secrets_and_clear_error(
                config, workspace, provider, read_secrets_from_environment_or_stdin(secret)
            )
        )
    )


@app.command("test")
def ask_provider_of_connection(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Provider of the connection.")],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Ask the provider whether it accepts the stored credentials.

    Nothing is changed. Exit code 1 if it refuses them, or does not answer.
    """
    result = asyncio.run(_read_answer_of_provider(config, workspace, provider))
    if as_json:
        typer.echo(result.model_dump_json(include={"ok", "message", "accounts"}))
    else:
        console = error_console() if result.ok is False else output_console()
        console.print(result.message, soft_wrap=True, markup=False)
        for account in result.accounts:
            console.print(f"  {account.id}  {account.name or ''}".rstrip(), soft_wrap=True, markup=False)
    if result.ok is False:
        raise typer.Exit(1)


async def _read_answer_of_provider(
    config: "Path", workspace: str | None, provider: str
) -> "ConnectionTestResult":
    from hosts.cli.deployment import find_named_or_only_workspace
    from hosts.cli.secrets import open_workspace_store_and_cipher
    from hosts.composition.load_settings import load_settings_with_environment
    from hosts.composition.providers import build_ad_sync, build_pollable_provider_sync
    from service_core.commerce.connections.credential_test import ask_provider_with_credentials

    settings = load_settings_with_environment(config)
    async with open_workspace_store_and_cipher(config) as ports:
        owner = await find_named_or_only_workspace(ports.workspace.credentials, workspace)
        connections = await ports.workspace.connections.list_connections_oldest_first(owner.id)
        connection = next((known for known in connections if known.provider == provider), None)
        if connection is None:
            raise typer.BadParameter(f"{provider} is not connected", param_hint="PROVIDER")
        return await ask_provider_with_credentials(
            provider,
            [account.id for account in connection.accounts],
            await ports.connection_secrets.find_secrets(owner.id, provider),
            build_ad_sync(ports, settings),
            build_pollable_provider_sync(ports, settings),
        )


async def _replace_secrets_and_clear_error(
    config: "Path", workspace: str | None, provider: str, secrets: dict[str, str]
) -> "Connection":
    from dataclasses import replace

    from hosts.cli.deployment import find_named_or_only_workspace
    from hosts.cli.secrets import open_workspace_store_and_cipher
    from service_core.analytics.connections.models import ConnectionStatus

    async with open_workspace_store_and_cipher(config) as ports:
        owner = await find_named_or_only_workspace(ports.workspace.credentials, workspace)
        connection_by_provider = {
            connection.provider: connection
            for connection in await ports.workspace.connections.list_connections_oldest_first(owner.id)
        }
        if provider not in connection_by_provider:
            raise typer.BadParameter(f"{provider} is not connected", param_hint="PROVIDER")
        is_never_synced = connection_by_provider[provider].last_synced_at is None and not _is_send_only(
            config, provider
        )
        status = ConnectionStatus.PENDING if is_never_synced else ConnectionStatus.CONNECTED
        connection = replace(connection_by_provider[provider], status=status, error=None)
        await _save_with_audit_entry(ports, owner, connection, secrets)
        return connection


async def _save_with_audit_entry(
    ports: "Ports", workspace: "Workspace", connection: "Connection", secrets: dict[str, str]
) -> None:
    """Saves a connection, and its credentials where there are new ones, as the API does."""
    from service_core.access.internal_callers import build_command_line_caller
    from service_core.commerce.connections.save_row import plan_connection_save
    from service_core.commerce.credentials.encrypted_secrets import encrypt_secrets

    ciphertext = (
        encrypt_secrets(ports.secret_cipher, workspace.id, connection.provider, secrets) if secrets else None
    )
    caller = build_command_line_caller(workspace, ports.clock())
    plan = plan_connection_save(connection, ciphertext)
    await _connection_changes(ports.workspace).preview_or_apply_change(caller, plan, dry_run=False)


def _connection_changes(store: "WorkspaceStore") -> "ChangeExecutor":
    from dataclasses import replace

    from service_core.changes.change_executor import ChangeExecutor
    from service_core.changes.resource import load_plain_serializer
    from service_core.commerce.connections.resource import CONNECTIONS

    stored = replace(CONNECTIONS.resource_type, serializer=load_plain_serializer)
    return ChangeExecutor(store.transactions, [stored])


@app.command("reseal")
@print_settings_after_change
def reencrypt_all_secrets(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Encrypt all credentials again, with the first key.

    Afterwards no other key is needed.
    """
    count = asyncio.run(_reencrypt_and_count_secrets(config))
    output_console().print(f"Encrypted again: {count}", soft_wrap=True, markup=False)


async def _reencrypt_and_count_secrets(config: "Path") -> int:
    from hosts.cli.secrets import open_workspace_store_and_cipher

    count = 0
    async with open_workspace_store_and_cipher(config) as ports:
        connection_secrets = ports.connection_secrets
        for workspace_and_provider in await connection_secrets.list_connections_with_secrets():
            secrets = await connection_secrets.find_secrets(*workspace_and_provider)
            await connection_secrets.replace_or_delete_secrets(*workspace_and_provider, secrets or {})
            count += 1
    return count


async def _load_connections(config: "Path", workspace: str | None) -> "list[Connection]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async with open_workspace_store(config) as store:
        return await store.connections.list_connections_oldest_first(
            (await find_named_or_only_workspace(store.credentials, workspace)).id
        )


async def _remove_connection(config: "Path", workspace: str | None, provider: str) -> bool:
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store
    from service_core.access.internal_callers import build_command_line_caller
    from service_core.changes.record_plans import plan_delete
    from service_core.commerce.connections.models import (
        ConnectionRecord,
        ConnectionRowStorage,
        connection_id,
    )
    from service_core.kernel.clock import system_clock
    from service_core.kernel.errors import NotFound

    async with open_workspace_store(config) as store:
        owner = await find_named_or_only_workspace(store.credentials, workspace)
        caller = build_command_line_caller(owner, system_clock())
        plan = plan_delete(ConnectionRecord, connection_id(owner.id, provider), storage=ConnectionRowStorage)
        try:
            await _connection_changes(store).preview_or_apply_change(caller, plan, dry_run=False)
        except NotFound:
            return False
        return True


def _chosen_or_installed_provider_kind(
    config: "Path", provider: str, chosen: KindName | None
) -> "ProviderKind":
    from service_core.analytics.connections.models import ProviderKind

    if chosen is not None:
        return ProviderKind(chosen.value)
    known = _installed_provider_kinds(config)
    if provider not in known:
        raise typer.BadParameter(
            f"say what {provider} is for; known providers are {', '.join(known)}",
            param_hint="--kind",
        )
    return known[provider]


def _installed_provider_kinds(config: "Path") -> "dict[str, ProviderKind]":
    """Returns the purposes of the providers of installed plugins."""
    from hosts.cli.deployment import load_registry_of_usable_plugins

    return {
        provider.id: provider.kind
        for provider in load_registry_of_usable_plugins(config).connectable_providers.by_id.values()
    }


def _require_declared_secret_names(config: "Path", provider: str, secret_options: list[str]) -> None:
    """Refuses a secret that the plugin of the provider does not know, before its value is read."""
    from hosts.cli.deployment import load_registry_of_usable_plugins

    installed = load_registry_of_usable_plugins(config).connectable_providers.by_id.get(provider)
    if installed is None or installed.declaration is None:
        return
    problem = installed.declaration.describe_first_undeclared_credential(
        option.partition("=")[0] for option in secret_options
    )
    if problem is not None:
        raise typer.BadParameter(problem, param_hint="--secret")


def _is_send_only(config: "Path", provider: str) -> bool:
    """Whether nothing is read of a provider, so that nothing would ever tell that it is connected."""
    from hosts.cli.deployment import load_registry_of_usable_plugins

    registry = load_registry_of_usable_plugins(config)
    return provider in registry.conversion_senders and provider not in registry.ad_platforms


def _parse_accounts_with_assets(
    account_options: list[str], asset_options: list[str]
) -> "tuple[ConnectedAccount, ...]":
    """Accounts in the order they are named first; an asset names its account, too."""
    from service_core.analytics.connections.models import Asset, ConnectedAccount

    names = {id_: name or None for id_, _, name in (text.partition("=") for text in account_options)}
    assets_by_account: dict[str, list[Asset]] = {id_: [] for id_ in names}
    for text in asset_options:
        place, _, name = text.partition("=")
        owner, _, id_ = place.partition("/")
        if not owner or not id_:
            raise typer.BadParameter(f"{text!r} does not read like act_1/1234=Shop", param_hint="--asset")
        assets_by_account.setdefault(owner, []).append(Asset(id_, name or None))
    return tuple(
        ConnectedAccount(id_, names.get(id_), tuple(account_assets))
        for id_, account_assets in assets_by_account.items()
    )


def _print_connection_with_assets_or_accounts(connection: "Connection") -> None:
    places = [f"{account.id}/{asset.id}" for account in connection.accounts for asset in account.assets] or [
        account.id for account in connection.accounts
    ]
    parts = (connection.provider, connection.status.value, *places, connection.error)
    output_console().print(" ".join(filter(None, parts)), soft_wrap=True, markup=False)
