"""Store of key requests. Each step is one conditional update, so that one of several callers succeeds."""

from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import CREDENTIALS, KEY_REQUESTS
from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import record_of, row_of
from service_core.plugin import REQUEST_LIFETIME, REQUEST_RETENTION, Credential, KeyRequest, RequestStatus

_ROW = KEY_REQUESTS.c


class SqlKeyRequests(SqlStore):
    """Implements the port `KeyRequests`."""

    async def add_key_request_or_get_retried(
        self, request: KeyRequest, link_digest: str, retry_digest: str | None
    ) -> KeyRequest:
        """Adds a request, or returns the one that an identical retry within 24 hours repeats."""
        row = {**row_of(request), "link_digest": link_digest, "retry_digest": retry_digest}
        outlived = _ROW.created_at < request.created_at - REQUEST_RETENTION
        async with self._database.write(*filter(None, [retry_digest])) as connection:
            await connection.execute(
                sa.delete(KEY_REQUESTS).where(_ROW.status != RequestStatus.COLLECTED, outlived)
            )
            if retry_digest is not None:
                former = _ROW.retry_digest == retry_digest
                outdated = _ROW.created_at <= request.created_at - REQUEST_LIFETIME
                await connection.execute(
                    sa.update(KEY_REQUESTS).where(former, outdated).values(retry_digest=None)
                )
                stored = (await connection.execute(sa.select(KEY_REQUESTS).where(former))).mappings().first()
                if stored is not None:
                    return record_of(KeyRequest, stored)
            await connection.execute(sa.insert(KEY_REQUESTS).values(row))
            return request

    async def get_key_request(self, request_id: UUID) -> KeyRequest | None:
        """Returns the request with this id."""
        return await self._database.fetch_first_record(
            KeyRequest, sa.select(KEY_REQUESTS).where(_ROW.id == request_id)
        )

    async def find_key_request_by_link(self, link_digest: str) -> KeyRequest | None:
        """Returns the request whose approval link has this digest."""
        query = sa.select(KEY_REQUESTS).where(_ROW.link_digest == link_digest)
        return await self._database.fetch_first_record(KeyRequest, query)

    async def save_decision_if_pending(self, decided_request: KeyRequest) -> bool:
        """Saves the approval or denial of a pending request."""
        open_ = _ROW.status == RequestStatus.PENDING, _ROW.expires_at > decided_request.decided_at
        changes = {
            name: getattr(decided_request, name)
            for name in ("status", "decided_at", "decided_by", "rate_limit")
        }
        update = sa.update(KEY_REQUESTS).where(_ROW.id == decided_request.id, *open_).values(changes)
        return bool(await self._database.execute(update))

    async def collect_approved_key_once(
        self, request: KeyRequest, new_credential: Credential, key_digest: str
    ) -> bool:
        """Marks an approved request as collected and adds its key."""
        approved = _ROW.status == RequestStatus.APPROVED
        recent = _ROW.decided_at > new_credential.created_at - REQUEST_LIFETIME
        changes = {"status": RequestStatus.COLLECTED, "key_id": new_credential.id}
        update = sa.update(KEY_REQUESTS).where(_ROW.id == request.id, approved, recent).values(changes)
        async with self._database.write() as connection:
            if (await connection.execute(update)).rowcount == 0:
                return False
            await connection.execute(
                sa.insert(CREDENTIALS).values({**row_of(new_credential), "digest": key_digest})
            )
            request_increment_at_commit(connection)
            return True

    async def list_pending_requests(self, workspace_id: UUID) -> list[KeyRequest]:
        """Returns the pending requests of a workspace, oldest first."""
        pending = _ROW.workspace_id == workspace_id, _ROW.status == RequestStatus.PENDING
        query = sa.select(KEY_REQUESTS).where(*pending).order_by(_ROW.created_at, _ROW.id)
        return await self._database.fetch_records(KeyRequest, query)
