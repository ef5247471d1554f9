"""Writes the file of an export."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple

from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.reads.export_streams import RowBatch
from service_core.delivery.exports.export_rows import ExportRows
from service_core.delivery.exports.filters import build_read_query, split_kept_segment_conditions
from service_core.delivery.exports.models import Export
from service_core.delivery.exports.ports import ExportStorage
from service_core.delivery.exports.table import ExportTable, RendererFactory


class WrittenExport(NamedTuple):
    """The rows in the file of an export, and whether rows were left out at the limit."""

    row_count: int
    is_truncated: bool


class ExportWriter:
    """Writes export files.

    Args:
        storage: where they go.
        workspaces: whose data it is.
        export_rows: what goes into them.
        render: writes the formats.
    """

    def __init__(
        self,
        storage: ExportStorage,
        workspaces: WorkspaceCache,
        export_rows: ExportRows,
        render: RendererFactory,
    ) -> None:
        self._storage = storage
        self._workspaces = workspaces
        self._contents = export_rows
        self._render = render

    async def write_file_of_export(self, export: Export) -> WrittenExport:
        """Writes the file of an export.

        Raises:
            Exception: whatever the store or the storage raised; then there is no file.
        """
        workspace = await self._workspaces.find_by_id(export.workspace_id)
        if workspace is None:
            raise LookupError("the workspace of an export is gone")
        filters, segment = split_kept_segment_conditions(export.filters, self._contents.catalog)
        query = build_read_query(export.subject, export.start_date, export.end_date, filters)
        caller = build_unlimited_read_only_caller(
            workspace, export.created_at, "Export", credential_id=export.credential_id
        )
        table = self._contents.build_lazy_export_table(query, caller, segment)
        async with self._storage.open_for_write(
            export.file_name, export.download_name(workspace.zone)
        ) as file:
            row_count = await self._write_rows_up_to_limit(export, table, file.write)
        return WrittenExport(min(row_count, table.max_rows), row_count > table.max_rows)

    async def _write_rows_up_to_limit(
        self, export: Export, table: ExportTable, write: Callable[[bytes], object]
    ) -> int:
        """Writes the rows batch by batch in a thread; returns the number of rows read."""
        renderer = self._render(export.format, table.columns)
        write(renderer.render_header())
        row_count = 0
        async with aclosing(_prefetch_one_batch(table.batches)) as batches:
            async for batch in batches:
                data, rows = await asyncio.to_thread(
                    renderer.render_rows, batch, max(table.max_rows - row_count, 0)
                )
                await asyncio.to_thread(write, data)
                row_count += rows
        return row_count


async def _prefetch_one_batch(batches: AsyncGenerator[RowBatch, None]) -> AsyncGenerator[RowBatch, None]:
    """Yields the batches, reading one ahead while the previous one is written."""
    following = asyncio.create_task(_next_batch(batches))
    try:
        while (batch := await following) is not None:
            following = asyncio.create_task(_next_batch(batches))
            yield batch
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await batches.aclose()


async def _next_batch(batches: AsyncGenerator[RowBatch, None]) -> RowBatch | None:
    return await anext(batches, None)
