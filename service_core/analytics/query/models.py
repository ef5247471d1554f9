"""A question about metrics, resolved: nothing in it depends on the request's form any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from service_core.analytics.measures import FilterOperator, Operand
from service_core.analytics.ports import CreditRule
from service_core.kernel.availability import Measurement, Number
from service_core.kernel.time_ranges import Buckets, ResolvedRange

BUCKET = "bucket"
"""Name of the time column, beside dimensions and metrics."""


@dataclass(frozen=True, slots=True)
class DimensionFilter:
    """A condition on a dimension, in the words of the wire: labels, not stored values."""

    dimension: str
    op: FilterOperator = FilterOperator.EQ
    value: Operand = None

    @property
    def single_value(self) -> Operand:
        """The value without which no row meets it; None where there are several."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return (
            values[0] if self.op in (FilterOperator.EQ, FilterOperator.IN) and len(set(values)) == 1 else None
        )


@dataclass(frozen=True, slots=True)
class SortKey:
    """One sort key: a metric, a dimension or `BUCKET`. What is unknown sorts last."""

    field: str
    descending: bool = True


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """Metrics by dimensions and buckets.

    Attributes:
        metrics, dimensions: ids of the catalog, checked.
        buckets: the series shown; buckets after now are left out already.
        order: total, so pages are stable.
        limit: rows asked for; None for all.
        credit: how credits are given; None when no metric takes an attribution.
        default_credit_rule: the same by the workspace's default, for metrics that always follow it.
        order_refunds: book refunds on the day of their order.
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

    @property
    def fixed_dimensions(self) -> Mapping[str, Operand]:
        """Dimensions of which each row is of one value: the one filtered to, None for each of its own."""
        named = {each.dimension: each.single_value for each in self.filters if each.single_value is not None}
        return dict.fromkeys(self.dimensions) | named


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One line of a table: bucket start, labels of the dimensions, readings of the metrics."""

    bucket: datetime | None
    labels: tuple[str, ...]
    values: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Answer to a question.

    Attributes:
        rows: the page asked for.
        groups: number of rows before ``limit``.
        sums: per metric, the sum over all rows before ``limit``; None where values cannot be added.
    """

    rows: tuple[ResultRow, ...]
    total_rows: int
    totals: tuple[Number | None, ...]
