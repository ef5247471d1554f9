"""Store of the hours over which a transform failed."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.statements import insert_if_absent, matches
from plugins.workspace_sql.tables import TRANSFORM_GAPS
from service_core.plugin import TransformGap


class SqlTransformGaps(SqlStore):
    """Implements the port `TransformGaps`."""

    async def add_gaps(self, gaps: Collection[TransformGap]) -> None:
        """Adds hours; idempotent."""
        if not gaps:
            return
        async with self._database.write() as connection:
            await connection.execute(
                insert_if_absent(connection, TRANSFORM_GAPS), [gap._asdict() for gap in sorted(gaps)]
            )

    async def list_gap_hours(self, workspace_id: UUID) -> Sequence[datetime]:
        """Returns the starts of the hours of a workspace, in order, each once."""
        hour = TRANSFORM_GAPS.c.hour
        wanted = matches(TRANSFORM_GAPS, workspace_id=workspace_id)
        async with self._database.read() as connection:
            hours = await connection.execute(sa.select(hour).distinct().where(wanted).order_by(hour))
            return [each for (each,) in hours]

    async def delete_held_gaps(self, workspace_id: UUID) -> Collection[TransformGap]:
        """Deletes the hours whose events waited; returns them."""
        held = matches(TRANSFORM_GAPS, workspace_id=workspace_id, is_held=True)
        deletion = sa.delete(TRANSFORM_GAPS).where(held).returning(TRANSFORM_GAPS.c.hour)
        async with self._database.write() as connection:
            hours = await connection.execute(deletion)
            return [TransformGap(workspace_id, hour, is_held=True) for (hour,) in hours]
