"""Where is read what became of conversions that rules send to ad platforms."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

SENT: Final = "sent"
"""The status of what a platform has taken."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """How far a conversion has come that a rule sends; ``status`` is that of the contract (13)."""

    rule_id: UUID
    platform: str
    status: str
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeliveryCount:
    """How many became final, and how: in the bucket with this position among those asked for."""

    bucket: int
    platform: str
    status: str
    count: int


class Deliveries(Protocol):
    """The outbox, to look at. Tests are told with their event and count nowhere."""

    async def deliveries(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Mapping[str, Sequence[Delivered]]:
        """What rules made of some events, each event's in the order its rules fired; those of no rule are left out.

        Raises:
            StoreUnavailable: it cannot be read.
        """

    async def delivery_counts(self, workspace_id: UUID, edges: Sequence[datetime]) -> Sequence[DeliveryCount]:
        """What became final between each instant and the next one.

        Args:
            workspace_id: whose.
            edges: ascending, two or more.

        Raises:
            StoreUnavailable: it cannot be read.
        """
