"""Response models of `GET /commerce-metrics`."""

from datetime import datetime

from pydantic import Field

from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.query.schemas import RefundBasis
from service_core.kernel.schemas import ResponseModel


class RevenueCompleteness(ResponseModel):
    """Whether revenue is known to the end of the range."""

    complete: bool
    through: datetime = Field(description="Up to when it is known, at most the end of the range.")


class PlatformCompleteness(ResponseModel):
    """Whether the spend of one ad platform is known to the end of the range."""

    platform: str
    complete: bool
    through: datetime = Field(description="Up to when it was read, at most the end of the range.")


class SpendCompleteness(ResponseModel):
    """Whether spend is known to the end of the range."""

    complete: bool
    through: datetime | None = Field(
        description="That of the platform that was read least far; null without one."
    )
    platforms: list[PlatformCompleteness]


class CostsCompleteness(ResponseModel):
    """Whether everything sold has a cost."""

    complete: bool
    covered_revenue_share: float | None = Field(
        description="How much of what was sold, by its price before discounts, has a unit cost; null where nobody "
        "knows, without any cost and where nothing was sold."
    )


class Completeness(ResponseModel):
    """What of the answer is the whole truth."""

    complete: bool = Field(description="Whether all parts are.")
    revenue: RevenueCompleteness
    spend: SpendCompleteness
    costs: CostsCompleteness


class CommerceMetrics(ResponseModel):
    """Revenue, what it cost, and what is left; money in major units, null is what is not known."""

    start_date: datetime
    end_date: datetime = Field(description="Exclusive.")
    timezone: str
    currency: str
    gross_revenue: float | None
    discounts: float | None
    revenue: float | None
    refunds: float | None = Field(description="A positive amount.")
    net_revenue: float | None
    shipping: float | None
    taxes: float | None
    fees: float | None
    orders: int | None
    aov: float | None
    new_customers: int | None
    spend: float | None = Field(description="The metric `ad_spend`.")
    cogs: float | None
    shipping_costs: float | None
    profit: float | None
    margin: float | None
    roas: float | None
    platform_roas: float | None = Field(description="Null with several platforms: each claims for itself.")
    mer: float | None
    cac: float | None
    attribution: AttributionSettings = Field(
        description="The workspace's default, by which `roas` is credited."
    )
    refund_basis: RefundBasis
    completeness: Completeness
