"""Stores of OAuth clients, grants, access tokens and one-time tokens. Each exchange of a token succeeds once."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import (
    ACCOUNTS,
    MEMBERS,
    OAUTH_ACCESS_TOKENS,
    OAUTH_CLIENTS,
    OAUTH_GRANTS,
    ONE_TIME_TOKENS,
    WORKSPACES,
)
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import prefixed_columns, record_of, row_of
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.statements import matches
from service_core.plugin import (
    AccessToken,
    Account,
    IssuedTokens,
    Member,
    OAuthClient,
    OAuthGrant,
    OneTimeToken,
    OneTimeTokenKind,
    Workspace,
)

UNUSED_CLIENT_LIFETIME: Final = timedelta(days=90)

_GRANT: Final = OAUTH_GRANTS.c
_TOKEN: Final = ONE_TIME_TOKENS.c
_ACTIVE: Final = _GRANT.ended_at.is_(None)

_ACCESS_TOKEN: Final = (
    sa.select(
        OAUTH_ACCESS_TOKENS.c.expires_at,
        *prefixed_columns(OAUTH_GRANTS, "grant_"),
        *prefixed_columns(ACCOUNTS, "account_"),
        *prefixed_columns(MEMBERS, "member_"),
        *prefixed_columns(WORKSPACES, "workspace_"),
    )
    .join(OAUTH_GRANTS, _GRANT.id == OAUTH_ACCESS_TOKENS.c.grant_id)
    .join(ACCOUNTS, ACCOUNTS.c.id == _GRANT.account_id)
    .join(
        MEMBERS,
        sa.and_(MEMBERS.c.account_id == _GRANT.account_id, MEMBERS.c.workspace_id == _GRANT.workspace_id),
    )
    .join(WORKSPACES, WORKSPACES.c.id == _GRANT.workspace_id)
    .where(OAUTH_ACCESS_TOKENS.c.digest == sa.bindparam("sought"), _ACTIVE)
)
_ONE_TIME_TOKEN: Final = (
    sa.select(ONE_TIME_TOKENS, *prefixed_columns(OAUTH_GRANTS, "granted_"))
    .join(OAUTH_GRANTS, _GRANT.id == _TOKEN.grant_id)
    .where(_TOKEN.digest == sa.bindparam("sought"))
)


class SqlOAuthGrants(SqlStore):
    """Implements the port `OAuthGrants`."""

    async def list_active_grants(self, workspace_id: UUID) -> list[OAuthGrant]:
        """Returns the active grants of a workspace, oldest first."""
        query = sa.select(OAUTH_GRANTS).where(_GRANT.workspace_id == workspace_id, _ACTIVE)
        return await self._database.fetch_records(OAuthGrant, query.order_by(_GRANT.created_at, _GRANT.id))

    async def find_access_token_even_if_expired(self, digest: str) -> AccessToken | None:
        """Returns the access token with this digest, expired or not, with grant, account and workspace."""
        rows = await self._database.fetch_rows(_ACCESS_TOKEN, {"sought": digest})
        for row in rows:
            return AccessToken(
                grant=record_of(OAuthGrant, row, "grant_"),
                expires_at=row["expires_at"],
                account=record_of(Account, row, "account_"),
                member=record_of(Member, row, "member_"),
                workspace=record_of(Workspace, row, "workspace_"),
            )
        return None


class SqlOAuthClients(SqlStore):
    """Implements the port `OAuthClients`."""

    async def add_client_and_delete_unused(self, client: OAuthClient) -> None:
        """Adds a client, and deletes clients without a grant that are older than 90 days."""
        granted = sa.select(_GRANT.id).where(_GRANT.client_id == OAUTH_CLIENTS.c.id)
        old = OAUTH_CLIENTS.c.created_at < client.created_at - UNUSED_CLIENT_LIFETIME
        async with self._database.write(OAUTH_CLIENTS.name) as connection:
            await connection.execute(sa.delete(OAUTH_CLIENTS).where(old, ~granted.exists()))
            await connection.execute(sa.insert(OAUTH_CLIENTS).values(row_of(client)))

    async def find_client(self, client_id: str) -> OAuthClient | None:
        """Returns the client with this id."""
        query = sa.select(OAUTH_CLIENTS).where(OAUTH_CLIENTS.c.id == client_id)
        return await self._database.fetch_first_record(OAuthClient, query)


class SqlOneTimeTokens(SqlStore):
    """Implements the port `OneTimeTokens`."""

    async def add_grant_and_narrow_earlier_grants(self, token: OneTimeToken, digest: str) -> None:
        """Adds a grant with its authorization code. Grants that can no longer be continued end, others are narrowed."""
        row = {
            "digest": digest,
            "grant_id": token.grant.id,
            "kind": token.kind,
            "expires_at": token.expires_at,
            "redirect_uri": token.redirect_uri,
            "challenge": token.challenge,
        }
        async with self._database.write(token.grant.account_id) as connection:
            await _end_stale_grants_of_same_member(connection, token.grant)
            await _narrow_grants_of_same_client(connection, token.grant)
            await connection.execute(sa.insert(OAUTH_GRANTS).values(row_of(token.grant)))
            await connection.execute(sa.insert(ONE_TIME_TOKENS).values(row))

    async def find_token_even_if_used(self, digest: str) -> OneTimeToken | None:
        """Returns the token with this digest: also a used or expired one, or one of an ended grant."""
        rows = await self._database.fetch_rows(_ONE_TIME_TOKEN, {"sought": digest})
        for row in rows:
            return OneTimeToken(
                kind=row["kind"],
                grant=record_of(OAuthGrant, row, "granted_"),
                expires_at=row["expires_at"],
                redirect_uri=row["redirect_uri"],
                challenge=row["challenge"],
            )
        return None

    async def use_token_once_or_end_grant(
        self, digest: str, replacements: IssuedTokens | None, now: datetime
    ) -> bool:
        """Uses a token and adds the tokens that replace it. Using it a second time ends the grant."""
        unused = sa.update(ONE_TIME_TOKENS).where(_TOKEN.digest == digest, _TOKEN.used_at.is_(None))
        grant = sa.select(_GRANT.id, _GRANT.ended_at).join(ONE_TIME_TOKENS).where(_TOKEN.digest == digest)
        async with self._database.write() as connection:
            row = (await connection.execute(grant.with_for_update(of=OAUTH_GRANTS))).first()
            if row is None:  # deleted together with the membership
                return False
            grant_id, ended_at = row
            is_first_use = (await connection.execute(unused.values(used_at=now))).rowcount == 1
            if not is_first_use or replacements is None:
                await _end_grant_and_delete_access_tokens(connection, grant_id, now)
                return False
            if ended_at is not None:
                return False
            await _add_tokens_and_delete_expired(connection, grant_id, replacements, now)
            return True

    async def end_grant(self, grant_id: UUID, now: datetime) -> None:
        """Ends a grant with its tokens."""
        async with self._database.write() as connection:
            await _end_grant_and_delete_access_tokens(connection, grant_id, now)

    async def list_account_grants(self, account_id: UUID, workspace_id: UUID) -> list[OAuthGrant]:
        """Returns the active grants of an account in a workspace, oldest first."""
        own = matches(OAUTH_GRANTS, account_id=account_id, workspace_id=workspace_id)
        query = sa.select(OAUTH_GRANTS).where(own, _ACTIVE).order_by(_GRANT.created_at, _GRANT.id)
        return await self._database.fetch_records(OAuthGrant, query)


async def _add_tokens_and_delete_expired(
    connection: AsyncConnection, grant_id: Any, issued: IssuedTokens, now: datetime
) -> None:
    """Adds an access token and a refresh token, and deletes expired access tokens of the grant."""
    tokens = OAUTH_ACCESS_TOKENS
    expired = sa.delete(tokens).where(tokens.c.grant_id == grant_id, tokens.c.expires_at <= now)
    access = {
        "digest": issued.access_digest, "grant_id": grant_id, "expires_at": issued.access_expires_at,
    }  # fmt: skip
    refresh = {
        "digest": issued.refresh_digest,
        "grant_id": grant_id,
        "expires_at": issued.refresh_expires_at,
        "kind": OneTimeTokenKind.REFRESH,
    }
    await connection.execute(expired)
    await connection.execute(sa.insert(tokens).values(access))
    await connection.execute(sa.insert(ONE_TIME_TOKENS).values(refresh))


async def _end_grant_and_delete_access_tokens(
    connection: AsyncConnection, grant_id: Any, now: datetime
) -> None:
    await connection.execute(
        sa.update(OAUTH_GRANTS).where(_GRANT.id == grant_id, _ACTIVE).values(ended_at=now)
    )
    await connection.execute(sa.delete(OAUTH_ACCESS_TOKENS).where(OAUTH_ACCESS_TOKENS.c.grant_id == grant_id))


async def _end_stale_grants_of_same_member(connection: AsyncConnection, new_grant: OAuthGrant) -> None:
    """Ends grants of the same account and workspace whose code or refresh token expired unused."""
    usable = sa.select(_TOKEN.digest).where(
        _TOKEN.grant_id == _GRANT.id, _TOKEN.used_at.is_(None), _TOKEN.expires_at > new_grant.created_at
    )
    own = matches(OAUTH_GRANTS, account_id=new_grant.account_id, workspace_id=new_grant.workspace_id)
    ended = (
        sa.update(OAUTH_GRANTS).where(own, _ACTIVE, ~usable.exists()).values(ended_at=new_grant.created_at)
    )
    await connection.execute(ended)


async def _narrow_grants_of_same_client(connection: AsyncConnection, new_grant: OAuthGrant) -> None:
    """Takes from the other grants of the same account, client and workspace what the new one does not have."""
    own = matches(
        OAUTH_GRANTS,
        account_id=new_grant.account_id,
        workspace_id=new_grant.workspace_id,
        client_id=new_grant.client_id,
    )
    rows = (await connection.execute(sa.select(OAUTH_GRANTS).where(own, _ACTIVE))).mappings().all()
    for row in rows:
        narrowed = record_of(OAuthGrant, row).narrowed_to_later_consent(new_grant)
        changed = {
            "scopes": narrowed.scopes,
            "requires_plan": narrowed.requires_plan,
            "ended_at": narrowed.ended_at,
        }
        await connection.execute(sa.update(OAUTH_GRANTS).where(_GRANT.id == narrowed.id).values(changed))
        if narrowed.ended_at is not None:
            await _end_grant_and_delete_access_tokens(connection, narrowed.id, narrowed.ended_at)
