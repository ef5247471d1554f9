"""Breaks reads of persons or sessions down by one dimension of an event.

The largest values are groups of their own; all others form one group. Each group is read with a condition of its
own, so it is the same answer as that of a filter, and the group of the others is no sum.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypeVar

from pydantic import Field

from service_core.analytics.measures import (
    Column,
    FilterOperator,
    Predicate,
    Relation,
    property_column,
)
from service_core.analytics.ports import ColumnValueCount
from service_core.analytics.query.catalog import Catalog, Dimension
from service_core.analytics.query.event_filters import parse_property_key
from service_core.analytics.query.models import OTHER_GROUP_LABEL
from service_core.analytics.query.schemas import unknown_dimension_error
from service_core.analytics.query.segments import require_column_of_events
from service_core.analytics.range_query import RangeQuery
from service_core.kernel.async_gather import gather_at_most
from service_core.kernel.dimension_ids import PROPERTY_PREFIX
from service_core.kernel.schemas import Clamp

_FIELD: Final = "breakdown"
_GROUPS_READ_AT_ONCE: Final = 2
_R = TypeVar("_R")


class BreakdownQuery(RangeQuery):
    """Parameters of reads that break down by one dimension."""

    breakdown: str | None = Field(
        default=None, description="A dimension, or `property:<key>`, whose largest values become groups."
    )
    top: Annotated[int, Clamp(1, 20)] = Field(5, description="Number of groups, the largest first.")
    other: bool = Field(default=True, description="Add one group `(other)` of all other values.")


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The dimension of a breakdown, and the column of the event, or of the first touch, that holds its values."""

    dimension: Dimension
    column: Column
    is_of_first_touch: bool = False

    def build_group_per_value(
        self, values: Sequence[ColumnValueCount], *, with_other: bool
    ) -> "list[BreakdownGroup]":
        """Returns a group per value, and with ``with_other`` the group of all other values."""
        groups = [
            BreakdownGroup(
                self.dimension.label_of(entry.value),
                Predicate(self.column, *_condition_of_value(entry.value)),
            )
            for entry in values
        ]
        if with_other and values:
            listed = tuple(entry.value for entry in values)
            outside = Predicate(self.column, FilterOperator.NOT_IN, listed)
            groups.append(BreakdownGroup(OTHER_GROUP_LABEL, outside, is_other=True))
        return groups


def _condition_of_value(value: str | None) -> tuple[FilterOperator, str | None]:
    return (FilterOperator.IS_NOT_SET, None) if value is None else (FilterOperator.EQ, value)


@dataclass(frozen=True, slots=True)
class BreakdownGroup:
    """A group of a breakdown: its label, and the condition of its rows."""

    label: str
    condition: Predicate
    is_other: bool = False


def resolve_breakdown(
    catalog: Catalog, dimension_id: str, first_touch_dimensions: Mapping[str, Dimension] | None = None
) -> Breakdown:
    """Returns the breakdown by a dimension of the catalog, by a property, or by a dimension of the first touch.

    Raises:
        BadRequest: ``unknown_dimension``, ``invalid_filter``, or ``incompatible_dimension`` for a dimension that
            single events do not have.
    """
    if first_touch_dimensions and dimension_id in first_touch_dimensions:
        dimension = first_touch_dimensions[dimension_id]
        return Breakdown(dimension, dimension.columns[Relation.EVENTS], is_of_first_touch=True)
    if dimension_id.startswith(PROPERTY_PREFIX):
        column = property_column(parse_property_key(dimension_id, _FIELD))
        return Breakdown(Dimension(dimension_id, dimension_id, "", {Relation.EVENTS: column}), column)
    if dimension_id not in catalog.dimensions:
        raise unknown_dimension_error(dimension_id, catalog, _FIELD)
    dimension = catalog.dimensions[dimension_id]
    return Breakdown(dimension, require_column_of_events(dimension, _FIELD))


async def read_each_group_two_at_a_time(
    groups: Sequence[BreakdownGroup], read: Callable[[BreakdownGroup], Awaitable[_R]]
) -> list[tuple[BreakdownGroup, _R]]:
    """Returns the answer of each group, two read at a time so that other readers of the store are served."""
    answers = await gather_at_most(_GROUPS_READ_AT_ONCE, (partial(read, group) for group in groups))
    return list(zip(groups, answers, strict=True))
