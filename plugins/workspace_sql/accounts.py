"""Accounts, their one-time links and their sessions in SQL."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import ACCOUNT_LINKS, ACCOUNTS, SESSIONS
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import Account, PasswordLink, Purpose, Session


class SqlAccounts:
    """Implements the ports `Accounts` and `Sessions`."""

    _database: Database

    async def get_account(self, account_id: UUID) -> Account | None:
        """The account with this id."""
        return await self._account(ACCOUNTS.c.id == account_id)

    async def find_account_by_email(self, email: str) -> Account | None:
        """The account of an address."""
        return await self._account(ACCOUNTS.c.email == email)

    async def save_account(self, account: Account) -> bool:
        """Add or replace; False when the address is another's."""
        others = sa.select(ACCOUNTS.c.id).where(
            ACCOUNTS.c.email == account.email, ACCOUNTS.c.id != account.id
        )
        async with self._database.write(account.email, account.id) as connection:
            if (await connection.execute(others)).first() is not None:
                return False
            row = row_of(account)
            update = sa.update(ACCOUNTS).where(ACCOUNTS.c.id == account.id).values(row)
            if (await connection.execute(update)).rowcount == 0:
                await connection.execute(sa.insert(ACCOUNTS).values(row))
            return True

    async def save_password_link(self, link: PasswordLink, digest: str) -> None:
        """Keep a one-time link."""
        async with self._database.write() as connection:
            await connection.execute(sa.insert(ACCOUNT_LINKS).values({**row_of(link), "digest": digest}))

    async def consume_password_link(
        self, digest: str, purpose: Purpose, now: datetime
    ) -> PasswordLink | None:
        """Use a link up."""
        chosen = ACCOUNT_LINKS.c.digest == digest, ACCOUNT_LINKS.c.purpose == purpose.value
        taken = sa.delete(ACCOUNT_LINKS).where(*chosen).returning(*ACCOUNT_LINKS.columns)
        async with self._database.write() as connection:
            row = (await connection.execute(taken)).mappings().first()
        link = None if row is None else value_of(PasswordLink, row)
        return link if link is not None and now < link.expires_at else None

    async def save_session(self, session: Session, digest: str) -> None:
        """Keep a new session, and drop the account's expired ones."""
        stale = SESSIONS.c.account_id == session.account_id, SESSIONS.c.expires_at <= session.created_at
        async with self._database.write(session.account_id) as connection:
            await connection.execute(sa.delete(SESSIONS).where(*stale))
            await connection.execute(sa.insert(SESSIONS).values({**row_of(session), "digest": digest}))

    async def get_session(self, digest: str) -> Session | None:
        """The session with this digest."""
        async with self._database.read() as connection:
            query = sa.select(SESSIONS).where(SESSIONS.c.digest == digest)
            row = (await connection.execute(query)).mappings().first()
        return None if row is None else value_of(Session, row)

    async def end_session(self, digest: str) -> None:
        """End one session."""
        async with self._database.write() as connection:
            await connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.digest == digest))

    async def end_sessions(self, account_id: UUID, except_digest: str | None = None) -> None:
        """End every session of an account, but one."""
        ended = sa.delete(SESSIONS).where(SESSIONS.c.account_id == account_id)
        if except_digest is not None:
            ended = ended.where(SESSIONS.c.digest != except_digest)
        async with self._database.write() as connection:
            await connection.execute(ended)

    async def _account(self, condition: sa.ColumnElement[bool]) -> Account | None:
        async with self._database.read() as connection:
            row = (await connection.execute(sa.select(ACCOUNTS).where(condition))).mappings().first()
        return None if row is None else value_of(Account, row)
