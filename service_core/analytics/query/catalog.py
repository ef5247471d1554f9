"""The catalog of all metrics and dimensions.

A metric is one `Metric` value in a tuple of a ``metrics`` module; a dimension likewise. Endpoints,
dashboards, exports and the reference pages read the catalog.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from service_core.analytics.measures import NOT_SET, Column, Measure, Relation, Scalar
from service_core.analytics.query.relation_columns import (
    messages_for_unknown_columns_of_measure,
    messages_for_unknown_columns_with_hint,
)
from service_core.kernel.errors import StartupError
from service_core.kernel.unique_index import index_unique_or_startup_error


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

    @property
    def requires_attribution(self) -> bool:
        """Whether it takes an attribution model."""
        return self.id.startswith("attributed_")

    @property
    def change_unit(self) -> str:
        """``pp`` for rates between 0 and 1, else ``ratio``."""
        return "pp" if self.is_rate else "ratio"


@dataclass(frozen=True, slots=True)
class Catalog:
    """Metrics and dimensions by id, in the order of their registration."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)

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
        return cls(by_id, dims)


def _raise_first_fault(declared: str, faults: Iterable[str]) -> None:
    """Raises the first fault at startup, where the author sees it."""
    for fault in faults:
        raise StartupError(f"{declared} is invalid: {fault}")
