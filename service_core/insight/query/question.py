"""A question about metrics, resolved: nothing in it depends on the request's form any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from service_core.insight.measures import Op, Operand
from service_core.insight.ports import Credit
from service_core.kernel.ranges import Buckets, Range
from service_core.kernel.reading import Number, Reading

BUCKET = "bucket"
"""Name of the time column, beside dimensions and metrics."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a dimension, in the words of the wire: labels, not stored values."""

    dimension: str
    op: Op = Op.EQ
    value: Operand = None

    @property
    def only(self) -> Operand:
        """The value without which no row meets it; None where there are several."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return values[0] if self.op in (Op.EQ, Op.IN) and len(set(values)) == 1 else None


@dataclass(frozen=True, slots=True)
class Order:
    """One sort key: a metric, a dimension or `BUCKET`. What is unknown sorts last."""

    field: str
    descending: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """Metrics by dimensions and buckets.

    Attributes:
        metrics, dimensions: ids of the catalog, checked.
        buckets: the series shown; buckets after now are left out already.
        order: total, so pages are stable.
        limit: rows asked for; None for all.
        credit: how credits are given; None when no metric takes an attribution.
        usual_credit: the same by the workspace's default, for metrics that always follow it.
        order_refunds: book refunds on the day of their order.
    """

    metrics: tuple[str, ...]
    range: Range
    dimensions: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    buckets: Buckets | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    credit: Credit | None = None
    usual_credit: Credit | None = None
    order_refunds: bool = False
    include_bots: bool = False

    @property
    def held(self) -> Mapping[str, Operand]:
        """Dimensions of which each row is of one value: the one filtered to, None for each of its own."""
        named = {each.dimension: each.only for each in self.filters if each.only is not None}
        return dict.fromkeys(self.dimensions) | named


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: bucket start, labels of the dimensions, readings of the metrics."""

    bucket: datetime | None
    labels: tuple[str, ...]
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Answer to a question.

    Attributes:
        rows: the page asked for.
        groups: number of rows before ``limit``.
        sums: per metric, the sum over all rows before ``limit``; None where values cannot be added.
    """

    rows: tuple[Row, ...]
    groups: int
    sums: tuple[Number | None, ...]
