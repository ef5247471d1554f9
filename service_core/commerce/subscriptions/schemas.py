"""Response models of `GET /subscriptions`."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from service_core.commerce.subscriptions.models import SubscriptionStatus
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import (
    LISTED_BY_OPERATION,
    NOT_REPORTED,
    NULL_FIELD_REASONS,
    ListsNullReasons,
    UnavailableMetric,
)
from service_core.kernel.schemas import ResponseModel


class MrrMovements(ResponseModel):
    """Monthly recurring revenue at the start and end, and the movements between; they add up exactly."""

    start_mrr: float | None
    new: float | None
    expansion: float | None
    contraction: float | None = Field(description="At or below zero.")
    churn: float | None = Field(description="At or below zero.")
    reactivation: float | None
    fx: float | None = Field(description="What changed rates did.")
    end_mrr: float | None


class SubscriptionSummary(ResponseModel):
    """Subscriptions at the end of the range, and how they came there. Null is not known."""

    active: int | None = Field(description="Paid, and canceled ones until their last paid period ends.")
    trialing: int | None
    past_due: int | None
    mrr: float | None
    arr: float | None
    new: int | None
    canceled: int | None = Field(description="Those that churned in the range.")
    churn_rate: float | None
    trial_conversion_rate: float | None
    movements: MrrMovements


class SubscriptionRow(ResponseModel):
    """A subscription as it stood at the end of the range, in its own currency."""

    id: str = Field(description="As the provider calls it.")
    provider: str
    status: SubscriptionStatus
    plan: str | None
    product_id: str | None
    amount: Annotated[float | None, NOT_REPORTED] = Field(
        description="What an interval costs, for the whole quantity."
    )
    currency: str | None
    interval: str | None = Field(description="Such as `month`, or `6 months`.")
    mrr: Annotated[float | None, NOT_REPORTED] = Field(
        description="Null while no price was named; 0 when it does not recur."
    )
    started_at: datetime | None
    trial_ends_at: datetime | None
    current_period_end: datetime | None
    cancel_at_period_end: bool
    canceled_at: datetime | None
    user_id: str | None
    attribution_source: str | None = Field(description="Of the person's first touch.")
    utm_campaign: str | None = Field(description="Of the person's first touch.")


class SubscriptionsResponse(ListsNullReasons):
    """A page of subscriptions, newest start first, with what all of them come to."""

    summary: Annotated[SubscriptionSummary, LISTED_BY_OPERATION]
    subscriptions: list[SubscriptionRow]
    next_cursor: str | None
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool
