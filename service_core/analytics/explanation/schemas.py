"""Request and response of `POST /explain-change`."""

from datetime import date, datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from service_core.analytics.attribution.models import AttributionRequest, AttributionSettings
from service_core.analytics.explanation.contributions import Kind
from service_core.analytics.explanation.coverage import CoverageReason
from service_core.analytics.query.catalog import MetricUnit
from service_core.analytics.query.schemas import Compare, FilterBody, MetricsRequestBase, RefundBasis
from service_core.analytics.query.unmeasured_platforms import UnavailablePlatformMetric
from service_core.analytics.reads.query.schemas import QueryRequest
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.date_range import DateRange, RangeResponse
from service_core.kernel.null_reasons import KNOWN_NULL, LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.schemas import BodyModel, Clamp, ResponseModel

MAX_DIMENSIONS: Final = 50


class ExplainChangeRequest(AsOfRequest, BodyModel):
    """Body of `POST /explain-change`."""

    metric: str = Field(description="Id of the catalog.")
    date_range: DateRange
    compare: Compare = "previous_period"
    filters: list[FilterBody] = Field(default=[], description="Joined by AND, at most 10.")
    segment_id: UUID | None = Field(
        default=None, description=MetricsRequestBase.model_fields["segment_id"].description
    )
    dimensions: list[str] = Field(default=[], description="Default: all that the metric accepts.")
    limit: Annotated[int, Clamp(1, 50)] = Field(default=10, description="Drivers of each dimension.")
    attribution: AttributionRequest | None = None
    refund_basis: RefundBasis = "refund"
    include_bots: bool = False

    def to_query_request(self) -> QueryRequest:
        """Returns the query of the metric."""
        return QueryRequest.model_validate(
            {
                "metrics": [self.metric],
                "date_range": self.date_range,
                "filters": self.filters,
                "attribution": self.attribution,
                "refund_basis": self.refund_basis,
                "include_bots": self.include_bots,
            }
        )


class Driver(ResponseModel):
    """What one group adds to the change. Contributions of one dimension add up to the change."""

    dimension: str
    value: str = Field(
        description="`(other)` is the sum of smaller contributions, `(several groups)` what counts in several groups."
    )
    from_: Annotated[float | int | None, KNOWN_NULL] = Field(serialization_alias="from")
    to: Annotated[float | int | None, KNOWN_NULL]
    contribution: float | int
    kind: Kind


class RateAndMix(ResponseModel):
    """How much of the change of a ratio comes from ratios inside of groups, and how much from the shares of groups."""

    dimension: str
    rate: float
    mix: float


class Anomaly(ResponseModel):
    """A day whose value lies outside the range expected from the same weekday of the 8 weeks before."""

    bucket: datetime
    date: date
    metric: str
    value: float | int
    expected_low: float
    expected_high: float


class CoverageGap(ResponseModel):
    """A day on which data is missing."""

    date: date
    reason: CoverageReason


class ChangeExplanation(ResponseModel):
    """The change of a metric, what drives it, unusual days, and gaps in the data."""

    metric: str
    unit: MetricUnit
    change_unit: Literal["value"] = Field(
        default="value", description="`change` and contributions are in the unit of the metric."
    )
    from_: Annotated[float | int | None, LISTED_BY_OPERATION] = Field(serialization_alias="from")
    to: Annotated[float | int | None, LISTED_BY_OPERATION]
    change: Annotated[float | int | None, LISTED_BY_OPERATION]
    drivers: list[Driver]
    rate_and_mix: Annotated[list[RateAndMix] | None, KNOWN_NULL] = Field(
        description="Null unless it is a ratio."
    )
    anomalies: list[Anomaly]
    coverage: list[CoverageGap]
    attribution: Annotated[AttributionSettings | None, KNOWN_NULL]
    currency: str
    unavailable: list[UnavailablePlatformMetric | UnavailableMetric]
    range: RangeResponse
    previous_range: RangeResponse
    complete: bool
