"""The catalog of all metrics and dimensions.

A metric is one `Metric` value in a tuple of a ``metrics`` module; a dimension likewise. Endpoints,
dashboards, exports and the reference pages read the catalog.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from service_core.analytics.event_rules.custom_properties import is_custom_property
from service_core.analytics.measures import (
    NOT_SET,
    Aggregation,
    Column,
    DailyMean,
    Difference,
    Measure,
    Ratio,
    Relation,
    Scalar,
    property_label_column,
)
from service_core.analytics.query.relation_columns import (
    RELATIONS_WITH_PROPERTIES,
    messages_for_unknown_columns_of_measure,
    messages_for_unknown_columns_with_hint,
)
from service_core.kernel.dimension_ids import PROPERTY_PREFIX
from service_core.kernel.errors import StartupError
from service_core.kernel.unique_index import index_unique_or_startup_error

_MAX_PROPERTY_KEY_LENGTH: Final = 255


class MetricUnit(StrEnum):
    """Unit of a metric's value."""

    COUNT = "count"
    RATIO = "ratio"
    NUMBER = "number"
    SECONDS = "seconds"
    CURRENCY = "currency"
    CURRENCY_PER_UNIT = "currency_per_unit"


class Additivity(StrEnum):
    """Whether values of parts add up to the whole."""

    ADDITIVE = "additive"
    DISTINCT = "distinct"
    RATIO = "ratio"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A way to split a metric.

    Attributes:
        id: id in requests.
        label: display name.
        description: definition in one sentence.
        columns: relation to the column that holds the value. Rows of any other relation have no value: all of
            them have ``null_label``.
        null_label: label of an absent value, also valid as a filter value.
        labels: label to stored value, if the column does not hold the label itself.
    """

    id: str
    label: str
    description: str
    columns: Mapping[Relation, Column]
    null_label: str = NOT_SET
    labels: Mapping[str, Scalar] = field(default_factory=lambda: MappingProxyType({}))

    def label_of(self, value: Any) -> str:
        """Returns the label of a stored value."""
        if value is None:
            return self.null_label
        return next((label for label, stored in self.labels.items() if stored == value), str(value))


def is_property_dimension(dimension_id: str) -> bool:
    """Returns whether an id is that of a custom property."""
    key = dimension_id.removeprefix(PROPERTY_PREFIX)
    return (
        key != dimension_id
        and all(key.split("."))
        and len(key) <= _MAX_PROPERTY_KEY_LENGTH
        and is_custom_property(key.split(".")[0])
    )


def property_dimension(dimension_id: str) -> Dimension:
    """Returns the dimension of a custom property."""
    key = dimension_id.removeprefix(PROPERTY_PREFIX)
    columns = dict.fromkeys(RELATIONS_WITH_PROPERTIES, property_label_column(key))
    return Dimension(dimension_id, key, f"Custom property `{key}`.", MappingProxyType(columns))


class DimensionsById(dict[str, Dimension]):
    """The dimensions of a catalog by id; an item of `is_property_dimension` is built when it is read."""

    def __missing__(self, dimension_id: str) -> Dimension:
        """Returns the dimension of a custom property.

        Raises:
            KeyError: the id names none.
        """
        if not is_property_dimension(dimension_id):
            raise KeyError(dimension_id)
        return property_dimension(dimension_id)


@dataclass(frozen=True, slots=True)
class Metric:
    """The definition of a metric.

    Attributes:
        id: id in requests.
        label: display name.
        unit: unit of the value.
        category: group in the catalog.
        additivity: whether values of parts add up.
        measure: what is counted.
        dimensions: ids of the dimensions it accepts.
        description: definition in one sentence, shown in docs and API.
        is_rate: whether it lies between 0 and 1, so that its change is in percentage points.
        is_multiple: whether people read the ratio as ``2.50x``, not in percent.
        version: version of the definition; raised when what is counted or computed changes.
    """

    id: str
    label: str
    unit: MetricUnit
    category: str
    additivity: Additivity
    measure: Measure
    dimensions: tuple[str, ...]
    description: str
    is_rate: bool = False
    is_multiple: bool = False
    version: int = 1

    @property
    def requires_attribution(self) -> bool:
        """Whether it takes an attribution model."""
        return self.id.startswith("attributed_")

    @property
    def is_whole_number(self) -> bool:
        """Whether each value is a whole number: a count of rows or values, and no share of one."""
        return self.unit is MetricUnit.COUNT and _counts_whole(self.measure)

    def accepts(self, dimension_id: str) -> bool:
        """Returns whether it can be split and filtered by a dimension; by a property, if it is counted from events."""
        if not is_property_dimension(dimension_id):
            return dimension_id in self.dimensions
        return _list_relations(self.measure) <= RELATIONS_WITH_PROPERTIES

    @property
    def change_unit(self) -> str:
        """``pp`` for rates between 0 and 1, else ``ratio``."""
        return "pp" if self.is_rate else "ratio"


@dataclass(frozen=True, slots=True)
class Catalog:
    """Metrics and dimensions by id, in the order of their registration."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)
    dimensions: Mapping[str, Dimension] = field(default_factory=DimensionsById)

    def dimension_or_none(self, dimension_id: str) -> Dimension | None:
        """Returns the dimension with an id, that of a custom property included; None if there is none."""
        is_known = dimension_id in self.dimensions or is_property_dimension(dimension_id)
        return self.dimensions[dimension_id] if is_known else None

    @classmethod
    def from_validated_definitions(
        cls, metrics: Iterable[Metric], dimensions: Iterable[Dimension]
    ) -> "Catalog":
        """Returns the catalog of the given metrics and dimensions.

        Raises:
            StartupError: two have the same id, a metric names an unknown dimension, or a column does not exist in
                its relation.
        """
        by_id = index_unique_or_startup_error(metrics, lambda m: m.id, lambda m: f"the metric {m.id!r}")
        dims = index_unique_or_startup_error(dimensions, lambda d: d.id, lambda d: f"the dimension {d.id!r}")
        for metric in by_id.values():
            unknown = [d for d in metric.dimensions if d not in dims]
            if unknown:
                raise StartupError(f"Metric {metric.id!r} names unknown dimensions: {', '.join(unknown)}.")
            _raise_first_fault(
                f"Metric {metric.id!r}", messages_for_unknown_columns_of_measure(metric.measure)
            )
        for dimension in dims.values():
            for relation, column in dimension.columns.items():
                _raise_first_fault(
                    f"Dimension {dimension.id!r}", messages_for_unknown_columns_with_hint(relation, column)
                )
        return cls(by_id, DimensionsById(dims))


_SHARED_COUNTS: Final = frozenset({"credit", "order_credit", "conversions"})
"""Columns whose sums are in millionths."""


def _counts_whole(measure: Measure) -> bool:
    if isinstance(measure, Difference):
        return _counts_whole(measure.minuend) and _counts_whole(measure.subtrahend)
    if not isinstance(measure, Aggregation):
        return False
    return measure.distinct or measure.column is None or measure.column.name not in _SHARED_COUNTS


def _list_relations(measure: Measure) -> frozenset[Relation]:
    """Returns the relations that a measure counts."""
    if isinstance(measure, Ratio):
        return _list_relations(measure.numerator) | _list_relations(measure.denominator)
    if isinstance(measure, Difference):
        return _list_relations(measure.minuend) | _list_relations(measure.subtrahend)
    return frozenset({(measure.aggregation if isinstance(measure, DailyMean) else measure).relation})


def _raise_first_fault(declared: str, faults: Iterable[str]) -> None:
    """Raises the first fault at startup, where the author sees it."""
    for fault in faults:
        raise StartupError(f"{declared} is invalid: {fault}")
