"""What telling owners needs from outside."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class UsageAlertLog(Protocol):
    """What owners were told of the usage of a period."""

    async def claim_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> bool:
        """Claim a notice before it is sent; False when somebody has, so each is sent once."""

    async def release_alert(self, workspace_id: UUID, period_start: datetime, percent: int) -> None:
        """Let go of the claim of a notice that could not be sent."""
