"""Response models of `GET /revenue`."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.query.schemas import RefundBasis
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.schemas import ResponseModel


class RevenueMetrics(ResponseModel):
    """Money in major units of the workspace's currency; null is what is not known."""

    revenue: float | None
    orders: int | None
    aov: float | None
    subscriptions: int | None = Field(description="New ones in the range.")
    refunds: float | None = Field(description="A positive amount.")
    refund_count: int | None
    net_revenue: float | None


class RevenueRow(RevenueMetrics):
    """What one provider reported, without orders that another one reports better."""

    platform: str = Field(description="Id of the provider; `tracked` stands for tracked events.")
    currency: str
    status: ConnectionStatus
    last_synced_at: datetime | None


class RevenueResponse(ResponseModel):
    """Revenue by provider, most first, and of all together: an order that several report counts once."""

    platforms: Annotated[list[RevenueRow], LISTED_BY_OPERATION]
    combined: Annotated[RevenueMetrics, LISTED_BY_OPERATION] = Field(
        description="Values of the metrics of these names."
    )
    refund_basis: RefundBasis
    currency: str
    timezone: str
    unavailable: list[UnavailableMetric]
    range: RangeResponse
    complete: bool
