"""Store of receipts."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import matches
from plugins.workspace_sql.tables import RECEIPTS
from service_core.plugin import StoredReceipt

_ROW: Final = RECEIPTS.c


class SqlReceipts(SqlStore):
    """Implements the port `Receipts`."""

    async def save_receipt_and_delete_expired(self, receipt: StoredReceipt) -> None:
        """Adds a receipt unless one with its id exists, and deletes the expired receipts of its workspace."""
        expired = (_ROW.workspace_id == receipt.workspace_id) & (_ROW.expires_at <= receipt.created_at)
        await self._database.execute(sa.delete(RECEIPTS).where(expired))
        await self._database.insert_if_absent(RECEIPTS, row_of(receipt))

    async def find_receipt(self, workspace_id: UUID, receipt_id: str, now: datetime) -> StoredReceipt | None:
        """Returns a receipt of a workspace; None if there is none, or it has expired."""
        own = matches(RECEIPTS, workspace_id=workspace_id, id=receipt_id)
        found = sa.select(RECEIPTS).where(own, _ROW.expires_at > now)
        return await self._database.fetch_first_record(StoredReceipt, found)
