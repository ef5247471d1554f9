"""Which owners were told how much of their plan is used, in SQL."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.tables import METADATA

USAGE_NOTICES: Final = sa.Table(
    "usage_notices",
    METADATA,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("period_start", Instant, primary_key=True),
    sa.Column("percent", sa.Integer, primary_key=True, autoincrement=False),
)
"""One row per mail; the row is claimed before the mail leaves."""

_ROW: Final = USAGE_NOTICES.c


class SqlUsageNotices:
    """Implements the port `UsageAlertLog`."""

    _database: Database

    async def claim_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> bool:
        """Claim a notice; False when it was claimed before."""
        row = {"workspace_id": workspace_id, "period_start": period_start, "percent": percent}
        try:
            async with self._database.write() as connection:
                await connection.execute(sa.insert(USAGE_NOTICES).values(row))
        except IntegrityError:
            return False
        return True

    async def release_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> None:
        """Let a claim go."""
        claimed = (
            _ROW.workspace_id == workspace_id,
            _ROW.period_start == period_start,
            _ROW.percent == percent,
        )
        async with self._database.write() as connection:
            await connection.execute(sa.delete(USAGE_NOTICES).where(*claimed))
