"""`POST /explain-change`: why a metric changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.explanation.contributions import (
    Contribution,
    GroupValue,
    attribute_change_to_groups,
    keep_largest_and_sum_rest,
    round_contributions_to_sum,
)
from service_core.analytics.explanation.coverage import find_days_with_missing_events
from service_core.analytics.explanation.group_values import GroupValueReader, ValueUnavailable
from service_core.analytics.explanation.schemas import (
    MAX_DIMENSIONS,
    Anomaly,
    ChangeExplanation,
    CoverageGap,
    Driver,
    ExplainChangeRequest,
    RateAndMix,
)
from service_core.analytics.explanation.unusual_days import WEEKS_COMPARED, find_days_outside_expected_range
from service_core.analytics.measures import Ratio
from service_core.analytics.ports import EventReader
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery, ResultRow
from service_core.analytics.query.schemas import require_dimensions_accepted_by_metrics
from service_core.analytics.query.unmeasured_platforms import (
    list_unavailable_metric_per_platform_without_spend,
)
from service_core.analytics.reads.metric_values import (
    list_unavailable_with_reasons,
    resolve_comparison_range,
    resolve_range_reading_first_event_for_all_time,
)
from service_core.ingestion.ledger import start_of_hour
from service_core.ingestion.ports import IngestQueue
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measured, Measurement, Unavailable
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import UnavailableMetric
from service_core.kernel.operations import operation
from service_core.kernel.time_ranges import BucketUnit, ResolvedRange, TimeRange
from service_core.kernel.wall_clock import local_date

_MAX_JUDGED_DAYS: Final = 366
_CURRENCY_UNITS: Final = (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT)
_UNITS_PER_ONE: Final = {MetricUnit.CURRENCY: 1, MetricUnit.CURRENCY_PER_UNIT: 1, MetricUnit.SECONDS: 1000}
"""How finely contributions are rounded: money is in minor units already."""

_DEFAULT_UNITS_PER_ONE: Final = 1_000_000
_DIMENSIONS_READ_AT_ONCE: Final = 8
"""All groups of these are in memory at a time."""


@operation(
    "POST /explain-change",
    tag="query",
    tool="explain_change",
    tool_title="Explain a change",
    is_aggregate=True,
)
async def post_explain_change(
    body: ExplainChangeRequest,
    *,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    event_reader: EventReader,
    queue: IngestQueue,
) -> ChangeExplanation:
    """Explains why a metric changed between two ranges: which groups of each dimension drive it.

    Contributions of a dimension add up to the change. `anomalies` are unusual days, `coverage` days with missing data.
    """
    date_range = await resolve_range_reading_first_event_for_all_time(body.date_range, caller, event_reader)
    previous_range = await resolve_comparison_range(body.compare, date_range, caller, event_reader)
    if previous_range is None:
        raise BadRequest("compare names no range", "invalid_parameter", field="compare")
    query, attribution = body.to_query_request().validate_and_build_metric_query(
        queries, models, date_range, caller.workspace
    )
    dimensions = _requested_or_all_dimensions(body, queries)
    segment = await queries.read_segment_filters(caller, body.segment_id, query.metrics)
    query = replace(query, filters=(*query.filters, *segment))
    reader = await GroupValueReader.open_for_first_metric(caller, queries, query)
    explainer = _ChangeExplainer(reader, date_range, previous_range, body.limit)
    totals = await gather_or_cancel(reader.read_total_row(previous_range), reader.read_total_row(date_range))
    before, after = (row.values[0] for row in totals)
    drivers = await explainer.explain_by_dimensions(dimensions, totals)
    anomalies = await _find_unusual_days_of_range_up_to_366_days(reader, date_range, event_reader)
    unmeasured = await queries.list_platforms_with_touches_but_no_spend(caller, query, reader.snapshot)
    coverage = [
        *await _find_coverage_gaps(caller, queue, (previous_range, date_range)),
        *_gap_from_day_source_is_behind(reader),
    ]
    return ChangeExplanation(
        metric=reader.metric.id,
        unit=reader.metric.unit,
        from_=explainer.to_json(before),
        to=explainer.to_json(after),
        change=explainer.change_as_json(before, after),
        drivers=[driver for each in drivers for driver in each.drivers],
        rate_and_mix=[each.rate_and_mix for each in drivers if each.rate_and_mix]
        if isinstance(reader.metric.measure, Ratio)
        else None,
        anomalies=anomalies,
        coverage=coverage,
        attribution=attribution,
        currency=caller.workspace.currency,
        unavailable=[
            *_list_unavailable_of_totals_and_drivers(reader.metric, before, after, drivers),
            *list_unavailable_metric_per_platform_without_spend(
                queries.catalog, (reader.metric.id,), unmeasured
            ),
        ],
        range=RangeResponse.from_range(date_range),
        previous_range=RangeResponse.from_range(previous_range),
        complete=not unmeasured
        and reader.snapshot.is_complete_without_failed_source(
            date_range, reader.query.metrics, query.grouped_and_single_value_dimensions
        ),
    )


def _requested_or_all_dimensions(body: ExplainChangeRequest, queries: MetricQueries) -> tuple[str, ...]:
    if len(body.dimensions) > MAX_DIMENSIONS:
        raise BadRequest(f"At most {MAX_DIMENSIONS} dimensions", "too_many_dimensions", field="dimensions")
    require_dimensions_accepted_by_metrics(queries.catalog, (body.metric,), body.dimensions, "dimensions")
    return tuple(dict.fromkeys(body.dimensions)) or queries.catalog.metrics[body.metric].dimensions


@dataclass(frozen=True, slots=True)
class DimensionDrivers:
    """What the groups of one dimension add to a change; a group that is not measured makes it unavailable."""

    drivers: Sequence[Driver] = ()
    rate_and_mix: RateAndMix | None = None
    unavailable: Unavailable | None = None


@dataclass(frozen=True, slots=True)
class _ChangeExplainer:
    """Splits the change of a metric between two ranges."""

    reader: GroupValueReader
    date_range: ResolvedRange
    previous_range: ResolvedRange
    limit: int

    @property
    def _metric(self) -> Metric:
        return self.reader.metric

    @property
    def _units_per_one(self) -> int:
        return _UNITS_PER_ONE.get(self._metric.unit, _DEFAULT_UNITS_PER_ONE)

    def to_json(self, value: Measurement) -> float | None:
        """Returns the number that an answer shows."""
        return round_to_json_number_by_unit(value, self._metric, self.reader.caller.workspace.currency)

    def change_as_json(self, before: Measurement, after: Measurement) -> float | None:
        """Returns the difference of the rounded values; None if one is unknown."""
        units = self._change_in_units(before, after)
        return None if units is None else self._units_as_json(Fraction(units))

    async def explain_by_dimensions(
        self, dimensions: Sequence[str], total_rows: Sequence[ResultRow]
    ) -> Sequence[DimensionDrivers]:
        """Returns the drivers of each dimension, read 8 at a time; none if the change is unknown or there is none."""
        before, after = total_rows
        units = self._change_in_units(before.values[0], after.values[0])
        if units is None:
            return ()
        totals = [self.reader.to_group_value(row) for row in total_rows]
        drivers: list[DimensionDrivers] = []
        for first in range(0, len(dimensions), _DIMENSIONS_READ_AT_ONCE):
            batch = dimensions[first : first + _DIMENSIONS_READ_AT_ONCE]
            drivers += await gather_or_cancel(
                *(self._explain_by_dimension(id_, totals, units) for id_ in batch)
            )
        return drivers

    async def _explain_by_dimension(
        self, dimension: str, totals: Sequence[GroupValue], change_units: int
    ) -> DimensionDrivers:
        try:
            before, after = await gather_or_cancel(
                self.reader.read_value_by_label(self.previous_range, dimension),
                self.reader.read_value_by_label(self.date_range, dimension),
            )
        except ValueUnavailable as unavailable:
            return DimensionDrivers(unavailable=unavailable.value)
        contributions = attribute_change_to_groups(before, after, *totals)
        rounded = round_contributions_to_sum(
            keep_largest_and_sum_rest(contributions, self.limit), change_units, self._units_per_one
        )
        return DimensionDrivers(
            [self._build_driver(dimension, each) for each in rounded if each.amount],
            self._rate_and_mix_if_ratio(dimension, contributions, change_units),
        )

    def _rate_and_mix_if_ratio(
        self, dimension: str, contributions: Sequence[Contribution], change_units: int
    ) -> RateAndMix | None:
        if not isinstance(self._metric.measure, Ratio):
            return None
        rate = round(sum((each.rate for each in contributions), Fraction(0)) * self._units_per_one)
        rate_json, mix_json = (self._units_as_json(Fraction(part)) for part in (rate, change_units - rate))
        return RateAndMix(dimension=dimension, rate=rate_json, mix=mix_json)

    def _build_driver(self, dimension: str, contribution: Contribution) -> Driver:
        return Driver(
            dimension=dimension,
            value=contribution.label,
            from_=self.to_json(Measured(contribution.before)),
            to=self.to_json(Measured(contribution.after)),
            contribution=self._units_as_json(contribution.amount),
            kind=contribution.kind,
        )

    def _change_in_units(self, before: Measurement, after: Measurement) -> int | None:
        numbers = [_number(value) for value in (before, after)]
        first, last = (None if number is None else round(number * self._units_per_one) for number in numbers)
        return None if first is None or last is None else last - first

    def _units_as_json(self, units: Fraction) -> float:
        value = self.to_json(Measured(units / self._units_per_one))
        return 0 if value is None else value


def _number(value: Measurement) -> Fraction | None:
    return Fraction(value.value) if isinstance(value, Measured) and value.value is not None else None


def _list_unavailable_of_totals_and_drivers(
    metric: Metric, before: Measurement, after: Measurement, drivers: Sequence[DimensionDrivers]
) -> list[UnavailableMetric]:
    found: list[list[Measurement]] = [[before], [after]]
    found += [[each.unavailable] for each in drivers if each.unavailable]
    return list_unavailable_with_reasons((metric.id,), *found)


async def _find_unusual_days_of_range_up_to_366_days(
    reader: GroupValueReader, date_range: ResolvedRange, event_reader: EventReader
) -> list[Anomaly]:
    """Returns the unusual days of a range that are over; none over more than 366 days."""
    bounds = await event_reader.first_and_last_event_time(reader.caller.workspace.id)
    days = (date_range.last_day - date_range.first_day).days + 1
    if bounds is None or days > _MAX_JUDGED_DAYS:
        return []
    zone, metric = date_range.zone, reader.metric
    earliest = date_range.span.start - timedelta(weeks=WEEKS_COMPARED, days=1)
    series = buckets_covering(TimeRange(earliest, date_range.span.end), BucketUnit.DAY, zone)
    first_whole_day = local_date(bounds[0], zone) + timedelta(days=1)
    query: MetricQuery = replace(
        reader.query,
        metrics=(metric.id,),
        range=ResolvedRange(TimeRange(series.starts[0], series.end), zone, date_range.now),
        buckets=series,
    )
    result = await reader.queries.execute_marking_unfit_credits_unavailable(
        reader.caller, query, reader.snapshot
    )
    values = {
        local_date(row.bucket, zone): float(number)
        for row in result.rows
        if row.bucket is not None and (number := _number(row.values[0])) is not None
    }
    starts = {
        local_date(start, zone): start
        for start, end in pairwise((*series.starts, series.end))
        if start >= date_range.span.start and end <= min(date_range.span.end, date_range.now)
    }
    known: dict[date, float | None] = {day: value for day, value in values.items() if day >= first_whole_day}
    currency = reader.caller.workspace.currency

    def as_json(value: float) -> float:
        number = round_to_json_number_by_unit(Measured(Fraction(value)), metric, currency)
        return 0 if number is None else number

    return [
        Anomaly(
            bucket=starts[unusual.day],
            date=unusual.day,
            metric=metric.id,
            value=as_json(unusual.value),
            expected_low=as_json(unusual.expected.low),
            expected_high=as_json(unusual.expected.high),
        )
        for unusual in find_days_outside_expected_range(
            known, sorted(starts), is_count=metric.unit is MetricUnit.COUNT
        )
    ]


async def _find_coverage_gaps(
    caller: Caller, queue: IngestQueue, ranges: Sequence[ResolvedRange]
) -> list[CoverageGap]:
    """Returns the days of some ranges on which events were missing."""
    start = min(each.span.start for each in ranges)
    end = min(max(each.span.end for each in ranges), caller.now)
    rows = await queue.ledger_rows(caller.workspace.id, start_of_hour(start), end)
    found = find_days_with_missing_events(rows, start_of_hour(end), ranges[0].zone)
    return [
        CoverageGap(date=day, reason=reason)
        for day, reason in found
        if any(each.first_day <= day <= each.last_day for each in ranges)
    ]


def _gap_from_day_source_is_behind(reader: GroupValueReader) -> list[CoverageGap]:
    """Returns the day from which a source of the metric is behind; nothing if it covers the range up to now."""
    date_range = reader.query.range
    through = reader.snapshot.complete_through(reader.query)
    if through >= min(date_range.span.end, date_range.now):
        return []
    return [CoverageGap(date=local_date(through, date_range.zone), reason="late_source")]


OPERATIONS: Final = (post_explain_change,)
