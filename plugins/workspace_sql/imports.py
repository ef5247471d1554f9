"""Store of import jobs. A state is replaced only while the row has the expected state."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import matches
from plugins.workspace_sql.tables import IMPORTS
from plugins.workspace_sql.transactions import transaction_on
from service_core.plugin import AuditEntry, ImportJob, ImportStatus

_ROW: Final = IMPORTS.c
_FINAL: Final = (
    *(ImportStatus.COMPLETED, ImportStatus.FAILED, ImportStatus.CANCELLED),
    *(ImportStatus.REMOVING, ImportStatus.REMOVED),
)


class SqlImports(SqlStore):
    """Implements the port `Imports`."""

    async def add_import_unless_too_many(self, job: ImportJob, max_active: int) -> bool:
        """Adds a job. No other job of the workspace is added meanwhile."""
        active = matches(IMPORTS, workspace_id=job.workspace_id) & _ROW.status.not_in(_FINAL)
        count = sa.select(sa.func.count()).select_from(IMPORTS).where(active)
        async with self._database.write(job.workspace_id) as connection:
            if (await connection.execute(count)).scalar_one() >= max_active:
                return False
            await connection.execute(sa.insert(IMPORTS).values(row_of(job)))
            return True

    async def find_import(self, import_id: UUID) -> ImportJob | None:
        """Returns the job with this id."""
        found = sa.select(IMPORTS).where(_ROW.id == import_id)
        return await self._database.fetch_first_record(ImportJob, found)

    async def list_imports(self, workspace_id: UUID, limit: int) -> list[ImportJob]:
        """Returns the latest jobs of a workspace, newest first."""
        own = sa.select(IMPORTS).where(_ROW.workspace_id == workspace_id)
        newest = own.order_by(_ROW.created_at.desc(), _ROW.id.desc()).limit(limit)
        return await self._database.fetch_records(ImportJob, newest)

    async def replace_import_if_unchanged(
        self, before: ImportJob, after: ImportJob, audit_entry: AuditEntry | None = None
    ) -> bool:
        """Saves the next state if status, attempt and ``free_at`` are still those of ``before``.

        A removed one invalidates the caches of all processes.
        """
        unchanged = matches(IMPORTS, id=before.id, status=before.status, attempt=before.attempt)
        same_lease = _ROW.free_at.is_not_distinct_from(before.free_at)
        update = sa.update(IMPORTS).where(unchanged, same_lease).values(row_of(after))
        async with self._database.write() as connection:
            is_replaced = bool((await connection.execute(update)).rowcount)
            if is_replaced and after.status is ImportStatus.REMOVED:
                request_increment_at_commit(connection)
            if is_replaced and audit_entry is not None:
                await transaction_on(connection, before.workspace_id, self._database.clock).audit.add(
                    audit_entry
                )
            return is_replaced

    async def list_available_imports(self, now: datetime, limit: int) -> list[ImportJob]:
        """Returns jobs whose ``free_at`` has passed, oldest first."""
        available = sa.select(IMPORTS).where(_ROW.free_at <= now)
        return await self._database.fetch_records(
            ImportJob, available.order_by(_ROW.created_at, _ROW.id).limit(limit)
        )

    async def list_timed_out_imports(self, now: datetime) -> list[ImportJob]:
        """Returns jobs whose ``due_at`` has passed."""
        due = sa.select(IMPORTS).where(_ROW.due_at <= now)
        return await self._database.fetch_records(ImportJob, due.order_by(_ROW.due_at))
