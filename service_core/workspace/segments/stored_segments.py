"""Reads the filters of stored segments for queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.query.schemas import FilterBody
from service_core.changes.ports import Transactions
from service_core.workspace.segments.models import Segment


@dataclass(frozen=True, slots=True)
class StoredSegments:
    """Implements `SegmentReader` with the records of the workspace."""

    transactions: Transactions

    async def read_segment_filters(self, caller: Caller, segment_id: UUID) -> Sequence[FilterBody] | None:
        """Returns the filters of a live segment that the caller can see."""
        async with self.transactions.read(caller.workspace.id) as transaction:
            segment = await transaction.resources.get(Segment, segment_id)
        return None if segment is None or not segment.is_visible_to(caller) else segment.filters
