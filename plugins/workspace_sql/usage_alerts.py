"""Store of the usage alerts that were sent."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.statements import matches
from plugins.workspace_sql.tables import USAGE_ALERTS


class SqlUsageAlerts(SqlStore):
    """Implements the port `UsageAlertLog`."""

    async def claim_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> bool:
        """Claims an alert before it is sent. Returns False if it was claimed before."""
        row = {"workspace_id": workspace_id, "period_start": period_start, "percent": percent}
        return await self._database.insert_if_absent(USAGE_ALERTS, row)

    async def release_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> None:
        """Deletes the claim of an alert that could not be sent."""
        claimed = matches(USAGE_ALERTS, workspace_id=workspace_id, period_start=period_start, percent=percent)
        await self._database.execute(sa.delete(USAGE_ALERTS).where(claimed))
