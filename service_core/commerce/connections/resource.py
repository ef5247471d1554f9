"""Connections as a writable resource: connect, change, pause and remove a provider."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.connections.providers import InstalledProvider, InstalledProviders
from service_core.changes.models import changed_fields
from service_core.changes.resource import RecordReader, Resource, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.commerce.connections.models import (
    CREDENTIALS_LOST,
    ConnectionRecord,
    ConnectionRowStorage,
    connection_id,
    encrypted_credential_fields,
)
from service_core.commerce.connections.operations import list_providers, test_connection
from service_core.commerce.connections.schemas import ConnectionAnswer, ConnectionPatch, NewConnection
from service_core.commerce.credentials.encrypted_secrets import encrypt_secrets
from service_core.commerce.credentials.ports import SecretCipher
from service_core.kernel.errors import Conflict, Unprocessable
from service_core.kernel.operations import Scope


@dataclass(frozen=True, slots=True)
class ConnectionTools:
    """What a write of a connection needs: the installed providers, and how credentials are encrypted."""

    providers: InstalledProviders
    encrypt: Callable[[str, dict[str, str]], bytes]


def provide_tools(
    body: NewConnection | ConnectionPatch,  # noqa: ARG001 - as `resource` calls it
    *,
    caller: Caller,
    providers: InstalledProviders,
    cipher: SecretCipher,
) -> ConnectionTools:
    """Returns what a write needs."""

    def encrypt(provider: str, credentials: dict[str, str]) -> bytes:
        return encrypt_secrets(cipher, caller.workspace.id, provider, credentials)

    return ConnectionTools(providers, encrypt)


async def create_connection(new: NewConnection, write: WriteContext[ConnectionTools]) -> ConnectionRecord:
    """Connect an installed provider. `list_providers` says which credentials it takes."""
    provider = write.prepared.providers.by_id.get(new.provider)
    if provider is None:
        installed = ", ".join(write.prepared.providers.by_id) or "none"
        raise Unprocessable(
            f"No installed plugin brings {new.provider}",
            "invalid_field",
            field="connection.provider",
            hint=f"Installed: {installed}.",
        )
    id_ = connection_id(write.caller.workspace.id, provider.id)
    if write.own_records and await write.own_records.get(ConnectionRecord, id_) is not None:
        raise Unprocessable(
            f"{provider.label} is connected already",
            "invalid_field",
            field="connection.provider",
            hint="Change the connection, or remove it first.",
        )
    credentials = _require_declared_credentials(provider, new.credentials)
    _require_unique_accounts(new.accounts)
    stored = (
        encrypted_credential_fields(write.prepared.encrypt(provider.id, credentials)) if credentials else {}
    )
    return ConnectionRecord(
        **{**write.new_fields(), "id": id_},
        name=provider.label,
        provider=provider.id,
        kind=provider.kind,
        status=_status_before_first_sync(provider, has_credentials=bool(credentials)),
        error=None,
        accounts=tuple(new.accounts),
        last_synced_at=None,
        **({"credentials_id": None} | stored),
    )


async def update_connection(
    connection: ConnectionRecord, patch: ConnectionPatch, write: WriteContext[ConnectionTools]
) -> ConnectionRecord:
    """Pause or resume a connection, replace its credentials, or choose its accounts."""
    provider = write.prepared.providers.by_id.get(connection.provider)
    changed: dict[str, Any] = {}
    if patch.accounts is not None:
        _require_unique_accounts(patch.accounts)
        changed["accounts"] = tuple(patch.accounts)
    if patch.credentials is not None:
        credentials = _require_declared_credentials(provider, patch.credentials, are_required=True)
        changed |= encrypted_credential_fields(write.prepared.encrypt(connection.provider, credentials))
    changed |= _status_fields_after_patch(connection, patch, provider)
    return connection.with_fields(write.caller.now, **changed)


async def describe_connection_effects(
    records: RecordReader,  # noqa: ARG001 - as `ResourceType.effects`
    prior: State | None,
    new: State | None,
) -> Sequence[State]:
    """Returns what a change does to credentials, syncs and rules."""
    return [
        {"type": "connection", "summary": summary} for summary in _describe_irreversible_effects(prior, new)
    ]


async def load_connection_serializer(
    records: RecordReader,  # noqa: ARG001 - as `ResourceType.serializer`
    resources: Sequence[Resource],  # noqa: ARG001 - likewise
    *,
    providers: InstalledProviders,
) -> Serializer:
    """Returns how connections are shown: with the label of the provider and where its webhooks go.

    Their table has no name, time of change or creator, so these are left out.
    """
    shown = ConnectionAnswer.model_fields.keys() - {"label", "webhook_path"}

    def serialize(state: State) -> State:
        provider = providers.by_id.get(state["provider"])
        accepts_webhooks = provider is not None and provider.accepts_webhooks
        path = f"/webhooks/{state['provider']}" if accepts_webhooks else None
        stored = {name: value for name, value in state.items() if name in shown}
        return {**stored, "label": provider.label if provider else state["provider"], "webhook_path": path}

    return serialize


def require_stored_credentials(caller: Caller, prior: State | None, new: State | None) -> None:  # noqa: ARG001 - as `ResourceType.check_permitted`
    """Refuses an undo that would bring back credentials: they were overwritten.

    Raises:
        Conflict: ``not_undoable``.
    """
    if prior is None or new is None or new["encrypted_credentials"] is not None:
        return
    if prior["credentials_id"] != new["credentials_id"]:
        raise Conflict(
            "Replaced credentials are not kept",
            "not_undoable",
            hint="Enter the former credentials again.",
        )


def _require_declared_credentials(
    provider: InstalledProvider | None, credentials: dict[str, str], *, are_required: bool = False
) -> dict[str, str]:
    """Returns the credentials without empty values.

    Raises:
        Unprocessable: ``invalid_field``, for a name that is not declared or a missing value.
    """
    given = {name: value.strip() for name, value in credentials.items() if value.strip()}
    declaration = provider.declaration if provider else None
    if declaration is None:
        return given
    problem = declaration.describe_first_undeclared_credential(credentials)
    missing = declaration.missing_credential_names(given) if given or are_required else ()
    if problem is None and missing:
        problem = f"{declaration.label} also needs {', '.join(missing)}"
    if problem is not None:
        raise Unprocessable(problem, "invalid_field", field="connection.credentials")
    return given


def _require_unique_accounts(accounts: Sequence[Any]) -> None:
    ids = [account.id.strip() for account in accounts]
    if len(set(ids)) < len(ids) or "" in ids:
        raise Unprocessable(
            "Every account has an id, and is named once", "invalid_field", field="connection.accounts"
        )


def _status_before_first_sync(
    provider: InstalledProvider | None, *, has_credentials: bool
) -> ConnectionStatus:
    """Returns `PENDING` where the first sync shows whether it works, else `CONNECTED`."""
    is_synced = has_credentials and provider is not None and not provider.is_send_only
    return ConnectionStatus.PENDING if is_synced else ConnectionStatus.CONNECTED


def _status_fields_after_patch(
    connection: ConnectionRecord, patch: ConnectionPatch, provider: InstalledProvider | None
) -> dict[str, Any]:
    is_paused = connection.status is ConnectionStatus.DISCONNECTED
    if patch.paused is True:
        return {"status": ConnectionStatus.DISCONNECTED}
    if is_paused and patch.paused is None:
        return {}
    if not is_paused and patch.credentials is None:
        return {}
    has_credentials = patch.credentials is not None or connection.credentials_id is not None
    if connection.last_synced_at is not None and not has_credentials:
        return {"status": ConnectionStatus.EXPIRED, "error": CREDENTIALS_LOST}
    if connection.last_synced_at is not None:
        return {"status": ConnectionStatus.CONNECTED, "error": None}
    return {"status": _status_before_first_sync(provider, has_credentials=has_credentials), "error": None}


def _describe_irreversible_effects(prior: State | None, new: State | None) -> list[str]:
    if new is None:
        return ["Its credentials are deleted for good; an undo restores the connection without them."]
    if prior is None:
        is_restored = new["created_at"] is not None and new["updated_at"] != new["created_at"]
        return [CREDENTIALS_LOST] if new["credentials_id"] and is_restored else []
    changed = changed_fields(prior, new)
    summaries = []
    if "credentials_id" in changed:
        summaries.append("The new credentials replace the stored ones, which cannot be restored.")
    if "status" in changed and new["status"] == ConnectionStatus.DISCONNECTED:
        summaries.append("Nothing is read, received or sent until it is resumed. Collected data stays.")
    return summaries


CONNECTIONS: Final = resource(
    ResourceType(
        ConnectionRecord,
        Scope.WRITE_RULES,
        effects=describe_connection_effects,
        serializer=load_connection_serializer,
        storage=ConnectionRowStorage,
        check_permitted=require_stored_credentials,
    ),
    "/connections/{connectionId}",
    listing=Listing("Every connected provider with its status, newest first."),
    create=create_connection,
    update=update_connection,
    delete="Remove a connection with its credentials. What was read stays; an undo restores it without credentials.",
    prepare=provide_tools,
    answer=ConnectionAnswer,
    operations=(list_providers, test_connection),
    are_reads_aggregate=True,
)
