"""Metric queries and their results, independent of the form of a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service_core.analytics.measures import FilterOperator, Operand
from service_core.analytics.ports import CreditRule
from service_core.kernel.availability import Measurement, Number
from service_core.kernel.time_ranges import Buckets, ResolvedRange

BUCKET = "bucket"
"""Name of the time column."""


@dataclass(frozen=True, slots=True)
class DimensionFilter:
    """A condition on a dimension; its values are labels, not stored values."""

    dimension: str
    op: FilterOperator = FilterOperator.EQ
    value: Operand = None

    @property
    def only_matching_value(self) -> Operand:
        """The only value that meets the condition; None if several do."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return (
            values[0] if self.op in (FilterOperator.EQ, FilterOperator.IN) and len(set(values)) == 1 else None
        )


OTHER_GROUP_LABEL: Final = "(other)"
"""Label of the group of all rows that are in none of the largest groups, in each of its dimensions."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """One sort key: a metric, a dimension or `BUCKET`. Unknown values sort last."""

    field: str
    descending: bool = True


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """Metrics by dimensions and buckets.

    Attributes:
        metrics, dimensions: ids of the catalog, validated.
        range: the range.
        filters: conditions on dimensions.
        buckets: the series; buckets after now are removed.
        order: a total order, so that pages are stable.
        limit: maximum number of rows; None for all.
        offset: number of rows to skip.
        credit_rule: rule for metrics that accept an attribution; None if there are none.
        default_credit_rule: rule by the default of the workspace, for metrics that always follow it.
        book_refunds_at_order: book refunds on the day of their order.
        include_bots: include events of bots.
        groups_left_out: labels of the groups that are no part of the query; all other groups are counted as one, which
            is labelled `OTHER_GROUP_LABEL`. None counts each group by itself.
    """

    metrics: tuple[str, ...]
    range: ResolvedRange
    dimensions: tuple[str, ...] = ()
    filters: tuple[DimensionFilter, ...] = ()
    buckets: Buckets | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    credit_rule: CreditRule | None = None
    default_credit_rule: CreditRule | None = None
    book_refunds_at_order: bool = False
    include_bots: bool = False
    groups_left_out: frozenset[tuple[str, ...]] | None = None

    @property
    def other_labels(self) -> tuple[str, ...]:
        """The labels of the group of all rows that are in no other group."""
        return (OTHER_GROUP_LABEL,) * len(self.dimensions)

    @property
    def grouped_and_single_value_dimensions(self) -> Mapping[str, Operand]:
        """Dimensions with one value in each row: the value it is filtered to, None if each row has its own."""
        filtered = {
            condition.dimension: condition.only_matching_value
            for condition in self.filters
            if condition.only_matching_value is not None
        }
        grouped = self.dimensions if self.groups_left_out is None else ()
        return dict.fromkeys(grouped) | filtered


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One row: bucket start, labels of the dimensions, values of the metrics."""

    bucket: datetime | None
    labels: tuple[str, ...]
    values: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Result of a metric query.

    Attributes:
        rows: the requested page.
        total_rows: number of rows before ``limit``.
        totals: per metric, the sum over all rows before ``limit``; None if values cannot be added.
    """

    rows: tuple[ResultRow, ...]
    total_rows: int
    totals: tuple[Number | None, ...]
