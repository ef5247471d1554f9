"""Passkeys and what browsers were asked to sign, in SQL."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import Challenge, Passkey

PASSKEYS: Final = sa.Table(
    "passkeys",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("account_id", sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("credential_id", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("counter", sa.BigInteger, nullable=False),
    sa.Column("transports", sa.JSON, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("used_at", Instant),
)

CHALLENGES: Final = sa.Table(
    "passkey_challenges",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("browser", sa.String(64), nullable=False),
    sa.Column("account_id", sa.ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
    sa.Column("expires_at", Instant, nullable=False, index=True),
)

_KEY: Final = PASSKEYS.c


class SqlPasskeys:
    """Implements the ports `Passkeys` and `Challenges`."""

    _database: Database

    async def list_passkeys(self, account_id: UUID) -> list[Passkey]:
        """Those of an account, oldest first."""
        query = sa.select(PASSKEYS).where(_KEY.account_id == account_id)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(_KEY.created_at, _KEY.id))).mappings()
            return [value_of(Passkey, row) for row in rows]

    async def find_passkey(self, credential_id: bytes) -> Passkey | None:
        """The one with this credential id."""
        query = sa.select(PASSKEYS).where(_KEY.credential_id == credential_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
        return None if row is None else value_of(Passkey, row)

    async def add_passkey(self, passkey: Passkey, max_passkeys: int) -> bool:
        """Keep a new one, which is nobody's yet."""
        owner, credential = _KEY.account_id == passkey.account_id, _KEY.credential_id == passkey.credential_id
        near = sa.select(_KEY.account_id, _KEY.credential_id).where(sa.or_(owner, credential))
        async with self._database.write(passkey.account_id, passkey.credential_id.hex()) as connection:
            found = (await connection.execute(near)).all()
            owned = sum(account_id == passkey.account_id for account_id, _ in found)
            if owned >= max_passkeys or passkey.credential_id in {known for _, known in found}:
                return False
            await connection.execute(sa.insert(PASSKEYS).values(row_of(passkey)))
            return True

    async def record_passkey_use(self, passkey_id: UUID, counter: int, now: datetime) -> bool:
        """Note a use whose counter has risen, or never counted."""
        rises = sa.or_(_KEY.counter < counter, sa.and_(_KEY.counter == 0, sa.literal(counter) == 0))
        update = sa.update(PASSKEYS).where(_KEY.id == passkey_id, rises)
        async with self._database.write() as connection:
            noted = await connection.execute(update.values(counter=counter, used_at=now))
            return noted.rowcount == 1

    async def remove_passkey(self, account_id: UUID, passkey_id: UUID) -> bool:
        """Drop a passkey of an account."""
        chosen = _KEY.id == passkey_id, _KEY.account_id == account_id
        async with self._database.write() as connection:
            return (await connection.execute(sa.delete(PASSKEYS).where(*chosen))).rowcount == 1

    async def add_challenge(self, challenge: Challenge, digest: str, now: datetime) -> None:
        """Keep a new challenge, and drop those that have expired."""
        async with self._database.write(CHALLENGES.name) as connection:
            await connection.execute(sa.delete(CHALLENGES).where(CHALLENGES.c.expires_at <= now))
            await connection.execute(sa.insert(CHALLENGES).values({**row_of(challenge), "digest": digest}))

    async def take_challenge(self, digest: str, now: datetime) -> Challenge | None:
        """Use a challenge up."""
        taken = sa.delete(CHALLENGES).where(CHALLENGES.c.digest == digest).returning(*CHALLENGES.columns)
        async with self._database.write() as connection:
            row = (await connection.execute(taken)).mappings().first()
        challenge = None if row is None else value_of(Challenge, row)
        return challenge if challenge is not None and now < challenge.expires_at else None
