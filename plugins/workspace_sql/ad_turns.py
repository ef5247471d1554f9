"""Whose turn it is to read the ad platforms of a workspace, in SQL."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.columns import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA

AD_TURNS: Final = sa.Table(
    "ad_turns",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("holder", sa.Uuid, nullable=False),
    sa.Column("held_until", Instant, nullable=False),
)
"""One row per workspace whose platforms are being read, or were when a process died."""

_ROW: Final = AD_TURNS.c


class SqlAdTurns:
    """Implements the port `AdTurns`."""

    _database: Database

    async def take_ad_turn(self, workspace_id: UUID, holder: UUID, now: datetime, until: datetime) -> bool:
        """Have the turn, or have it for longer; False while somebody else does."""
        row = {"workspace_id": workspace_id, "holder": holder, "held_until": until}
        free = sa.or_(_ROW.holder == holder, _ROW.held_until <= now)
        update = sa.update(AD_TURNS).where(_ROW.workspace_id == workspace_id, free).values(row)
        try:
            async with self._database.write() as connection:
                if (await connection.execute(update)).rowcount == 0:
                    await connection.execute(sa.insert(AD_TURNS).values(row))
        except IntegrityError:
            return False
        return True

    async def end_ad_turn(self, workspace_id: UUID, holder: UUID) -> None:
        """Let the turn go, if it is still the holder's."""
        own = _ROW.workspace_id == workspace_id, _ROW.holder == holder
        async with self._database.write() as connection:
            await connection.execute(sa.delete(AD_TURNS).where(*own))
