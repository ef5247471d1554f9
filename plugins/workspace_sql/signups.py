"""Store of signups. A payment adds account, workspace, membership and keys in one transaction."""

from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import (
    ACCOUNTS,
    CREDENTIALS,
    KEY_REQUESTS,
    MEMBERS,
    SIGNUPS,
    WORKSPACES,
)
from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import RECORDED_AT, record_of, row_of
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.statements import matches
from service_core.plugin import (
    REQUEST_LIFETIME,
    UNPAID_SIGNUP_RETENTION,
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

_ROW = SIGNUPS.c


class SqlSignups(SqlStore):
    """Implements the port `Signups`."""

    async def add_signup(
        self, signup: Signup, digests: SignupDigests, key_request: KeyRequest | None
    ) -> None:
        """Adds a signup and the key request it contains, and deletes signups that expired unpaid long ago."""
        expired = _ROW.expires_at < signup.created_at - UNPAID_SIGNUP_RETENTION
        async with self._database.write() as connection:
            await connection.execute(sa.delete(SIGNUPS).where(_ROW.status != SignupStatus.PAID, expired))
            await connection.execute(sa.insert(SIGNUPS).values({**row_of(signup), **row_of(digests)}))
            if key_request is not None:
                await connection.execute(sa.insert(KEY_REQUESTS).values(row_of(key_request)))

    async def find_signup(self, lookup: SignupLookup, id_or_digest: str) -> Signup | None:
        """Returns the signup with this id or digest."""
        condition = (
            _ROW.id == UUID(id_or_digest) if lookup is SignupLookup.ID else _ROW[lookup.value] == id_or_digest
        )
        return await self._database.fetch_first_record(Signup, sa.select(SIGNUPS).where(condition))

    async def save_order_id(self, signup_id: UUID, order_id: str) -> None:
        """Saves the id of the order at the checkout."""
        await self._database.execute(sa.update(SIGNUPS).where(_ROW.id == signup_id).values(order=order_id))

    async def replace_welcome_link(self, signup_id: UUID, link_digest: str) -> None:
        """Replaces the digest of the welcome link."""
        await self._database.execute(
            sa.update(SIGNUPS).where(_ROW.id == signup_id).values(welcome=link_digest)
        )

    async def cancel_pending_signup(self, signup_id: UUID) -> bool:
        """Cancels a pending signup."""
        pending = matches(SIGNUPS, id=signup_id, status=SignupStatus.PENDING)
        update = sa.update(SIGNUPS).where(pending).values(status=SignupStatus.CANCELED)
        return bool(await self._database.execute(update, signup_id))

    async def record_payment(self, signup_id: UUID, provisioning: WorkspaceProvisioning) -> Account | None:
        """Marks a signup as paid and adds everything that follows. Returns None if it was paid before."""
        workspace, now = provisioning.workspace, provisioning.paid_at
        unpaid = sa.select(SIGNUPS).where(_ROW.id == signup_id, _ROW.status != SignupStatus.PAID)
        async with self._database.write(signup_id, provisioning.account.email) as connection:
            signup = (await connection.execute(unpaid)).mappings().first()
            if signup is None:
                return None
            account = await _get_or_add_account(connection, provisioning.account)
            owner = Member(workspace.id, account.id, Role.OWNER, now)
            row = {**row_of(workspace), RECORDED_AT: self._database.clock()}
            await connection.execute(sa.insert(WORKSPACES).values(row))
            await connection.execute(sa.insert(MEMBERS).values(row_of(owner)))
            keys = [
                {**row_of(credential), "digest": digest} for credential, digest in provisioning.credentials
            ]
            await connection.execute(sa.insert(CREDENTIALS), keys)
            paid = {"status": SignupStatus.PAID, "paid_at": now, "workspace_id": workspace.id}
            await connection.execute(sa.update(SIGNUPS).where(_ROW.id == signup_id).values(paid))
            contained = KEY_REQUESTS.c.id == signup["key_request_id"]
            ready = {"workspace_id": workspace.id, "expires_at": now + REQUEST_LIFETIME}
            await connection.execute(sa.update(KEY_REQUESTS).where(contained).values(ready))
            request_increment_at_commit(connection)
            return account


async def _get_or_add_account(connection: AsyncConnection, account: Account) -> Account:
    """Returns the account with this e-mail address. It is added if there is none."""
    query = sa.select(ACCOUNTS).where(ACCOUNTS.c.email == account.email)
    row = (await connection.execute(query)).mappings().first()
    if row is not None:
        return record_of(Account, row)
    await connection.execute(sa.insert(ACCOUNTS).values(row_of(account)))
    return account
