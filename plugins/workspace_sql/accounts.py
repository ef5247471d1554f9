"""Stores of accounts, with their password links, and of sessions."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import ACCOUNTS, PASSWORD_LINKS, SESSIONS
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import matches, upsert
from service_core.plugin import Account, PasswordLink, Purpose, Session


class SqlAccounts(SqlStore):
    """Implements the port `Accounts`."""

    async def get_account(self, account_id: UUID) -> Account | None:
        """Returns the account with this id."""
        return await self._database.fetch_first_record(
            Account, sa.select(ACCOUNTS).where(ACCOUNTS.c.id == account_id)
        )

    async def find_account_by_email(self, email: str) -> Account | None:
        """Returns the account with this e-mail address."""
        return await self._database.fetch_first_record(
            Account, sa.select(ACCOUNTS).where(ACCOUNTS.c.email == email)
        )

    async def save_account_unless_email_taken(self, account: Account) -> bool:
        """Adds or replaces an account. Returns False if another account has the e-mail address."""
        same_email = ACCOUNTS.c.email == account.email, ACCOUNTS.c.id != account.id
        row = row_of(account)
        async with self._database.write(account.email, account.id) as connection:
            if (await connection.execute(sa.select(ACCOUNTS.c.id).where(*same_email))).first() is not None:
                return False
            await connection.execute(upsert(connection, ACCOUNTS, row).values(row))
            return True

    async def save_password_link(self, link: PasswordLink, digest: str) -> None:
        """Adds a one-time link."""
        await self._database.execute(sa.insert(PASSWORD_LINKS).values({**row_of(link), "digest": digest}))

    async def consume_unexpired_password_link(
        self, digest: str, purpose: Purpose, now: datetime
    ) -> PasswordLink | None:
        """Deletes a link and returns it, unless it has expired."""
        known = matches(PASSWORD_LINKS, digest=digest, purpose=purpose)
        link = await self._database.delete_and_return_record(PasswordLink, PASSWORD_LINKS, known)
        return link if link is not None and now < link.expires_at else None


class SqlSessions(SqlStore):
    """Implements the port `Sessions`."""

    async def add_session_and_delete_expired(self, session: Session, digest: str) -> None:
        """Adds a session, and deletes the expired ones of the account."""
        expired = SESSIONS.c.account_id == session.account_id, SESSIONS.c.expires_at <= session.created_at
        async with self._database.write(session.account_id) as connection:
            await connection.execute(sa.delete(SESSIONS).where(*expired))
            await connection.execute(sa.insert(SESSIONS).values({**row_of(session), "digest": digest}))

    async def get_session(self, digest: str) -> Session | None:
        """Returns the session with this digest."""
        return await self._database.fetch_first_record(
            Session, sa.select(SESSIONS).where(SESSIONS.c.digest == digest)
        )

    async def end_session(self, digest: str) -> None:
        """Deletes one session."""
        await self._database.execute(sa.delete(SESSIONS).where(SESSIONS.c.digest == digest))

    async def end_account_sessions(self, account_id: UUID, except_digest: str | None = None) -> None:
        """Deletes the sessions of an account, except one."""
        own = sa.delete(SESSIONS).where(SESSIONS.c.account_id == account_id)
        if except_digest is not None:
            own = own.where(SESSIONS.c.digest != except_digest)
        await self._database.execute(own)
