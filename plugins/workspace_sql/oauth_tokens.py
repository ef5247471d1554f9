"""Programs, codes and refresh tokens in SQL; every step of a grant is one transaction with one winner."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import OAUTH_ACCESS_TOKENS, OAUTH_GRANTS
from plugins.workspace_sql.authorization_tables import OAUTH_CLIENTS, OAUTH_TICKETS
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import IssuedTokens, OAuthClient, OAuthGrant, OneTimeToken, OneTimeTokenKind

UNUSED_CLIENT_DAYS: Final = timedelta(days=90)

_TICKET: Final = (
    sa.select(
        *(column for column in OAUTH_TICKETS.columns if column.name != "grant_id"),
        *(column.label(f"grant_{column.name}") for column in OAUTH_GRANTS.columns),
    )
    .join(OAUTH_GRANTS, OAUTH_GRANTS.c.id == OAUTH_TICKETS.c.grant_id)
    .where(OAUTH_TICKETS.c.digest == sa.bindparam("sought"))
)


class SqlAuthorizations:
    """Implements the ports `Clients` and `Tickets`."""

    _database: Database

    async def add_client(self, client: OAuthClient) -> None:
        """Keep a program; old ones that no grant names go."""
        named = sa.select(OAUTH_GRANTS.c.id).where(OAUTH_GRANTS.c.client_id == OAUTH_CLIENTS.c.id)
        stale = OAUTH_CLIENTS.c.created_at < client.created_at - UNUSED_CLIENT_DAYS
        row = {**row_of(client), "redirect_uris": list(client.redirect_uris)}
        async with self._database.write(OAUTH_CLIENTS.name) as connection:
            await connection.execute(sa.delete(OAUTH_CLIENTS).where(stale, ~named.exists()))
            await connection.execute(sa.insert(OAUTH_CLIENTS).values(row))

    async def find_client(self, client_id: str) -> OAuthClient | None:
        """The program with this id."""
        query = sa.select(OAUTH_CLIENTS).where(OAUTH_CLIENTS.c.id == client_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
        if row is None:
            return None
        return OAuthClient(row["id"], row["name"], tuple(row["redirect_uris"]), row["created_at"])

    async def open_grant(self, ticket: OneTimeToken, digest: str) -> None:
        """Keep a new grant with its code; the person's grants that nothing can continue end."""
        async with self._database.write(ticket.grant.account_id) as connection:
            await _end_stranded(connection, ticket.grant)
            await connection.execute(sa.insert(OAUTH_GRANTS).values(row_of(ticket.grant)))
            await connection.execute(sa.insert(OAUTH_TICKETS).values(_row(ticket, digest)))

    async def find_token(self, digest: str) -> OneTimeToken | None:
        """The ticket with this digest, whatever became of it."""
        async with self._database.read() as connection:
            row = (await connection.execute(_TICKET, {"sought": digest})).mappings().first()
        if row is None:
            return None
        return OneTimeToken(
            kind=OneTimeTokenKind(row["kind"]),
            grant=value_of(OAuthGrant, row, "grant_"),
            expires_at=row["expires_at"],
            redirect_uri=row["redirect_uri"],
            challenge=row["challenge"],
        )

    async def replace_token(self, digest: str, issued: IssuedTokens | None, now: datetime) -> bool:
        """Use a ticket up; its second use ends the grant."""
        first = sa.update(OAUTH_TICKETS).where(
            OAUTH_TICKETS.c.digest == digest, OAUTH_TICKETS.c.used_at.is_(None)
        )
        grant = sa.select(OAUTH_GRANTS.c.id, OAUTH_GRANTS.c.ended_at).join(OAUTH_TICKETS)
        grant = grant.where(OAUTH_TICKETS.c.digest == digest).with_for_update(of=OAUTH_GRANTS)
        async with self._database.write() as connection:
            row = (await connection.execute(grant)).first()
            if row is None:  # with the person who left meanwhile
                return False
            grant_id, ended_at = row
            used = (await connection.execute(first.values(used_at=now))).rowcount == 1
            if not used or issued is None:
                await _end(connection, grant_id, now)
                return False
            if ended_at is not None:
                return False
            await _issue(connection, grant_id, issued, now)
            return True

    async def end_grant(self, grant_id: UUID, now: datetime) -> None:
        """End a grant with its tickets and tokens."""
        async with self._database.write() as connection:
            await _end(connection, grant_id, now)

    async def list_account_grants(self, account_id: UUID, workspace_id: UUID) -> list[OAuthGrant]:
        """Grants of a person in a workspace that have not ended, oldest first."""
        chosen = (
            OAUTH_GRANTS.c.account_id == account_id,
            OAUTH_GRANTS.c.workspace_id == workspace_id,
            OAUTH_GRANTS.c.ended_at.is_(None),
        )
        query = sa.select(OAUTH_GRANTS).where(*chosen).order_by(OAUTH_GRANTS.c.created_at, OAUTH_GRANTS.c.id)
        async with self._database.read() as connection:
            return [value_of(OAuthGrant, row) for row in (await connection.execute(query)).mappings()]


def _row(ticket: OneTimeToken, digest: str) -> dict[str, Any]:
    return {
        "digest": digest,
        "grant_id": ticket.grant.id,
        "kind": ticket.kind.value,
        "expires_at": ticket.expires_at,
        "redirect_uri": ticket.redirect_uri,
        "challenge": ticket.challenge,
    }


async def _issue(connection: AsyncConnection, grant_id: Any, issued: IssuedTokens, now: datetime) -> None:
    """Keep the tokens that follow a ticket; tokens of the grant that have expired go."""
    tokens = OAUTH_ACCESS_TOKENS
    await connection.execute(
        sa.delete(tokens).where(tokens.c.grant_id == grant_id, tokens.c.expires_at <= now)
    )
    await connection.execute(
        sa.insert(tokens).values(
            digest=issued.access_digest, grant_id=grant_id, expires_at=issued.access_expires_at
        )
    )
    refresh = {"digest": issued.refresh_digest, "grant_id": grant_id, "expires_at": issued.refresh_expires_at}
    await connection.execute(
        sa.insert(OAUTH_TICKETS).values({**refresh, "kind": OneTimeTokenKind.REFRESH.value})
    )


async def _end(connection: AsyncConnection, grant_id: Any, now: datetime) -> None:
    live = OAUTH_GRANTS.c.id == grant_id, OAUTH_GRANTS.c.ended_at.is_(None)
    await connection.execute(sa.update(OAUTH_GRANTS).where(*live).values(ended_at=now))
    await connection.execute(sa.delete(OAUTH_ACCESS_TOKENS).where(OAUTH_ACCESS_TOKENS.c.grant_id == grant_id))


async def _end_stranded(connection: AsyncConnection, grant: OAuthGrant) -> None:
    """End grants of the same person and workspace whose code or refresh token has run out unused."""
    going_on = sa.select(OAUTH_TICKETS.c.digest).where(
        OAUTH_TICKETS.c.grant_id == OAUTH_GRANTS.c.id,
        OAUTH_TICKETS.c.used_at.is_(None),
        OAUTH_TICKETS.c.expires_at > grant.created_at,
    )
    stranded = (
        OAUTH_GRANTS.c.account_id == grant.account_id,
        OAUTH_GRANTS.c.workspace_id == grant.workspace_id,
        OAUTH_GRANTS.c.ended_at.is_(None),
        ~going_on.exists(),
    )
    await connection.execute(sa.update(OAUTH_GRANTS).where(*stranded).values(ended_at=grant.created_at))
