"""Signups in SQL; a payment commits account, workspace, membership, keys and state together."""

from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import ACCOUNTS, KEY_REQUESTS, MEMBERS, SIGNUPS
from plugins.workspace_sql.change_counter import request_increment
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.rows import credential_row, workspace_row
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.tables import CREDENTIALS, WORKSPACES
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import (
    REQUEST_LIFETIME,
    Account,
    KeyRequest,
    Member,
    Role,
    Signup,
    SignupDigests,
    SignupLookup,
    SignupStatus,
    WorkspaceProvisioning,
)

_C = SIGNUPS.c
_UNPAID = _C.status != SignupStatus.PAID.value


class SqlSignups:
    """Implements the port `Signups`."""

    _database: Database

    async def add_signup(
        self, signup: Signup, secrets: SignupDigests, key_request: KeyRequest | None
    ) -> None:
        """Keep a new signup and the request it carries."""
        async with self._database.write() as connection:
            await connection.execute(sa.insert(SIGNUPS).values({**row_of(signup), **row_of(secrets)}))
            if key_request is not None:
                await connection.execute(sa.insert(KEY_REQUESTS).values(row_of(key_request)))

    async def find_signup(self, by: SignupLookup, value: str) -> Signup | None:
        """The signup with this id or digest."""
        condition = _C.id == UUID(value) if by is SignupLookup.ID else _C[by.value] == value
        async with self._database.read() as connection:
            row = (await connection.execute(sa.select(SIGNUPS).where(condition))).mappings().first()
        return None if row is None else value_of(Signup, row)

    async def save_order_id(self, signup_id: UUID, order: str) -> None:
        """Remember the checkout's id of the order."""
        await self._change(signup_id, order=order)

    async def replace_welcome_link(self, signup_id: UUID, welcome: str) -> None:
        """Give a signup another welcome link."""
        await self._change(signup_id, welcome=welcome)

    async def cancel_signup(self, signup_id: UUID) -> bool:
        """Move a pending signup to ``canceled``."""
        pending = _C.id == signup_id, _C.status == SignupStatus.PENDING.value
        async with self._database.write(signup_id) as connection:
            update = sa.update(SIGNUPS).where(*pending).values(status=SignupStatus.CANCELED.value)
            return (await connection.execute(update)).rowcount == 1

    async def record_payment(self, signup_id: UUID, provisioning: WorkspaceProvisioning) -> Account | None:
        """Move a signup to ``paid``, with everything it brings about."""
        workspace, now = provisioning.workspace, provisioning.paid_at
        async with self._database.write(signup_id, provisioning.account.email) as connection:
            row = (
                (await connection.execute(sa.select(SIGNUPS).where(_C.id == signup_id, _UNPAID)))
                .mappings()
                .first()
            )
            if row is None:
                return None
            account = await _account(connection, provisioning.account)
            owner = Member(workspace.id, account.id, Role.OWNER, now)
            await connection.execute(sa.insert(WORKSPACES).values(workspace_row(workspace)))
            await connection.execute(sa.insert(MEMBERS).values(row_of(owner)))
            for credential, digest in provisioning.credentials:
                await connection.execute(
                    sa.insert(CREDENTIALS).values({**credential_row(credential), "digest": digest})
                )
            paid = {"status": SignupStatus.PAID.value, "paid_at": now, "workspace_id": workspace.id}
            await connection.execute(sa.update(SIGNUPS).where(_C.id == signup_id).values(paid))
            ready = {"workspace_id": workspace.id, "expires_at": now + REQUEST_LIFETIME}
            await connection.execute(
                sa.update(KEY_REQUESTS).where(KEY_REQUESTS.c.id == row["key_request_id"]).values(ready)
            )
            request_increment(connection)
            return account

    async def _change(self, signup_id: UUID, **columns: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(sa.update(SIGNUPS).where(_C.id == signup_id).values(columns))


async def _account(connection: AsyncConnection, wanted: Account) -> Account:
    """The account of an address, added if there is none."""
    query = sa.select(ACCOUNTS).where(ACCOUNTS.c.email == wanted.email)
    row = (await connection.execute(query)).mappings().first()
    if row is not None:
        return value_of(Account, row)
    await connection.execute(sa.insert(ACCOUNTS).values(row_of(wanted)))
    return wanted
