"""Stores of connections, of their encrypted credentials, and of how far providers were polled."""

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import RECORDED_AT, record_of, row_of
from plugins.workspace_sql.row_history import Row, keep_replaced_rows, save_rows_keeping_replaced
from plugins.workspace_sql.statements import insert_if_absent, matches, upsert
from plugins.workspace_sql.tables import CONNECTIONS, ENCRYPTED_SECRETS, POLL_STATES, PROCESSED_MESSAGES
from service_core.plugin import Connection, ConnectionStatus, PollState

_ROW: Final = CONNECTIONS.c
_SECRET: Final = ENCRYPTED_SECRETS.c
_DIGEST_BYTES: Final = 16
_MAX_VALUES: Final = 400
"""Digests in one query: engines limit the number of bound values."""


class SqlConnections(SqlStore):
    """Implements the port `Connections`."""

    async def list_connections_oldest_first(self, workspace_id: UUID) -> list[Connection]:
        """Returns the connections of a workspace, oldest first."""
        own = sa.select(CONNECTIONS).where(_ROW.workspace_id == workspace_id)
        return await self._database.fetch_records(Connection, own.order_by(_ROW.created_at, _ROW.provider))

    async def save_connection_keeping_created_at(self, connection: Connection) -> None:
        """Adds or replaces a connection. A present one keeps ``created_at``."""
        row = row_of(connection)
        now = self._database.clock()
        async with self._database.write(connection.workspace_id) as transaction:
            await transaction.run_sync(_save_connection, row, now)

    async def mark_synced_unless_synced_later(self, workspace_id: UUID, provider: str, at: datetime) -> None:
        """Moves ``last_synced_at`` forward. Other columns stay, but a pending connection becomes connected."""
        own = matches(CONNECTIONS, workspace_id=workspace_id, provider=provider)
        earlier = sa.or_(_ROW.last_synced_at.is_(None), _ROW.last_synced_at < at)
        connected = sa.literal(ConnectionStatus.CONNECTED, _ROW.status.type)
        status = sa.case((_ROW.status == ConnectionStatus.PENDING, connected), else_=_ROW.status)
        now = self._database.clock()
        new = {"last_synced_at": at, "status": status, RECORDED_AT: now}
        update = sa.update(CONNECTIONS).where(own, earlier).values(new)
        async with self._database.write(workspace_id) as transaction:
            await transaction.run_sync(keep_replaced_rows, CONNECTIONS, sa.and_(own, earlier), now)
            await transaction.execute(update)

    async def remove_connection_if_present(self, workspace_id: UUID, provider: str) -> bool:
        """Deletes a connection with its credentials and its poll state."""
        now = self._database.clock()
        async with self._database.write(workspace_id) as transaction:
            for table in (ENCRYPTED_SECRETS, POLL_STATES, CONNECTIONS):
                own = matches(table, workspace_id=workspace_id, provider=provider)
                if table is not ENCRYPTED_SECRETS:
                    await transaction.run_sync(keep_replaced_rows, table, own, now)
                removed = await transaction.execute(sa.delete(table).where(own))
            return bool(removed.rowcount)


class SqlEncryptedSecrets(SqlStore):
    """Implements the port `EncryptedSecretStore`."""

    async def encrypted_secrets(self, workspace_id: UUID, provider: str) -> bytes | None:
        """Returns the encrypted credentials of a connection."""
        own = matches(ENCRYPTED_SECRETS, workspace_id=workspace_id, provider=provider)
        rows = await self._database.fetch_rows(sa.select(_SECRET.ciphertext).where(own))
        return rows[0]["ciphertext"] if rows else None

    async def list_connections_with_encrypted_secrets(self) -> list[tuple[UUID, str]]:
        """Returns workspace and provider of every connection with credentials."""
        query = sa.select(_SECRET.workspace_id, _SECRET.provider)
        rows = await self._database.fetch_rows(query.order_by(_SECRET.workspace_id, _SECRET.provider))
        return [(row["workspace_id"], row["provider"]) for row in rows]

    async def replace_or_delete_encrypted_secrets(
        self, workspace_id: UUID, provider: str, ciphertext: bytes | None
    ) -> None:
        """Replaces the credentials of a connection, or deletes them if None is given."""
        row = {"workspace_id": workspace_id, "provider": provider, "ciphertext": ciphertext}
        own = matches(ENCRYPTED_SECRETS, workspace_id=workspace_id, provider=provider)
        async with self._database.write(workspace_id) as connection:
            if ciphertext is None:
                await connection.execute(sa.delete(ENCRYPTED_SECRETS).where(own))
            else:
                await connection.execute(upsert(connection, ENCRYPTED_SECRETS, row).values(row))


class SqlPollStates(SqlStore):
    """Implements the port `PollStates`."""

    async def states_by_provider(self, workspace_id: UUID) -> dict[str, PollState]:
        """Returns the poll states of a workspace by provider."""
        query = sa.select(POLL_STATES).where(POLL_STATES.c.workspace_id == workspace_id)
        rows = await self._database.fetch_rows(query)
        return {row["provider"]: record_of(PollState, row) for row in rows}

    async def save_poll_state(self, workspace_id: UUID, provider: str, state: PollState) -> None:
        """Replaces the poll state of a provider."""
        row = {"workspace_id": workspace_id, "provider": provider, **row_of(state)}
        now = self._database.clock()
        async with self._database.write(workspace_id) as connection:
            await connection.run_sync(save_rows_keeping_replaced, POLL_STATES, [row], now)


class SqlProcessedMessages(SqlStore):
    """Implements the port `ProcessedMessages`."""

    async def find_processed_ids(
        self, workspace_id: UUID, provider: str, message_ids: Collection[str]
    ) -> frozenset[str]:
        """Returns the given message ids that were processed."""
        by_digest = {_digest(provider, id_): id_ for id_ in message_ids}
        digests, processed = list(by_digest), set[str]()
        row = PROCESSED_MESSAGES.c
        async with self._database.read() as connection:
            for start in range(0, len(digests), _MAX_VALUES):
                known = row.digest.in_(digests[start : start + _MAX_VALUES])
                query = sa.select(row.digest).where(row.workspace_id == workspace_id, known)
                processed |= {by_digest[digest] for digest in (await connection.execute(query)).scalars()}
        return frozenset(processed)

    async def mark_processed(self, workspace_id: UUID, provider: str, message_ids: Collection[str]) -> None:
        """Adds message ids. Known ones stay as they are."""
        rows: Sequence[dict[str, object]] = [
            {"workspace_id": workspace_id, "digest": _digest(provider, id_)} for id_ in sorted(message_ids)
        ]
        if rows:
            async with self._database.write() as connection:
                await connection.execute(insert_if_absent(connection, PROCESSED_MESSAGES), rows)


def _save_connection(connection: sa.Connection, row: Row, now: datetime) -> None:
    save_rows_keeping_replaced(connection, CONNECTIONS, [row], now, kept_columns=["created_at"])


def _digest(provider: str, id_: str) -> bytes:
    return hashlib.sha256(f"{provider}\0{id_}".encode()).digest()[:_DIGEST_BYTES]
