"""Response models of `GET /ads`."""

from datetime import date, datetime

from pydantic import Field

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.reads.metric_values import UnavailableMetric
from service_core.commerce.ads.models import AdLevel
from service_core.kernel.schemas import ResponseModel


class AdMetrics(ResponseModel):
    """What spend bought. Null is not known, or a quotient of nothing; conversions are the platform's claims."""

    spend: float | None
    impressions: int | None
    clicks: int | None
    ctr: float | None
    cpc: float | None
    cpm: float | None
    conversions: float | int | None
    conversion_value: float | None
    cpa: float | None
    roas: float | None


class AdRow(AdMetrics):
    """A campaign, group or ad, in the currency of its account."""

    platform: str
    account_id: str
    account_name: str | None
    level: AdLevel
    id: str
    name: str | None
    status: str | None
    campaign_id: str
    campaign_name: str | None
    group_id: str | None
    group_name: str | None
    ad_id: str | None
    ad_name: str | None
    currency: str
    reach: int | None = Field(description="Null over several days of delivery: people of days do not add up.")


class AdAccountStatus(ResponseModel):
    """An account of a connected platform, and how its connection stands."""

    platform: str
    account_id: str | None = Field(description="Null while the platform has not named any account.")
    account_name: str | None
    status: ConnectionStatus
    currency: str | None
    timezone: str | None = Field(
        description="Zone its days are in; they are matched to workspace days by date."
    )
    last_synced_at: datetime | None
    error: str | None


class AdsResponse(ResponseModel):
    """Rows by spend, totals over all of them in the currency of the workspace."""

    ads: list[AdRow]
    level: AdLevel
    platform: str | None
    date_from: date
    date_through: date
    timezone: str
    currency: str
    totals: AdMetrics
    totals_unavailable: list[UnavailableMetric]
    platforms: list[AdAccountStatus]
    truncated: bool
    complete: bool
