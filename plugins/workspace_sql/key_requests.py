"""Requests for keys in SQL: each step is one conditional update, so it has one winner."""

from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import KEY_REQUESTS
from plugins.workspace_sql.change_counter import request_increment
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.rows import credential_row
from plugins.workspace_sql.tables import CREDENTIALS
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import REQUEST_LIFETIME, Credential, KeyRequest, RequestStatus

_C = KEY_REQUESTS.c


class SqlKeyRequests:
    """Implements the port `KeyRequests`."""

    _database: Database

    async def add_key_request(
        self, request: KeyRequest, link_digest: str, retry_digest: str | None
    ) -> KeyRequest:
        """Add a request, or find the one an identical retry of 24 hours repeats."""
        async with self._database.write(*filter(None, [retry_digest])) as connection:
            if retry_digest is not None:
                stale = _C.once == retry_digest, _C.created_at <= request.created_at - REQUEST_LIFETIME
                await connection.execute(sa.update(KEY_REQUESTS).where(*stale).values(once=None))
                query = sa.select(KEY_REQUESTS).where(_C.once == retry_digest)
                row = (await connection.execute(query)).mappings().first()
                if row is not None:
                    return value_of(KeyRequest, row)
            await connection.execute(
                sa.insert(KEY_REQUESTS).values({**row_of(request), "link": link_digest, "once": retry_digest})
            )
            return request

    async def get_key_request(self, request_id: UUID) -> KeyRequest | None:
        """The request with this id."""
        return await self._request(_C.id == request_id)

    async def find_key_request_by_link(self, link_digest: str) -> KeyRequest | None:
        """The request whose link has this digest."""
        return await self._request(_C.link == link_digest)

    async def save_key_decision(self, decided: KeyRequest) -> bool:
        """Write an approval or a denial of a pending request."""
        update = sa.update(KEY_REQUESTS).where(
            _C.id == decided.id,
            _C.status == RequestStatus.PENDING.value,
            _C.expires_at > decided.decided_at,
        )
        changes = {
            "status": decided.status.value,
            "decided_at": decided.decided_at,
            "decided_by": decided.decided_by,
            "rate_limit": decided.rate_limit,
        }
        async with self._database.write() as connection:
            return (await connection.execute(update.values(changes))).rowcount == 1

    async def collect_key(self, request: KeyRequest, credential: Credential, digest: str) -> bool:
        """Move an approved request to ``collected`` and add its key."""
        update = sa.update(KEY_REQUESTS).where(
            _C.id == request.id,
            _C.status == RequestStatus.APPROVED.value,
            _C.decided_at > credential.created_at - REQUEST_LIFETIME,
        )
        changes = {"status": RequestStatus.COLLECTED.value, "key_id": credential.id}
        async with self._database.write() as connection:
            if (await connection.execute(update.values(changes))).rowcount == 0:
                return False
            await connection.execute(
                sa.insert(CREDENTIALS).values({**credential_row(credential), "digest": digest})
            )
            request_increment(connection)
            return True

    async def list_pending_requests(self, workspace_id: UUID) -> list[KeyRequest]:
        """Requests of a workspace that wait for a decision, oldest first."""
        query = (
            sa.select(KEY_REQUESTS)
            .where(_C.workspace_id == workspace_id, _C.status == RequestStatus.PENDING.value)
            .order_by(_C.created_at, _C.id)
        )
        async with self._database.read() as connection:
            return [value_of(KeyRequest, row) for row in (await connection.execute(query)).mappings()]

    async def _request(self, condition: sa.ColumnElement[bool]) -> KeyRequest | None:
        async with self._database.read() as connection:
            row = (await connection.execute(sa.select(KEY_REQUESTS).where(condition))).mappings().first()
        return None if row is None else value_of(KeyRequest, row)
