"""`GET /traffic`, `/devices`, `/locations`: one metric by one grouping."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Final, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, Field

from service_core.access.models import Caller
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, SortKey
from service_core.analytics.query.result_values import as_counts
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.reads.countries import COUNTRIES
from service_core.analytics.rounding import round_decimal
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

_DIMENSIONS: Final = {
    "referrer": ("referrer_host",),
    "campaign": ("utm_campaign",),
    "page": ("page_path",),
    "browser": ("browser",),
    "os": ("os",),
    "device": ("device_type",),
    "country": ("country",),
    "region": ("region", "country"),
    "city": ("city", "country"),
}
_PERCENT_DECIMALS: Final = 2

CountedMetric = Literal["visitors", "sessions", "pageviews"]
DeviceGrouping = Annotated[
    Literal["browser", "os", "device"],
    BeforeValidator(lambda sent: "device" if sent == "device_type" else sent),
]


class BreakdownQuery(RowSelection, RangeQuery):
    """Parameters that all groupings share."""

    type: str
    metric: CountedMetric | None = Field(
        default=None, description="What `count` counts; default `visitors`, for pages `pageviews`."
    )
    limit: Annotated[int, Clamp(1, 100)] = Field(20, description="Rows; percentages cover all of them.")
    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply.")

    @property
    def counted_metric(self) -> CountedMetric:
        """The metric that `count` shows."""
        return self.metric or ("pageviews" if self.type == "page" else "visitors")


class TrafficQuery(BreakdownQuery):
    """Parameters of `GET /traffic`."""

    type: Literal["referrer", "campaign", "page"] = Field(default="referrer", description="Grouping.")


class DevicesQuery(BreakdownQuery):
    """Parameters of `GET /devices`."""

    type: DeviceGrouping = Field(default="browser", description="Grouping.")


class LocationsQuery(BreakdownQuery):
    """Parameters of `GET /locations`."""

    type: Literal["country", "region", "city"] = Field(default="country", description="Grouping.")


class CountRow(ResponseModel):
    """One value of the grouping."""

    name: str
    count: int
    percentage: float = Field(description="Of all rows, 0 to 100.")


class CountryRow(ResponseModel):
    """One country."""

    name: str
    code: str | None = Field(description="ISO 3166-1 alpha-2.")
    count: int
    percentage: float


class RegionOrCityRow(ResponseModel):
    """One region or city."""

    name: str
    country_code: str | None = Field(description="ISO 3166-1 alpha-2.")
    count: int
    percentage: float


RowT = TypeVar("RowT", bound=ResponseModel)


class Breakdown(ResponseModel, Generic[RowT]):
    """Counts by one grouping; ``total`` is the base of the percentages: all rows before ``limit``."""

    data: list[RowT]
    type: str
    metric: CountedMetric
    total: int
    range: RangeResponse
    complete: bool


class CountBreakdown(Breakdown[CountRow]):
    """Counts by one grouping; ``total`` is the base of the percentages: all rows before ``limit``."""


class LocationBreakdown(Breakdown[CountryRow | RegionOrCityRow]):
    """Counts by country, region or city; ``total`` is the base of the percentages: all rows before ``limit``."""


@operation("GET /traffic", tag="traffic", is_aggregate=True)
async def get_traffic(query: TrafficQuery, *, caller: Caller, queries: MetricQueries) -> CountBreakdown:
    """Returns visits by referrer, campaign or page."""
    return await _query_breakdown(CountBreakdown, _build_count_row, query, caller=caller, queries=queries)


@operation("GET /devices", tag="traffic", is_aggregate=True)
async def get_devices(query: DevicesQuery, *, caller: Caller, queries: MetricQueries) -> CountBreakdown:
    """Returns visits by browser, operating system or device type."""
    return await _query_breakdown(CountBreakdown, _build_count_row, query, caller=caller, queries=queries)


@operation("GET /locations", tag="traffic", is_aggregate=True)
async def get_locations(
    query: LocationsQuery, *, caller: Caller, queries: MetricQueries
) -> LocationBreakdown:
    """Returns visits by country, region or city."""
    build_row = _build_country_row if query.type == "country" else _build_region_or_city_row
    return await _query_breakdown(LocationBreakdown, build_row, query, caller=caller, queries=queries)


BreakdownT = TypeVar("BreakdownT", bound=Breakdown[Any])


async def _query_breakdown(
    response_model: type[BreakdownT],
    build_row: Callable[[tuple[str, ...], int, float], ResponseModel],
    query: BreakdownQuery,
    *,
    caller: Caller,
    queries: MetricQueries,
) -> BreakdownT:
    """Returns the rows of a breakdown.

    Args:
        response_model: the breakdown with the type of its rows.
        build_row: builds a row from the labels of the dimensions, the count, and the percentage of all rows.
        query: grouping, metric, range and limit.
        caller: the caller, whose workspace is read.
        queries: executes the metric query.
    """
    date_range = query.resolve_range_or_default(caller)
    segment = await queries.read_segment_filters(caller, query.segment_id, (query.counted_metric,))
    snapshot = await queries.read_source_states_once(caller, (query.counted_metric,))
    result = await queries.execute_marking_unfit_credits_unavailable(
        caller, _build_query_by_count_descending(query, date_range, segment), snapshot
    )
    total = int(result.totals[0] or 0)
    counts = [(row.labels, as_counts(row)[0]) for row in result.rows]
    return response_model(
        data=[build_row(labels, count, compute_percentage(count, total)) for labels, count in counts],
        type=query.type,
        metric=query.counted_metric,
        total=total,
        range=RangeResponse.from_range(date_range),
        complete=snapshot.is_complete_without_failed_source(date_range, (query.counted_metric,)),
    )


def _build_query_by_count_descending(
    query: BreakdownQuery, date_range: ResolvedRange, filters: tuple[DimensionFilter, ...]
) -> MetricQuery:
    dimensions = _DIMENSIONS[query.type]
    by_label = tuple(SortKey(dimension, descending=False) for dimension in dimensions)
    return MetricQuery(
        (query.counted_metric,),
        date_range,
        dimensions=dimensions,
        filters=filters,
        order=(SortKey(query.counted_metric), *by_label),
        limit=query.limit,
        include_bots=query.include_bots,
    )


def compute_percentage(count: int, base: int) -> float:
    """Returns a share of the base, 0 to 100 with 2 decimals."""
    return float(round_decimal(Fraction(100 * count, base), _PERCENT_DECIMALS)) if base else 0.0


def _build_count_row(labels: tuple[str, ...], count: int, percentage: float) -> CountRow:
    return CountRow(name=labels[0], count=count, percentage=percentage)


def _build_country_row(labels: tuple[str, ...], count: int, percentage: float) -> CountryRow:
    code = _country_code_of(labels[0])
    return CountryRow(name=COUNTRIES.get(labels[0], labels[0]), code=code, count=count, percentage=percentage)


def _build_region_or_city_row(labels: tuple[str, ...], count: int, percentage: float) -> RegionOrCityRow:
    return RegionOrCityRow(
        name=labels[0], country_code=_country_code_of(labels[1]), count=count, percentage=percentage
    )


def _country_code_of(label: str) -> str | None:
    return label if label in COUNTRIES else None


OPERATIONS = (get_traffic, get_devices, get_locations)
