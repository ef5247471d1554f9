"""Credentials of connections, sealed before they come here."""

from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA

CONNECTION_SECRETS: Final = sa.Table(
    "connection_secrets",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("provider", sa.String(64), primary_key=True),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
)
"""One row per connection that has credentials; it goes with the connection."""

_ROW: Final = CONNECTION_SECRETS.c


class SqlSealedSecrets:
    """Implements the port `EncryptedSecretStore`."""

    _database: Database

    async def encrypted_secrets(self, workspace_id: UUID, provider: str) -> bytes | None:
        """What is kept of a connection."""
        query = sa.select(_ROW.sealed).where(*_is(workspace_id, provider))
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one_or_none()

    async def connections_with_encrypted_secrets(self) -> list[tuple[UUID, str]]:
        """Workspace and provider of every connection of which something is kept."""
        query = sa.select(_ROW.workspace_id, _ROW.provider).order_by(_ROW.workspace_id, _ROW.provider)
        async with self._database.read() as connection:
            return [(row.workspace_id, row.provider) for row in await connection.execute(query)]

    async def save_encrypted_secrets(
        self, workspace_id: UUID, provider: str, ciphertext: bytes | None
    ) -> None:
        """Replace it; None forgets it."""
        async with self._database.write(workspace_id) as connection:
            await connection.execute(forgetting(workspace_id, provider))
            if ciphertext is not None:
                row = {"workspace_id": workspace_id, "provider": provider, "sealed": ciphertext}
                await connection.execute(sa.insert(CONNECTION_SECRETS).values(row))


def forgetting(workspace_id: UUID, provider: str) -> sa.Delete:
    """The statement that forgets the credentials of a connection."""
    return sa.delete(CONNECTION_SECRETS).where(*_is(workspace_id, provider))


def _is(workspace_id: UUID, provider: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _ROW.workspace_id == workspace_id, _ROW.provider == provider
