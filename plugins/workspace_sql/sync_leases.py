"""Whose turn it is to read something for a workspace, in SQL."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA

READING_TURNS: Final = sa.Table(
    "reading_turns",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("what", sa.String(16), primary_key=True),
    sa.Column("holder", sa.Uuid, nullable=False),
    sa.Column("held_until", Instant, nullable=False),
)
"""One row per workspace and kind of what is being read, or was when a process died."""

_ROW: Final = READING_TURNS.c


class SqlReadingTurns:
    """Implements the port `SyncLeases`."""

    _database: Database

    async def acquire_lease(
        self, workspace_id: UUID, kind: str, holder: UUID, now: datetime, expires_at: datetime
    ) -> bool:
        """Have the turn, or have it for longer; False while somebody else does."""
        row = {"workspace_id": workspace_id, "what": kind, "holder": holder, "held_until": expires_at}
        free = sa.or_(_ROW.holder == holder, _ROW.held_until <= now)
        update = sa.update(READING_TURNS).where(*_is(workspace_id, kind), free).values(row)
        try:
            async with self._database.write() as connection:
                if (await connection.execute(update)).rowcount == 0:
                    await connection.execute(sa.insert(READING_TURNS).values(row))
        except IntegrityError:
            return False
        return True

    async def release_lease(self, workspace_id: UUID, kind: str, holder: UUID) -> None:
        """Let the turn go, if it is still the holder's."""
        own = *_is(workspace_id, kind), _ROW.holder == holder
        async with self._database.write() as connection:
            await connection.execute(sa.delete(READING_TURNS).where(*own))


def _is(workspace_id: UUID, what: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _ROW.workspace_id == workspace_id, _ROW.what == what
