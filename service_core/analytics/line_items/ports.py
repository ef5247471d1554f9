"""What an event store tells of items."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service_core.analytics.ports import QueryScope
from service_core.kernel.time_ranges import Buckets


@dataclass(frozen=True, slots=True)
class LineItemQuery:
    """Which items are summed, and by what. What the scan filters by is not looked at.

    What was sold is booked when its order was, what came back when it did, with `Scan.order_refunds`
    when its order was.

    Attributes:
        edges: ascending instants. Items sold before the first are of period 0, those from then on of
            period 1, and so on; items that came back are of the period they were sold in: that of the
            latest charge of their order not after their return, else their own.
    """

    scope: QueryScope
    period_starts: tuple[datetime, ...] = ()
    buckets: Buckets | None = None


@dataclass(frozen=True, slots=True)
class LineItemSum:
    """All items of a kind that were sold in one period, or came back.

    Attributes:
        bucket: start of the bucket they are booked in; None without buckets.
        sku, variant_id: what they are known by; neither for what nobody can know.
        provider, currency: of the charge that sold them; where nothing is known of it, of the refund.
        is_listed: False where the properties of a charge were its one item.
        quantity: in millionths; below zero for what came back.
        worth: of what was sold: price times quantity in millionths of a major unit, and where it is
            not listed the amount of the charge in minor units.
        unpriced: lines that tell no price, so ``worth`` is without them.
    """

    bucket: datetime | None
    period: int
    sku: str | None
    variant_id: str | None
    provider: str
    currency: str | None
    is_listed: bool
    quantity: int
    amount: int
    lines_without_price: int


class LineItemReader(Protocol):
    """Items of orders, counted."""

    async def sum_line_items(self, query: LineItemQuery) -> Sequence[LineItemSum]:
        """Every kind of item that was sold or came back in the span, in any order."""
