"""A connection as a writable resource, kept in its own table with its encrypted credentials."""

import hashlib
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID, uuid5

from pydantic import Field

from service_core.access.models import RequestInterface
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.changes.actor import Actor
from service_core.changes.ports import Transaction
from service_core.changes.resource import MillisecondDatetime, R, Resource
from service_core.commerce.credentials.models import EncryptedSecrets
from service_core.kernel.schemas import BodyModel

CREDENTIALS_LOST: Final = "Its credentials were deleted with it. Enter them again."
"""Error of a connection that an undo brought back: its credentials were deleted with it."""

_FINGERPRINT_LENGTH: Final = 8


class ConversionAsset(BodyModel):
    """A destination of conversions: a pixel, or a conversion action."""

    id: str
    name: str | None = None


class ProviderAccount(BodyModel):
    """An account at the provider, with the assets that conversion rules can send to."""

    id: str
    name: str | None = None
    assets: tuple[ConversionAsset, ...] = ()


class ConnectionRecord(Resource):
    """A connected provider. Its credentials are never part of it, only a fingerprint of what is stored."""

    resource_type: ClassVar[str] = "connection"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"encrypted_credentials"})

    provider: str = Field(description="Id of the provider.")
    kind: ProviderKind
    status: ConnectionStatus
    error: str | None = Field(description="The problem, for people; null if there is none.")
    accounts: tuple[ProviderAccount, ...] = Field(
        description="Those that are read, with assets for conversions."
    )
    credentials_id: str | None = Field(
        description="Fingerprint of the stored credentials; another one after they were replaced, null without any."
    )
    last_synced_at: MillisecondDatetime | None
    encrypted_credentials: str | None = None

    @classmethod
    def from_row(cls, row: Connection, label: str, secrets: EncryptedSecrets | None) -> "ConnectionRecord":
        """Returns the record of a stored connection."""
        return cls(
            id=connection_id(row.workspace_id, row.provider),
            workspace_id=row.workspace_id,
            name=label,
            created_at=row.created_at,
            updated_at=row.created_at,
            created_via=RequestInterface.API,
            created_by=Actor(type="system", id=row.workspace_id, client_id=None),
            provider=row.provider,
            kind=row.kind,
            status=row.status,
            error=row.error,
            accounts=tuple(_to_provider_account(account) for account in row.accounts),
            credentials_id=secrets and fingerprint(secrets.ciphertext),
            last_synced_at=row.last_synced_at,
        )

    def to_row(self, present: Connection | None) -> Connection:
        """Returns the row to store; known accounts keep the currency and time zone that a sync read."""
        known = {account.id: account for account in present.accounts} if present else {}
        return Connection(
            workspace_id=self.workspace_id,
            provider=self.provider,
            kind=self.kind,
            status=self.status,
            created_at=self.created_at,
            accounts=tuple(
                replace(
                    known.get(account.id, ConnectedAccount(account.id)),
                    name=account.name,
                    assets=tuple(Asset(asset.id, asset.name) for asset in account.assets),
                )
                for account in self.accounts
            ),
            error=self.error,
            last_synced_at=self.last_synced_at,
        )


class ConnectionRowStorage:
    """Reads and saves connections in their own table, with their encrypted credentials."""

    def __init__(self, transaction: Transaction) -> None:
        self._tables = transaction.tables

    async def get(self, model: type[R], resource_id: UUID) -> R | None:
        """Returns the connection with this id."""
        return next((record for record in await self.list_all(model) if record.id == resource_id), None)

    async def list_all(self, model: type[R]) -> list[R]:
        """Returns every connection, newest first."""
        secrets = {row.provider: row for row in await self._tables.list_rows(EncryptedSecrets)}
        rows = sorted(await self._tables.list_rows(Connection), key=lambda row: row.created_at, reverse=True)
        records = [ConnectionRecord.from_row(row, row.provider, secrets.get(row.provider)) for row in rows]
        return [record for record in records if isinstance(record, model)]

    async def save(self, record: Resource) -> None:
        """Saves a connection, and its credentials where the record has new ones.

        A connection that an undo brings back had credentials that are gone: it is saved as expired.
        """
        if not isinstance(record, ConnectionRecord):
            raise TypeError("only connections are saved in their table")
        rows = {row.provider: row for row in await self._tables.list_rows(Connection)}
        present = rows.get(record.provider)
        row = record.to_row(present)
        if present is None and record.credentials_id and record.encrypted_credentials is None:
            row = replace(row, status=ConnectionStatus.EXPIRED, error=CREDENTIALS_LOST)
        await self._tables.save_row(row)
        if record.encrypted_credentials is not None:
            ciphertext = b64decode(record.encrypted_credentials)
            await self._tables.save_row(EncryptedSecrets(record.workspace_id, record.provider, ciphertext))

    async def remove(self, record: Resource, now: datetime) -> None:  # noqa: ARG002 - as `RecordStorage`
        """Deletes a connection with its credentials and its poll state."""
        if isinstance(record, ConnectionRecord):
            await self._tables.delete_rows(Connection, provider=record.provider)


def connection_id(workspace_id: UUID, provider: str) -> UUID:
    """Returns the id of a connection, which follows from its workspace and its provider."""
    return uuid5(workspace_id, f"connection:{provider}")


def encrypted_credential_fields(ciphertext: bytes) -> dict[str, Any]:
    """Returns the fields of a record with new credentials."""
    return {
        "encrypted_credentials": b64encode(ciphertext).decode(),
        "credentials_id": fingerprint(ciphertext),
    }


def fingerprint(ciphertext: bytes) -> str:
    """Returns a short digest that changes whenever credentials are stored, even the same ones, and reveals nothing."""
    return hashlib.sha256(ciphertext).hexdigest()[:_FINGERPRINT_LENGTH]


def _to_provider_account(account: ConnectedAccount) -> ProviderAccount:
    assets = tuple(ConversionAsset(id=asset.id, name=asset.name) for asset in account.assets)
    return ProviderAccount(id=account.id, name=account.name, assets=assets)
