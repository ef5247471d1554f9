"""Store of the states of alerts."""

from collections.abc import Collection, Mapping
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import upsert
from plugins.workspace_sql.tables import ALERT_STATES
from service_core.plugin import AlertState


class SqlAlertStates(SqlStore):
    """Implements the port `AlertStates`."""

    async def get_states(self, alert_ids: Collection[UUID]) -> Mapping[UUID, AlertState]:
        """Returns the states by id of the alert; alerts that were never checked are left out."""
        if not alert_ids:
            return {}
        wanted = sa.select(ALERT_STATES).where(ALERT_STATES.c.alert_id.in_(list(alert_ids)))
        return {one.alert_id: one for one in await self._database.fetch_records(AlertState, wanted)}

    async def save_state(self, state: AlertState) -> None:
        """Adds or replaces the state of an alert."""
        row = row_of(state)
        async with self._database.write() as connection:
            await connection.execute(upsert(connection, ALERT_STATES, row).values(row))
