"""Export jobs in SQL: the row is the truth, and a state is replaced only where it still stands."""

from dataclasses import fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import RowMapping

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.tables import METADATA
from service_core.plugin import Export, ExportFormat, ExportStatus, ExportType

EXPORTS: Final = sa.Table(
    "exports",
    METADATA,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("credential_id", sa.Uuid, nullable=False),
    sa.Column("subject", sa.String(16), nullable=False),
    sa.Column("format", sa.String(8), nullable=False),
    sa.Column("start_date", sa.Text, nullable=False),
    sa.Column("end_date", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("filters", sa.JSON, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("free_at", Instant, index=True),
    sa.Column("due_at", Instant, index=True),
    sa.Column("started_at", Instant),
    sa.Column("completed_at", Instant),
    sa.Column("row_count", sa.BigInteger),
    sa.Column("truncated", sa.Boolean, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("ticket", sa.String(64), index=True),
)
"""One row per job; the files lie elsewhere."""

_ROW: Final = EXPORTS.c
_ACTIVE: Final = (ExportStatus.QUEUED.value, ExportStatus.RUNNING.value)


class SqlExports:
    """Implements the ports `Exports` and `ExportWork`."""

    _database: Database

    async def add_export(self, export: Export, max_active: int) -> Export | None:
        """Add a job, once for its ticket; looked up and counted while no other is added."""
        async with self._database.write(export.workspace_id) as connection:
            if export.ticket is not None and (earlier := await _kept(connection, export)):
                return earlier
            if (await connection.execute(_active(export))).scalar_one() >= max_active:
                return None
            await connection.execute(sa.insert(EXPORTS).values(_row_of(export)))
            return export

    async def find_export(self, export_id: UUID) -> Export | None:
        """The job with this id."""
        found = await self._exports(sa.select(EXPORTS).where(_ROW.id == export_id))
        return found[0] if found else None

    async def list_exports(self, workspace_id: UUID, limit: int) -> list[Export]:
        """The latest jobs of a workspace, newest first."""
        latest = sa.select(EXPORTS).where(_ROW.workspace_id == workspace_id)
        return await self._exports(latest.order_by(_ROW.created_at.desc(), _ROW.id.desc()).limit(limit))

    async def delete_queued_export(self, export_id: UUID) -> None:
        """Remove a job that is still queued."""
        waiting = sa.and_(_ROW.id == export_id, _ROW.status == ExportStatus.QUEUED.value)
        async with self._database.write() as connection:
            await connection.execute(sa.delete(EXPORTS).where(waiting))

    async def list_available_exports(self, now: datetime, limit: int) -> list[Export]:
        """Jobs whose ``free_at`` has come, oldest first."""
        free = sa.select(EXPORTS).where(_ROW.free_at <= now)
        return await self._exports(free.order_by(_ROW.created_at, _ROW.id).limit(limit))

    async def replace_export_if_unchanged(self, before: Export, after: Export) -> bool:
        """Save the next state where the row still stands as ``before``."""
        unchanged = (
            _ROW.id == before.id,
            _ROW.status == before.status.value,
            _ROW.attempt == before.attempt,
            _ROW.free_at.is_not_distinct_from(before.free_at),
        )
        update = sa.update(EXPORTS).where(*unchanged).values(_row_of(after))
        async with self._database.write() as connection:
            return bool((await connection.execute(update)).rowcount)

    async def list_due_exports(self, now: datetime) -> list[Export]:
        """Jobs whose ``due_at`` has come."""
        return await self._exports(sa.select(EXPORTS).where(_ROW.due_at <= now).order_by(_ROW.due_at))

    async def count_exports_by_status(self) -> dict[ExportStatus, int]:
        """How many jobs stand in each state."""
        counted = sa.select(_ROW.status, sa.func.count()).group_by(_ROW.status)
        async with self._database.read() as connection:
            return {ExportStatus(status): count for status, count in await connection.execute(counted)}

    async def _exports(self, query: sa.Select[Any]) -> list[Export]:
        async with self._database.read() as connection:
            return [_export_of(row) for row in (await connection.execute(query)).mappings()]


async def _kept(connection: AsyncConnection, export: Export) -> Export | None:
    same = (_ROW.ticket == export.ticket, _ROW.created_at > export.retry_window_start)
    row = (await connection.execute(sa.select(EXPORTS).where(*same))).mappings().first()
    return _export_of(row) if row else None


def _active(export: Export) -> sa.Select[int]:
    active = (_ROW.workspace_id == export.workspace_id, _ROW.status.in_(_ACTIVE))
    return sa.select(sa.func.count()).select_from(EXPORTS).where(*active)


def _row_of(export: Export) -> dict[str, Any]:
    row = {f.name: getattr(export, f.name) for f in fields(export)}
    texts = {name: row[name].value for name in ("subject", "format", "status")}
    return row | texts | {"filters": dict(export.filters)}


def _export_of(row: RowMapping) -> Export:
    kinds = {"subject": ExportType(row["subject"]), "format": ExportFormat(row["format"])}
    return Export(**{**row, **kinds, "status": ExportStatus(row["status"])})
