"""Port for sums of line items."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service_core.analytics.ports import QueryScope
from service_core.kernel.time_ranges import Buckets


@dataclass(frozen=True, slots=True)
class LineItemQuery:
    """Which line items are summed, and by what. Filters of the scope are ignored.

    Sold items are booked with their order; returned items on the day of the return, or with
    `QueryScope.order_refunds` on that of the order.

    Attributes:
        scope: what is read.
        period_starts: ascending instants. Items sold before the first belong to period 0, from then on to
            period 1, and so on. Returned items belong to the period of their sale: that of the latest charge of
            the order not after the return, else that of the return.
        buckets: the series; None for one bucket.
    """

    scope: QueryScope
    period_starts: tuple[datetime, ...] = ()
    buckets: Buckets | None = None


@dataclass(frozen=True, slots=True)
class LineItemSum:
    """All line items of one kind that were sold or returned in one period.

    Attributes:
        bucket: start of the bucket; None without buckets.
        period: index of the cost period.
        sku, variant_id: ids of the item; both None if unknown.
        provider, currency: of the charge; of the refund if the charge is unknown.
        is_listed: False if the properties of a charge are its only item.
        quantity: in millionths; negative for returned items.
        amount: of sold items, price times quantity in millionths of a major unit; if not listed, the amount of
            the charge in minor units.
        lines_without_price: line items without a price, which ``amount`` omits.
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
    """Sums line items of orders."""

    async def sum_line_items(self, query: LineItemQuery) -> Sequence[LineItemSum]:
        """Returns every kind of item sold or returned in the span, in any order."""
