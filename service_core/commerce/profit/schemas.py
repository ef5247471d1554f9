"""Query parameters and response models of `GET /commerce-metrics`."""

from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.query.schemas import RefundBasis
from service_core.analytics.query.unmeasured_platforms import UnavailablePlatformMetric
from service_core.analytics.range_query import RangeQuery
from service_core.kernel.date_range import DATES_REQUIRED_MESSAGE
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import KNOWN_NULL, LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.kernel.timestamps import parse_span_of_date_or_timestamp

MAX_RANGE: Final = timedelta(days=366)
_DATE_FIELDS: Final = ("start_date", "end_date")


class CommerceMetricsQuery(RangeQuery):
    """Parameters of `GET /commerce-metrics`; both ends lie on an hour of UTC."""

    start_date: str | None = Field(
        default=None, description="Start, inclusive: an ISO 8601 instant on an exact UTC hour."
    )
    end_date: str | None = Field(
        default=None,
        description="End, exclusive: an ISO 8601 instant on an exact UTC hour, not in the future and at most "
        "366 days after the start.",
    )
    refund_basis: RefundBasis = Field(
        "refund", description="Book a refund on its own day or on that of its order."
    )

    def resolve_range_or_default(self, caller: Caller) -> ResolvedRange:
        """The range, half-open as it is sent; a date stands for the midnight it begins with.

        Raises:
            BadRequest: ``missing_range``, ``invalid_date``, ``range_inverted``, ``not_hour_aligned``,
                ``end_in_future`` or ``range_too_long``.
        """
        start, end = self._parse_required_dates(caller)
        if start >= end:
            raise BadRequest("end_date must lie after start_date", "range_inverted", field="end_date")
        for name, instant in zip(_DATE_FIELDS, (start, end), strict=True):
            if instant != instant.replace(minute=0, second=0, microsecond=0):
                raise BadRequest(f"{name} must lie on an exact UTC hour", "not_hour_aligned", field=name)
        if end > caller.now:
            raise BadRequest("end_date must not lie in the future", "end_in_future", field="end_date")
        if end - start > MAX_RANGE:
            raise BadRequest("The range may cover 366 days", "range_too_long", field="end_date")
        return ResolvedRange(TimeRange(start, end), caller.workspace.zone, caller.now)

    def _parse_required_dates(self, caller: Caller) -> list[datetime]:
        sent = dict(zip(_DATE_FIELDS, (self.start_date, self.end_date), strict=True))
        missing = next((name for name, text in sent.items() if not text), None)
        if missing is not None:
            raise BadRequest(DATES_REQUIRED_MESSAGE, "missing_range", field=missing)
        read = {
            name: parse_span_of_date_or_timestamp(text or "", caller.workspace.zone)
            for name, text in sent.items()
        }
        invalid = next((name for name, span in read.items() if span is None), None)
        if invalid is not None:
            raise BadRequest(DATES_REQUIRED_MESSAGE, "invalid_date", field=invalid)
        return [span.start for span in read.values() if span is not None]


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
    covered_revenue_share: Annotated[float | None, KNOWN_NULL] = Field(
        description="How much of what was sold, by its price before discounts, has a unit cost; null where nobody "
        "knows, without any cost and where nothing was sold."
    )


class Completeness(ResponseModel):
    """Completeness of the parts of the answer."""

    complete: bool = Field(description="Whether all parts are.")
    revenue: RevenueCompleteness
    spend: SpendCompleteness
    costs: CostsCompleteness


_Ratio = Annotated[float | None, LISTED_BY_OPERATION]
_Money = Annotated[float | None, LISTED_BY_OPERATION]
_Count = Annotated[int | None, LISTED_BY_OPERATION]


class CommerceMetrics(ResponseModel):
    """Revenue, what it cost, and what is left; money in major units, null is what is not known."""

    start_date: datetime
    end_date: datetime = Field(description="Exclusive.")
    timezone: str
    currency: str
    gross_revenue: _Money
    discounts: _Money
    revenue: _Money
    refunds: _Money = Field(description="A positive amount.")
    net_revenue: _Money
    shipping: _Money
    taxes: _Money
    fees: _Money
    orders: _Count
    aov: _Money
    new_customers: _Count
    spend: _Money = Field(description="The metric `ad_spend`.")
    cogs: _Money
    shipping_costs: _Money
    profit: _Money
    margin: _Ratio
    roas: _Ratio
    platform_roas: _Ratio = Field(description="Null with several platforms: each claims for itself.")
    mer: _Ratio
    cac: _Money
    attribution: AttributionSettings = Field(
        description="The workspace's default, by which `roas` is credited."
    )
    refund_basis: RefundBasis
    unavailable: list[UnavailablePlatformMetric | UnavailableMetric] = Field(
        description="The fields that are null, each with its reason, and the fields from which the paid touches of a "
        "`platform` are left out, since its spend is unknown."
    )
    completeness: Completeness
