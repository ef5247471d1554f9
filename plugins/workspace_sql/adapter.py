"""The directory of workspaces and credentials in SQL."""

import hmac
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.accounts import SqlAccounts
from plugins.workspace_sql.ad_spend import SqlSpend
from plugins.workspace_sql.change_counter import request_increment
from plugins.workspace_sql.clicks import SqlClicks
from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.connections import SqlConnections
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.encrypted_secrets import SqlSealedSecrets
from plugins.workspace_sql.exchange_rates import SqlExchangeRates
from plugins.workspace_sql.exports import SqlExports
from plugins.workspace_sql.item_costs import SqlCosts
from plugins.workspace_sql.key_requests import SqlKeyRequests
from plugins.workspace_sql.matched_visits import SqlVisitClaims
from plugins.workspace_sql.members import SqlMembers
from plugins.workspace_sql.oauth_grants import SqlGrants
from plugins.workspace_sql.oauth_tokens import SqlAuthorizations
from plugins.workspace_sql.passkeys import SqlPasskeys
from plugins.workspace_sql.postbacks import SqlPostbacks
from plugins.workspace_sql.postgresql import PostgresDatabase
from plugins.workspace_sql.rows import credential_of, credential_row, workspace_of, workspace_row
from plugins.workspace_sql.settings import PostgresSettings, SqliteSettings
from plugins.workspace_sql.shares import SqlShares
from plugins.workspace_sql.signups import SqlSignups
from plugins.workspace_sql.sqlite import SqliteDatabase
from plugins.workspace_sql.subscriptions import SqlSubscriptions
from plugins.workspace_sql.sync_leases import SqlReadingTurns
from plugins.workspace_sql.sync_states import SqlProviderReads
from plugins.workspace_sql.tables import CREDENTIALS, WORKSPACES
from plugins.workspace_sql.transactions import SqlUnits
from plugins.workspace_sql.transfer import SqlRecords
from plugins.workspace_sql.usage_alerts import SqlUsageNotices
from service_core.plugin import AuthContext, Credential, Workspace

_IDENTIFY: Final = (
    sa.select(CREDENTIALS, *(column.label(f"owner_{column.name}") for column in WORKSPACES.columns))
    .join(WORKSPACES, WORKSPACES.c.id == CREDENTIALS.c.workspace_id)
    .where(CREDENTIALS.c.digest == sa.bindparam("sought"), CREDENTIALS.c.revoked_at.is_(None))
)


def open_store(settings: SqliteSettings | PostgresSettings) -> "SqlWorkspaceStore":
    """The directory of the database that a URL names.

    Raises:
        StartupError: its driver is not installed.
    """
    if isinstance(settings, SqliteSettings):
        return SqlWorkspaceStore(SqliteDatabase(settings))
    return SqlWorkspaceStore(PostgresDatabase(settings))


class SqlWorkspaceStore(
    SqlAccounts,
    SqlPasskeys,
    SqlMembers,
    SqlKeyRequests,
    SqlSignups,
    SqlGrants,
    SqlAuthorizations,
    SqlExports,
    SqlUnits,
    SqlShares,
    SqlVisitClaims,
    SqlClicks,
    SqlConnections,
    SqlSealedSecrets,
    SqlReadingTurns,
    SqlProviderReads,
    SqlUsageNotices,
    SqlSpend,
    SqlSubscriptions,
    SqlPostbacks,
    SqlCosts,
    SqlExchangeRates,
    SqlRecords,
):
    """Implements the directory port on one `Database`, and with its parts the ports of `access`, exports, changes, share links, clicks, look-ups, connections and their credentials."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self) -> None:
        """Open the database and bring it up to date."""
        await self._database.start()

    async def check(self) -> None:
        """Look whether the database answers."""
        await self._database.check()

    async def aclose(self) -> None:
        """Close the database."""
        await self._database.aclose()

    def change_version(self) -> int | None:
        """Changes with every credential and workspace, whichever process changed it; None while not known."""
        return self._database.change_version()

    async def find_auth_context(self, digest: str) -> AuthContext | None:
        """The live credential with this digest and its workspace."""
        async with self._database.read() as connection:
            row = (await connection.execute(_IDENTIFY, {"sought": digest})).mappings().first()
        if row is None or not hmac.compare_digest(row["digest"], digest):
            return None
        return AuthContext(credential_of(row), workspace_of(row, "owner_"))

    async def create_workspace(self, workspace: Workspace) -> None:
        """Add a workspace."""
        async with self._database.write() as connection:
            await connection.execute(sa.insert(WORKSPACES).values(workspace_row(workspace)))
            request_increment(connection)

    async def save_workspace(self, workspace: Workspace) -> None:
        """Replace the workspace with this id."""
        row = workspace_row(workspace)
        async with self._database.write(workspace.id) as connection:
            await connection.execute(sa.update(WORKSPACES).where(WORKSPACES.c.id == workspace.id).values(row))
            request_increment(connection)

    async def list_workspaces(self) -> list[Workspace]:
        """Every workspace, oldest first."""
        query = sa.select(WORKSPACES).order_by(WORKSPACES.c.created_at, WORKSPACES.c.id)
        async with self._database.read() as connection:
            return [workspace_of(row) for row in (await connection.execute(query)).mappings()]

    async def save_credential(self, credential: Credential, digest: str | None = None) -> None:
        """Add a credential, or replace the one with its id; a revoked one stays revoked."""
        row = credential_row(credential)
        if digest is not None:
            row["digest"] = digest
        ended = sa.func.coalesce(CREDENTIALS.c.revoked_at, sa.literal(credential.revoked_at, Instant()))
        update = (
            sa.update(CREDENTIALS)
            .where(CREDENTIALS.c.id == credential.id)
            .values({**row, "revoked_at": ended})
        )
        async with self._database.write(credential.workspace_id) as connection:
            if (await connection.execute(update)).rowcount == 0:
                await connection.execute(sa.insert(CREDENTIALS).values(row))
            request_increment(connection)

    async def list_keys(self, workspace_id: UUID) -> list[Credential]:
        """Every credential of a workspace, revoked ones included, oldest first."""
        query = (
            sa.select(CREDENTIALS)
            .where(CREDENTIALS.c.workspace_id == workspace_id)
            .order_by(CREDENTIALS.c.created_at, CREDENTIALS.c.id)
        )
        async with self._database.read() as connection:
            return [credential_of(row) for row in (await connection.execute(query)).mappings()]
