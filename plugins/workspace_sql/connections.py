"""What workspaces have connected, in SQL."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import RowMapping

from plugins.workspace_sql import encrypted_secrets, sync_states
from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA
from service_core.plugin import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)

CONNECTIONS: Final = sa.Table(
    "connections",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("provider", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("accounts", sa.JSON, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("last_synced_at", Instant),
    sa.Column("created_at", Instant, nullable=False),
)
"""One row per provider of a workspace; its accounts are a document, replaced as a whole."""

_ROW: Final = CONNECTIONS.c


class SqlConnections:
    """Implements the port `Connections`."""

    _database: Database

    async def list_connections(self, workspace_id: UUID) -> list[Connection]:
        """Those of a workspace, oldest first."""
        query = sa.select(CONNECTIONS).where(_ROW.workspace_id == workspace_id)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(_ROW.created_at, _ROW.provider))).mappings()
            return [_connection_of(row) for row in rows]

    async def save_connection(self, connection: Connection) -> None:
        """Add or replace; the row keeps the day it was added."""
        row = _row_of(connection)
        changed = {name: value for name, value in row.items() if name != "created_at"}
        update = sa.update(CONNECTIONS).where(*_is(connection.workspace_id, connection.provider))
        async with self._database.write(connection.workspace_id) as transaction:
            if (await transaction.execute(update.values(changed))).rowcount == 0:
                await transaction.execute(sa.insert(CONNECTIONS).values(row))

    async def mark_synced(self, workspace_id: UUID, provider: str, synced_at: datetime) -> None:
        """Move ``last_synced_at`` forward, in one statement: what others say of the connection stays."""
        pending, connected = ConnectionStatus.PENDING.value, ConnectionStatus.CONNECTED.value
        earlier = sa.or_(_ROW.last_synced_at.is_(None), _ROW.last_synced_at < synced_at)
        update = sa.update(CONNECTIONS).where(*_is(workspace_id, provider), earlier)
        status = sa.case((_ROW.status == pending, connected), else_=_ROW.status)
        async with self._database.write(workspace_id) as transaction:
            await transaction.execute(update.values(last_synced_at=synced_at, status=status))

    async def remove_connection(self, workspace_id: UUID, provider: str) -> bool:
        """Forget a connection, its credentials, and how far it was read."""
        async with self._database.write() as transaction:
            for kept in (encrypted_secrets, sync_states):
                await transaction.execute(kept.forgetting(workspace_id, provider))
            gone = await transaction.execute(sa.delete(CONNECTIONS).where(*_is(workspace_id, provider)))
            return bool(gone.rowcount)


def _is(workspace_id: UUID, provider: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _ROW.workspace_id == workspace_id, _ROW.provider == provider


def _row_of(connection: Connection) -> dict[str, Any]:
    return {
        "workspace_id": connection.workspace_id,
        "provider": connection.provider,
        "kind": connection.kind.value,
        "status": connection.status.value,
        "accounts": [
            {
                "id": account.id,
                "name": account.name,
                "assets": [{"id": asset.id, "name": asset.name} for asset in account.assets],
                "currency": account.currency,
                "timezone": account.timezone,
            }
            for account in connection.accounts
        ],
        "error": connection.error,
        "last_synced_at": connection.last_synced_at,
        "created_at": connection.created_at,
    }


def _connection_of(row: RowMapping) -> Connection:
    return Connection(
        workspace_id=row["workspace_id"],
        provider=row["provider"],
        kind=ProviderKind(row["kind"]),
        status=ConnectionStatus(row["status"]),
        created_at=row["created_at"],
        accounts=tuple(_account_of(account) for account in row["accounts"]),
        error=row["error"],
        last_synced_at=row["last_synced_at"],
    )


def _account_of(stored: Mapping[str, Any]) -> ConnectedAccount:
    assets = tuple(Asset(**asset) for asset in stored["assets"])
    zone = stored.get("timezone")
    return ConnectedAccount(stored["id"], stored["name"], assets, stored.get("currency"), zone)
