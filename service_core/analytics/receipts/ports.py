"""Port of stored receipts."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.analytics.receipts.models import StoredReceipt


class Receipts(Protocol):
    """Stores receipts."""

    async def save_receipt_and_delete_expired(self, receipt: StoredReceipt) -> None:
        """Adds a receipt unless one with its id exists, and deletes the expired receipts of its workspace."""

    async def find_receipt(self, workspace_id: UUID, receipt_id: str, now: datetime) -> StoredReceipt | None:
        """Returns a receipt of a workspace; None if there is none, or it has expired."""
