"""Where is read what became of conversions that rules send to ad platforms."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

SENT: Final = "sent"
"""The status of what a platform has taken."""


@dataclass(frozen=True, slots=True)
class PostbackSummary:
    """How far a conversion has come that a rule sends; ``status`` is that of the contract (13)."""

    rule_id: UUID
    platform: str
    status: str
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class PostbackCount:
    """How many became final, and how: in the bucket with this position among those asked for."""

    bucket: int
    platform: str
    status: str
    count: int


class PostbackReader(Protocol):
    """The outbox, to look at. Tests are told with their event and count nowhere."""

    async def list_event_postbacks(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Mapping[str, Sequence[PostbackSummary]]:
        """What rules made of some events, each event's in the order its rules fired; those of no rule are left out.

        Raises:
            StoreUnavailable: it cannot be read.
        """

    async def count_postbacks(
        self, workspace_id: UUID, bucket_edges: Sequence[datetime]
    ) -> Sequence[PostbackCount]:
        """What became final between each instant and the next one.

        Args:
            workspace_id: whose.
            edges: ascending, two or more.

        Raises:
            StoreUnavailable: it cannot be read.
        """
