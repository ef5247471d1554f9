"""Requests and responses of experiments."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.range_query import RangeQuery, resolve_last_30_days
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import (
    KNOWN_NULL,
    NULL_FIELD_REASONS,
    WITHOUT_RATE,
    ListsNullReasons,
    NullReason,
    UnavailableMetric,
)
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

Conclusion = Literal["better", "worse", "no_difference_shown"]
_OF_KNOWN_MONEY = NullReason(UnavailableReason.MISSING_FX_RATE, computed_from=("revenue",))


class ExposureQuery(RowSelection, RangeQuery):
    """Parameters that say which events expose persons to an experiment; the default range is the last 30 days."""

    required_params: ClassVar[tuple[str, ...]] = ()
    exposure_event: str = Field("experiment_viewed", description="Event that exposes a person to a variant.")
    experiment_property: str = Field("experiment_id", description="Property that names the experiment.")

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the last 30 local days."""
        return resolve_last_30_days(caller)

    @property
    def exposure_names(self) -> frozenset[str]:
        """The exposure event and its synonyms."""
        return list_event_synonyms(self.exposure_event)


class ExperimentQuery(ExposureQuery):
    """Parameters of `GET /experiments/results`. The range is that of exposures."""

    required_params: ClassVar[tuple[str, ...]] = ("experiment",)
    experiment: str = Field(default="", description="Value of the property that names the experiment.")
    variant_property: str = Field("variant", description="Property that names the variant.")
    control: str | None = Field(
        default=None, description="Variant to compare with; by default `control`, else the first by name."
    )
    goal: str | None = Field(
        default=None, description="Event that converts; by default the conversions of the workspace."
    )
    window_days: Annotated[int, Clamp(1, 90)] = Field(
        14, description="Days from the first exposure in which conversions and money count."
    )
    confidence: Literal["0.9", "0.95", "0.99"] = Field("0.95", description="Level of the intervals.")


class ExperimentSummary(ResponseModel):
    """An experiment that persons were exposed to."""

    experiment: str
    persons: int


class ExperimentList(ResponseModel):
    """Experiments of a range, most persons first."""

    experiments: list[ExperimentSummary]
    range: RangeResponse
    complete: bool


class RateDifference(ResponseModel):
    """The conversion rate of a variant minus that of the control."""

    difference: Decimal
    low: Decimal
    high: Decimal
    smallest_detectable_difference: Annotated[Decimal | None, KNOWN_NULL]
    conclusion: Conclusion


class RevenueDifference(ResponseModel):
    """The revenue per person of a variant minus that of the control; no interval with fewer than 30 persons."""

    difference: Decimal
    low: Annotated[Decimal | None, KNOWN_NULL]
    high: Annotated[Decimal | None, KNOWN_NULL]
    smallest_detectable_difference: Annotated[Decimal | None, KNOWN_NULL]
    conclusion: Conclusion | None


class ExperimentVariant(ResponseModel):
    """Persons of a variant, and what they did within their windows."""

    variant: str
    is_control: bool
    persons: int
    open: int = Field(description="Persons whose window has not ended; they may still convert.")
    converted: int = Field(description="Persons who converted.")
    conversions: int
    conversion_rate: Annotated[Decimal | None, KNOWN_NULL]
    conversion_rate_low: Annotated[Decimal | None, KNOWN_NULL]
    conversion_rate_high: Annotated[Decimal | None, KNOWN_NULL]
    revenue: Annotated[Decimal | None, WITHOUT_RATE]
    revenue_per_person: Annotated[Decimal | None, _OF_KNOWN_MONEY]
    revenue_per_person_low: Annotated[Decimal | None, _OF_KNOWN_MONEY]
    revenue_per_person_high: Annotated[Decimal | None, _OF_KNOWN_MONEY]
    conversion_rate_difference: RateDifference | None = Field(description="Null for the control.")
    revenue_difference: RevenueDifference | None = Field(
        description="Null for the control, and where money is unknown."
    )


class ExcludedPerson(ResponseModel):
    """A person who was exposed to several variants."""

    user_id: str | None
    visitor_id: str


class ExperimentResults(ListsNullReasons):
    """The outcome of an experiment by variant, the control first."""

    experiment: str
    goal: str | None
    variants: list[ExperimentVariant]
    excluded_persons: int = Field(
        description="Persons exposed to several variants; no variant includes them."
    )
    excluded: list[ExcludedPerson] = Field(description="The first 20 of them.")
    window_days: int
    confidence: str
    power: Decimal
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool
