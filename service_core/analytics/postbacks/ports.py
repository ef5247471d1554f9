"""Port for the status of postbacks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from service_core.kernel.time_ranges import TimeRange

SENT: Final = "sent"
"""Status of a postback that the platform accepted."""


@dataclass(frozen=True, slots=True)
class PostbackSummary:
    """A conversion that a rule sends to a platform, and its status."""

    rule_id: UUID
    platform: str
    status: str
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class PostbackCount:
    """Number of postbacks that reached a final status in one bucket (index of the requested bucket)."""

    bucket: int
    platform: str
    status: str
    count: int


@dataclass(frozen=True, slots=True)
class RulePostbackCount:
    """Number of postbacks of a rule that reached a final status for one reason.

    Attributes:
        reason: why they were skipped, or the error code of the platform; None for those that were sent.
    """

    rule_id: UUID
    status: str
    reason: str | None
    count: int


class PostbackReader(Protocol):
    """Reads postbacks. Test postbacks are listed with their event and never counted."""

    async def list_postbacks_by_event(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Mapping[str, Sequence[PostbackSummary]]:
        """Returns the postbacks of events, by event id, in the order their rules matched. Events without one are omitted.

        Raises:
            StoreUnavailable: postbacks cannot be read.
        """

    async def count_final_postbacks_by_bucket(
        self, workspace_id: UUID, bucket_edges: Sequence[datetime]
    ) -> Sequence[PostbackCount]:
        """Returns the number of postbacks that reached a final status between consecutive instants.

        Args:
            workspace_id: the workspace.
            bucket_edges: ascending instants, two or more.

        Raises:
            StoreUnavailable: postbacks cannot be read.
        """

    async def count_final_postbacks_by_rule(
        self, workspace_id: UUID, span: TimeRange
    ) -> Sequence[RulePostbackCount]:
        """Returns the number of postbacks that reached a final status within a range, by rule, status and reason.

        Raises:
            StoreUnavailable: postbacks cannot be read.
        """
