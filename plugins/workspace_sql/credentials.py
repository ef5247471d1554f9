"""Stores of workspaces and credentials."""

import hmac
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import CREDENTIALS, WORKSPACES
from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import RECORDED_AT, prefixed_columns, record_of, row_of
from plugins.workspace_sql.row_history import keep_replaced_rows
from plugins.workspace_sql.tables import CLICK_VISITORS, RESOURCES
from service_core.plugin import AuthContext, Credential, Workspace

_ACTIVE_CREDENTIAL: Final = (
    sa.select(CREDENTIALS, *prefixed_columns(WORKSPACES, "owner_"))
    .join(WORKSPACES, WORKSPACES.c.id == CREDENTIALS.c.workspace_id)
    .where(CREDENTIALS.c.digest == sa.bindparam("sought"), CREDENTIALS.c.revoked_at.is_(None))
)


class SqlCredentials(SqlStore):
    """Implements the port `CredentialStore`."""

    def change_version(self) -> int | None:
        """Returns a number that changes with every credential and workspace, or None while it is unknown."""
        return self._database.change_version()

    async def find_auth_context(self, digest: str) -> AuthContext | None:
        """Returns the active credential with this digest and its workspace."""
        rows = await self._database.fetch_rows(_ACTIVE_CREDENTIAL, {"sought": digest})
        if not rows or not hmac.compare_digest(rows[0]["digest"], digest):
            return None
        return AuthContext(record_of(Credential, rows[0]), record_of(Workspace, rows[0], "owner_"))

    async def create_workspace(self, workspace: Workspace) -> None:
        """Adds a workspace."""
        async with self._database.write() as connection:
            row = {**row_of(workspace), RECORDED_AT: self._database.clock()}
            await connection.execute(sa.insert(WORKSPACES).values(row))
            request_increment_at_commit(connection)

    async def list_workspaces(self) -> list[Workspace]:
        """Returns every workspace, oldest first."""
        query = sa.select(WORKSPACES).order_by(WORKSPACES.c.created_at, WORKSPACES.c.id)
        return await self._database.fetch_records(Workspace, query)

    async def save_credential(self, credential: Credential, new_digest: str | None = None) -> None:
        """Adds or replaces a credential. A revoked one stays revoked, and None keeps the stored digest."""
        row = row_of(credential)
        if new_digest is not None:
            row["digest"] = new_digest
        revoked_at = sa.func.coalesce(CREDENTIALS.c.revoked_at, sa.literal(credential.revoked_at, Instant()))
        update = sa.update(CREDENTIALS).where(CREDENTIALS.c.id == credential.id)
        async with self._database.write(credential.workspace_id) as connection:
            changed = await connection.execute(update.values({**row, "revoked_at": revoked_at}))
            if changed.rowcount == 0:
                await connection.execute(sa.insert(CREDENTIALS).values(row))
            request_increment_at_commit(connection)

    async def list_keys(self, workspace_id: UUID) -> list[Credential]:
        """Returns every credential of a workspace, revoked ones included, oldest first."""
        own = sa.select(CREDENTIALS).where(CREDENTIALS.c.workspace_id == workspace_id)
        return await self._database.fetch_records(
            Credential, own.order_by(CREDENTIALS.c.created_at, CREDENTIALS.c.id)
        )


class SqlWorkspaceSettings(SqlStore):
    """Implements the port `WorkspaceSettings`."""

    async def replace_workspace_keeping_triggers(self, workspace: Workspace) -> None:
        """Replaces the workspace with this id. Its triggers stay: they follow from its rules."""
        row = {name: value for name, value in row_of(workspace).items() if name != "triggers"}
        own, now = WORKSPACES.c.id == workspace.id, self._database.clock()
        async with self._database.write(workspace.id) as connection:
            await connection.run_sync(keep_replaced_rows, WORKSPACES, own, now)
            await connection.execute(sa.update(WORKSPACES).where(own).values({**row, RECORDED_AT: now}))
            request_increment_at_commit(connection)

    async def delete_workspace(self, workspace_id: UUID) -> bool:
        """Deletes a workspace and every row that refers to it."""
        own_links = sa.select(RESOURCES.c.id).where(RESOURCES.c.workspace_id == workspace_id)
        async with self._database.write(workspace_id, no_timeout=True) as connection:
            await connection.execute(sa.delete(CLICK_VISITORS).where(CLICK_VISITORS.c.link_id.in_(own_links)))
            deleted = await connection.execute(sa.delete(WORKSPACES).where(WORKSPACES.c.id == workspace_id))
            request_increment_at_commit(connection)
        return bool(deleted.rowcount)
