"""Writing the file of one export: its question, its rows, its bytes."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from service_core.access.reader import reader_of
from service_core.access.workspaces import Workspaces
from service_core.delivery.exports.contents import Contents
from service_core.delivery.exports.filters import question
from service_core.delivery.exports.model import Export
from service_core.delivery.exports.ports import ExportSink
from service_core.delivery.exports.table import RendererOf, Table
from service_core.insight.streams import Batch


class ExportWriter:
    """Writes files.

    Args:
        sink: where they go.
        workspaces: whose data it is.
        contents: what goes into them.
        render: writes the formats.
    """

    def __init__(
        self, sink: ExportSink, workspaces: Workspaces, contents: Contents, render: RendererOf
    ) -> None:
        self._sink = sink
        self._workspaces = workspaces
        self._contents = contents
        self._render = render

    async def write(self, export: Export) -> tuple[int, bool]:
        """Write the file of a job; the number of its rows, and whether there were more.

        Raises:
            Exception: whatever the store or the sink raised; then there is no file.
        """
        workspace = await self._workspaces.find(export.workspace_id)
        if workspace is None:
            raise LookupError("the workspace of an export is gone")
        query = question(export.subject, export.start_date, export.end_date, export.filters)
        who = reader_of(workspace, export.created_at, "Export", credential_id=export.credential_id)
        table = self._contents.table(query, who)
        async with self._sink.draft(export.file, export.save_as(workspace.zone)) as file:
            found = await self._fill(export, table, file.write)
        return min(found, table.most), found > table.most

    async def _fill(self, export: Export, table: Table, write: Callable[[bytes], object]) -> int:
        """Render batch by batch, off the event loop; the number of rows found."""
        renderer = self._render(export.format, table.columns)
        write(renderer.header())
        found = 0
        async with aclosing(_ahead(table.batches)) as batches:
            async for batch in batches:
                data, rows = await asyncio.to_thread(renderer.rows, batch, max(table.most - found, 0))
                await asyncio.to_thread(write, data)
                found += rows
        return found


async def _ahead(batches: AsyncGenerator[Batch, None]) -> AsyncGenerator[Batch, None]:
    """The same batches, one read ahead: the store works on the next while one is formatted."""
    following = asyncio.create_task(_next(batches))
    try:
        while (batch := await following) is not None:
            following = asyncio.create_task(_next(batches))
            yield batch
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await batches.aclose()


async def _next(batches: AsyncGenerator[Batch, None]) -> Batch | None:
    return await anext(batches, None)
