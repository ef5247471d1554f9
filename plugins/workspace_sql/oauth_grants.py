"""OAuth grants and access tokens in SQL."""

from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import ACCOUNTS, MEMBERS, OAUTH_ACCESS_TOKENS, OAUTH_GRANTS
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.rows import workspace_of
from plugins.workspace_sql.tables import WORKSPACES
from plugins.workspace_sql.values import value_of
from service_core.plugin import AccessToken, Account, Member, OAuthGrant


def _labelled(table: sa.Table, prefix: str) -> list[Any]:
    return [column.label(f"{prefix}{column.name}") for column in table.columns]


_TOKEN: Final = (
    sa.select(
        OAUTH_ACCESS_TOKENS.c.expires_at.label("expires_at"),
        *_labelled(OAUTH_GRANTS, "grant_"),
        *_labelled(ACCOUNTS, "account_"),
        *_labelled(MEMBERS, "member_"),
        *_labelled(WORKSPACES, "workspace_"),
    )
    .join(OAUTH_GRANTS, OAUTH_GRANTS.c.id == OAUTH_ACCESS_TOKENS.c.grant_id)
    .join(ACCOUNTS, ACCOUNTS.c.id == OAUTH_GRANTS.c.account_id)
    .join(
        MEMBERS,
        sa.and_(
            MEMBERS.c.account_id == OAUTH_GRANTS.c.account_id,
            MEMBERS.c.workspace_id == OAUTH_GRANTS.c.workspace_id,
        ),
    )
    .join(WORKSPACES, WORKSPACES.c.id == OAUTH_GRANTS.c.workspace_id)
    .where(OAUTH_ACCESS_TOKENS.c.digest == sa.bindparam("sought"), OAUTH_GRANTS.c.ended_at.is_(None))
)


class SqlGrants:
    """Implements the port `Grants`."""

    _database: Database

    async def list_grants(self, workspace_id: UUID) -> list[OAuthGrant]:
        """Grants of a workspace that have not ended, oldest first."""
        query = (
            sa.select(OAUTH_GRANTS)
            .where(OAUTH_GRANTS.c.workspace_id == workspace_id, OAUTH_GRANTS.c.ended_at.is_(None))
            .order_by(OAUTH_GRANTS.c.created_at, OAUTH_GRANTS.c.id)
        )
        async with self._database.read() as connection:
            return [value_of(OAuthGrant, row) for row in (await connection.execute(query)).mappings()]

    async def find_access_token(self, digest: str) -> AccessToken | None:
        """What a token stands for, expired or not."""
        async with self._database.read() as connection:
            row = (await connection.execute(_TOKEN, {"sought": digest})).mappings().first()
        if row is None:
            return None
        return AccessToken(
            grant=value_of(OAuthGrant, row, "grant_"),
            expires_at=row["expires_at"],
            account=value_of(Account, row, "account_"),
            member=value_of(Member, row, "member_"),
            workspace=workspace_of(row, "workspace_"),
        )
