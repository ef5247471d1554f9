"""Stores of passkeys and of the challenges that browsers sign."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import PASSKEY_CHALLENGES, PASSKEYS
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import matches
from service_core.plugin import Challenge, Passkey

_ROW = PASSKEYS.c


class SqlPasskeys(SqlStore):
    """Implements the port `Passkeys`."""

    async def list_passkeys(self, account_id: UUID) -> list[Passkey]:
        """Returns the passkeys of an account, oldest first."""
        own = sa.select(PASSKEYS).where(_ROW.account_id == account_id)
        return await self._database.fetch_records(Passkey, own.order_by(_ROW.created_at, _ROW.id))

    async def find_passkey(self, credential_id: bytes) -> Passkey | None:
        """Returns the passkey with this credential id."""
        return await self._database.fetch_first_record(
            Passkey, sa.select(PASSKEYS).where(_ROW.credential_id == credential_id)
        )

    async def add_passkey(self, passkey: Passkey, max_per_account: int) -> bool:
        """Adds a passkey. Returns False if its credential id is known or the account has ``max_passkeys``."""
        account_id, credential_id = passkey.account_id, passkey.credential_id
        related = sa.or_(_ROW.account_id == account_id, _ROW.credential_id == credential_id)
        async with self._database.write(account_id, credential_id.hex()) as connection:
            rows = (
                await connection.execute(sa.select(_ROW.account_id, _ROW.credential_id).where(related))
            ).all()
            count = sum(row.account_id == account_id for row in rows)
            if count >= max_per_account or any(row.credential_id == credential_id for row in rows):
                return False
            await connection.execute(sa.insert(PASSKEYS).values(row_of(passkey)))
            return True

    async def record_passkey_use_if_counter_rose(self, passkey_id: UUID, counter: int, now: datetime) -> bool:
        """Saves a use. Returns False if the counter did not grow; a counter that is always 0 does not count."""
        grows = sa.or_(_ROW.counter < counter, sa.and_(_ROW.counter == 0, sa.literal(counter) == 0))
        update = sa.update(PASSKEYS).where(_ROW.id == passkey_id, grows).values(counter=counter, used_at=now)
        return bool(await self._database.execute(update))

    async def remove_passkey(self, account_id: UUID, passkey_id: UUID) -> bool:
        """Deletes a passkey of an account."""
        own = matches(PASSKEYS, id=passkey_id, account_id=account_id)
        return bool(await self._database.execute(sa.delete(PASSKEYS).where(own)))


class SqlPasskeyChallenges(SqlStore):
    """Implements the port `PasskeyChallenges`."""

    async def add_challenge_and_delete_expired(
        self, challenge: Challenge, digest: str, now: datetime
    ) -> None:
        """Adds a challenge, and deletes the expired ones."""
        expired = PASSKEY_CHALLENGES.c.expires_at <= now
        row = {**row_of(challenge), "digest": digest}
        async with self._database.write(PASSKEY_CHALLENGES.name) as connection:
            await connection.execute(sa.delete(PASSKEY_CHALLENGES).where(expired))
            await connection.execute(sa.insert(PASSKEY_CHALLENGES).values(row))

    async def delete_and_return_unexpired_challenge(self, digest: str, now: datetime) -> Challenge | None:
        """Deletes a challenge and returns it, unless it has expired."""
        known = matches(PASSKEY_CHALLENGES, digest=digest)
        challenge = await self._database.delete_and_return_record(Challenge, PASSKEY_CHALLENGES, known)
        return challenge if challenge is not None and now < challenge.expires_at else None
