"""Reads the values of a metric by group, for ratios with numerator and denominator."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.explanation.contributions import GroupValue
from service_core.analytics.measures import Ratio
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery, ResultRow
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.kernel.availability import Measured, Measurement, Unavailable
from service_core.kernel.time_ranges import ResolvedRange

_NUMERATOR: Final = "explained:numerator"
_DENOMINATOR: Final = "explained:denominator"


class ValueUnavailable(Exception):
    """A value is not measured."""

    def __init__(self, value: Unavailable) -> None:
        super().__init__(value.reason)
        self.value = value


@dataclass(frozen=True, slots=True)
class GroupValueReader:
    """Reads values of one metric in several ranges, from one snapshot.

    Attributes:
        queries: knows numerator and denominator of a ratio as metrics.
        query: the query without dimensions.
    """

    caller: Caller
    queries: MetricQueries
    snapshot: SourceSnapshot
    query: MetricQuery
    metric: Metric

    @classmethod
    async def open_for_first_metric(
        cls, caller: Caller, queries: MetricQueries, query: MetricQuery
    ) -> "GroupValueReader":
        """Returns a reader of the first metric of a query."""
        (metric,) = queries.metrics_by_id(query.metrics)
        parts = _ratio_parts_as_metrics(metric)
        catalog = Catalog({**queries.catalog.metrics, **parts}, queries.catalog.dimensions)
        queries = replace(queries, catalog=catalog)
        query = replace(query, metrics=(metric.id, *parts), order=(), limit=None)
        snapshot = await queries.read_source_states_once(caller, query.metrics)
        return cls(caller, queries, snapshot, query, metric)

    async def read_total_row(self, date_range: ResolvedRange) -> ResultRow:
        """Returns the row over a range: the value, for a ratio also its parts."""
        return (await self._query_rows(date_range))[0]

    async def read_value_by_label(
        self, date_range: ResolvedRange, dimension: str
    ) -> Mapping[str, GroupValue]:
        """Returns the values by label of a dimension.

        Raises:
            ValueUnavailable: one of them is not measured.
        """
        rows = await self._query_rows(date_range, (dimension,))
        return {row.labels[0]: self.to_group_value(row) for row in rows}

    async def _query_rows(
        self, date_range: ResolvedRange, dimensions: tuple[str, ...] = ()
    ) -> tuple[ResultRow, ...]:
        query = replace(self.query, range=date_range, dimensions=dimensions)
        result = await self.queries.execute_marking_unfit_credits_unavailable(
            self.caller, query, self.snapshot
        )
        return result.rows

    def to_group_value(self, row: ResultRow) -> GroupValue:
        """Returns the value of a row with its parts.

        Raises:
            ValueUnavailable: it is not measured.
        """
        numbers = [_number_or_none(value) for value in row.values]
        measure = self.metric.measure
        if not isinstance(measure, Ratio):
            return GroupValue(numbers[0], numbers[0] or Fraction(0))
        value, numerator, denominator = numbers
        base, amount = denominator or Fraction(0), (numerator or Fraction(0)) * measure.scale
        return GroupValue(value, base - amount if measure.complement else amount, base)


def _ratio_parts_as_metrics(metric: Metric) -> Mapping[str, Metric]:
    if not isinstance(metric.measure, Ratio):
        return {}
    return {
        _NUMERATOR: replace(metric, id=_NUMERATOR, measure=metric.measure.numerator),
        _DENOMINATOR: replace(metric, id=_DENOMINATOR, measure=metric.measure.denominator),
    }


def _number_or_none(measurement: Measurement) -> Fraction | None:
    if isinstance(measurement, Measured):
        return None if measurement.value is None else Fraction(measurement.value)
    raise ValueUnavailable(measurement)
