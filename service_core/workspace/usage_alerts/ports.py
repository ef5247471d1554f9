"""Port to the log of sent usage alerts."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class UsageAlertLog(Protocol):
    """Stores which usage alerts were sent in a billing period."""

    async def claim_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> bool:
        """Claims an alert before it is sent; returns False when it was claimed before, so each is sent once."""

    async def release_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> None:
        """Releases the claim of an alert that could not be sent."""
