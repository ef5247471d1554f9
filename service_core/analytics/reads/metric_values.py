"""`POST /metrics`: metric values over one range, with a comparison."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.ports import EventReader
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.schemas import Compare, MetricsRequestBase, RefundBasis
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.query.unmeasured_platforms import (
    UnavailablePlatformMetric,
    list_unavailable_metric_per_platform_without_spend,
)
from service_core.analytics.rounding import round_decimal
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measured, Measurement, Unavailable, UnavailableReason
from service_core.kernel.comparison import ComparisonMode, comparison_range_cut_at_elapsed_time
from service_core.kernel.date_range import DateRange, RangeResponse, parse_inclusive_start_end_dates
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

_MAX_METRICS: Final = 50
_DECIMALS: Final = 6
_POINTS: Final = 100


class MetricsRequest(AsOfRequest, MetricsRequestBase):
    """Body of `POST /metrics`; exactly one form of the range is required."""

    start_date: str | None = None
    end_date: str | None = None
    date_range: DateRange | None = None
    compare: Compare = Field(default=False, description="`true`, a way to compare, or an explicit range.")

    async def resolve_exactly_one_range_form(
        self, caller: Caller, event_reader: EventReader
    ) -> ResolvedRange:
        """Returns the range of ``start_date`` and ``end_date``, or of ``date_range``.

        Raises:
            BadRequest: no range, both forms, or one that does not parse.
        """
        if self.date_range is None:
            return parse_inclusive_start_end_dates(
                self.start_date, self.end_date, caller.workspace.zone, caller.now
            )
        if self.start_date or self.end_date:
            raise BadRequest("Send either start_date and end_date, or date_range", "invalid_date_range")
        return await resolve_range_reading_first_event_for_all_time(self.date_range, caller, event_reader)


class MetricValue(ResponseModel):
    """One metric: its value, and its change."""

    id: str
    value: Annotated[float | int | None, LISTED_BY_OPERATION]
    previous_value: Annotated[float | int | None, LISTED_BY_OPERATION]
    change: Annotated[float | None, LISTED_BY_OPERATION]
    change_unit: str
    unit: MetricUnit
    available: bool
    unavailable_reason: UnavailableReason | None


class MetricValues(ResponseModel):
    """Metric values in the order of the request, one for each id, repeated ids included."""

    metrics: list[MetricValue]
    range: RangeResponse
    previous_range: RangeResponse | None
    attribution: AttributionSettings | None
    refund_basis: RefundBasis
    currency: str
    unavailable: list[UnavailablePlatformMetric | UnavailableMetric]
    complete: bool


@operation("POST /metrics", tag="query", tool="get_metrics", is_aggregate=True)
async def post_metrics(
    body: MetricsRequest,
    *,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    event_reader: EventReader,
) -> MetricValues:
    """Returns up to 50 metrics over one range, with the change from a comparison range.

    A metric that is not measured is null and listed in `unavailable`, never zero.
    """
    ids = body.unique_known_metric_ids(queries.catalog, _MAX_METRICS)
    date_range = await body.resolve_exactly_one_range_form(caller, event_reader)
    previous_range = await resolve_comparison_range(body.compare, date_range, caller, event_reader)
    rules = body.credit_rules_needed_by_metrics(queries.catalog, models, ids, caller.workspace)
    query = MetricQuery(
        ids,
        date_range,
        filters=(
            *body.parse_filters_accepted_by_metrics(queries.catalog, ids),
            *await queries.read_segment_filters(caller, body.segment_id, ids),
        ),
        credit_rule=rules.requested,
        default_credit_rule=rules.workspace_default,
        book_refunds_at_order=body.refund_basis == "order",
        include_bots=body.include_bots,
    )
    snapshot = await queries.read_source_states_once(caller, ids)
    values, previous_values, unmeasured = await gather_or_cancel(
        _read_metric_values(caller, queries, query, snapshot),
        _read_comparison_values_or_nones(caller, queries, query, previous_range, snapshot),
        queries.list_platforms_with_touches_but_no_spend(caller, query, snapshot),
    )
    value_by_id = {
        metric.id: build_metric_value_with_change(metric, value, previous, caller.workspace.currency)
        for metric, value, previous in zip(queries.metrics_by_id(ids), values, previous_values, strict=True)
    }
    return MetricValues(
        metrics=[value_by_id[id_] for id_ in body.metrics],
        range=RangeResponse.from_range(date_range),
        previous_range=RangeResponse.from_range(previous_range) if previous_range else None,
        attribution=rules.attribution,
        refund_basis=body.refund_basis,
        currency=caller.workspace.currency,
        unavailable=[
            *list_unavailable_with_reasons(ids, values, previous_values),
            *list_unavailable_metric_per_platform_without_spend(queries.catalog, ids, unmeasured),
        ],
        complete=not unmeasured
        and snapshot.is_complete_without_failed_source(
            date_range, ids, query.grouped_and_single_value_dimensions
        ),
    )


async def resolve_range_reading_first_event_for_all_time(
    requested_range: DateRange, caller: Caller, event_reader: EventReader, error_field: str = "date_range"
) -> ResolvedRange:
    """Returns a requested date range in the time zone of the caller's workspace.

    Reads the time of the first event only for ``all_time``.
    """
    bounds = (
        await event_reader.first_and_last_event_time(caller.workspace.id)
        if requested_range.is_all_time
        else None
    )
    return requested_range.resolve(
        caller.workspace.zone, caller.now, bounds[0] if bounds else None, error_field=error_field
    )


async def resolve_comparison_range(
    compare: Compare, date_range: ResolvedRange, caller: Caller, event_reader: EventReader
) -> ResolvedRange | None:
    """Returns the range to compare with, or None."""
    if not compare:
        return None
    if isinstance(compare, DateRange):
        return await resolve_range_reading_first_event_for_all_time(compare, caller, event_reader, "compare")
    return comparison_range_cut_at_elapsed_time(
        date_range, ComparisonMode.PREVIOUS_PERIOD if compare is True else ComparisonMode(compare)
    )


async def _read_metric_values(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot
) -> tuple[Measurement, ...]:
    return (await queries.execute_marking_unfit_credits_unavailable(caller, query, snapshot)).rows[0].values


async def _read_comparison_values_or_nones(
    caller: Caller,
    queries: MetricQueries,
    query: MetricQuery,
    comparison_range_or_none: ResolvedRange | None,
    snapshot: SourceSnapshot,
) -> tuple[Measurement, ...]:
    if comparison_range_or_none is None:
        return tuple(Measured(None) for _ in query.metrics)
    return await _read_metric_values(
        caller, queries, replace(query, range=comparison_range_or_none), snapshot
    )


def list_unavailable_with_reasons(
    metric_ids: Sequence[str], *rows: Sequence[Measurement]
) -> list[UnavailableMetric]:
    """Returns the metrics that are unavailable in a row, each once with each of its reasons.

    Args:
        metric_ids: ids of the metrics, or names of the fields that show them.
        rows: values in the order of the ids.
    """
    found = {
        (position, value.reason): None
        for row in rows
        for position, value in enumerate(row)
        if isinstance(value, Unavailable)
    }
    return [
        UnavailableMetric(metric=metric_ids[position], reason=reason)
        for position, reason in sorted(found, key=lambda item: item[0])
    ]


def build_metric_value_with_change(
    metric: Metric, measurement: Measurement, previous: Measurement, currency: str
) -> MetricValue:
    """Returns the value of a metric, the previous value, and the change between them."""
    reason = measurement.reason if isinstance(measurement, Unavailable) else None
    return MetricValue(
        id=metric.id,
        value=round_to_json_number_by_unit(measurement, metric, currency),
        previous_value=round_to_json_number_by_unit(previous, metric, currency),
        change=_relative_change_or_percentage_points(metric, measurement, previous),
        change_unit=metric.change_unit,
        unit=metric.unit,
        available=reason is None,
        unavailable_reason=reason,
    )


def _relative_change_or_percentage_points(
    metric: Metric, measurement: Measurement, previous: Measurement
) -> float | None:
    """Returns the relative change, or percentage points for a rate; None if it cannot be compared."""
    if isinstance(measurement, Unavailable) or isinstance(previous, Unavailable):
        return None
    if measurement.value is None or previous.value is None:
        return None
    difference = Fraction(measurement.value) - previous.value
    if metric.is_rate:
        return float(round_decimal(difference * _POINTS, _DECIMALS))
    return float(round_decimal(difference / previous.value, _DECIMALS)) if previous.value else None


OPERATIONS = (post_metrics,)
