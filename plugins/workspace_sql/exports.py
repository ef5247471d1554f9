"""Stores of export jobs. A state is replaced only while the row has the expected state."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import record_of, row_of
from plugins.workspace_sql.statements import matches
from plugins.workspace_sql.tables import EXPORTS
from service_core.plugin import Export, ExportStatus

_ROW: Final = EXPORTS.c
_ACTIVE: Final = (ExportStatus.QUEUED, ExportStatus.RUNNING)


class SqlExports(SqlStore):
    """Implements the port `Exports`."""

    async def add_export_or_find_retried(self, export: Export, max_active: int) -> Export | None:
        """Adds a job. No other job of the workspace is added meanwhile."""
        retried = _ROW.ticket == export.ticket, _ROW.created_at > export.retry_window_start
        active = matches(EXPORTS, workspace_id=export.workspace_id) & _ROW.status.in_(_ACTIVE)
        async with self._database.write(export.workspace_id) as connection:
            if export.ticket is not None:
                row = (await connection.execute(sa.select(EXPORTS).where(*retried))).mappings().first()
                if row is not None:
                    return record_of(Export, row)
            count = sa.select(sa.func.count()).select_from(EXPORTS).where(active)
            if (await connection.execute(count)).scalar_one() >= max_active:
                return None
            await connection.execute(sa.insert(EXPORTS).values(row_of(export)))
            return export

    async def find_export(self, export_id: UUID) -> Export | None:
        """Returns the job with this id."""
        return await self._database.fetch_first_record(Export, sa.select(EXPORTS).where(_ROW.id == export_id))

    async def list_exports(self, workspace_id: UUID, limit: int) -> list[Export]:
        """Returns the latest jobs of a workspace, newest first."""
        own = sa.select(EXPORTS).where(_ROW.workspace_id == workspace_id)
        newest = own.order_by(_ROW.created_at.desc(), _ROW.id.desc()).limit(limit)
        return await self._database.fetch_records(Export, newest)

    async def delete_queued_export(self, export_id: UUID) -> None:
        """Deletes a job that is still queued."""
        queued = matches(EXPORTS, id=export_id, status=ExportStatus.QUEUED)
        await self._database.execute(sa.delete(EXPORTS).where(queued))


class SqlExportJobs(SqlStore):
    """Implements the port `ExportJobs`."""

    async def list_available_exports(self, now: datetime, limit: int) -> list[Export]:
        """Returns jobs whose ``free_at`` has passed, oldest first."""
        available = sa.select(EXPORTS).where(_ROW.free_at <= now)
        return await self._database.fetch_records(
            Export, available.order_by(_ROW.created_at, _ROW.id).limit(limit)
        )

    async def replace_export_if_unchanged(self, before: Export, after: Export) -> bool:
        """Saves the next state if status, attempt and ``free_at`` are still those of ``before``."""
        unchanged = matches(EXPORTS, id=before.id, status=before.status, attempt=before.attempt)
        same_lease = _ROW.free_at.is_not_distinct_from(before.free_at)
        update = sa.update(EXPORTS).where(unchanged, same_lease).values(row_of(after))
        return bool(await self._database.execute(update))

    async def list_timed_out_exports(self, now: datetime) -> list[Export]:
        """Returns jobs whose ``due_at`` has passed."""
        due = sa.select(EXPORTS).where(_ROW.due_at <= now)
        return await self._database.fetch_records(Export, due.order_by(_ROW.due_at))

    async def count_exports_by_status(self) -> dict[ExportStatus, int]:
        """Returns how many jobs have each status."""
        counted = sa.select(_ROW.status, sa.func.count().label("count")).group_by(_ROW.status)
        return {row["status"]: row["count"] for row in await self._database.fetch_rows(counted)}
