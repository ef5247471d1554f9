"""Port for cohort queries of the event store."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from service_core.analytics.measures import Column, Condition, Predicate
from service_core.analytics.ports import ColumnValueCount, QueryScope
from service_core.kernel.time_ranges import Buckets


@dataclass(frozen=True, slots=True)
class CohortReaderQuery:
    """A query for retention and LTV: persons by acquisition bucket, activity by activity bucket.

    ``scope.span`` is the acquisition range. Persons are acquired by their first event ever, or their first
    conversion ever. ``activity`` buckets start with the first acquisition bucket. ``event_names``
    and ``activity_filters`` restrict the events that make a person active; ``first_touch_filters`` name columns of
    `Touch`, ``acquisition_filters`` columns of the event, or conversion, that acquired the person.
    """

    scope: QueryScope
    acquisition: Buckets
    activity: Buckets
    by_conversion: bool = False
    event_names: frozenset[str] | None = None
    first_touch_filters: tuple[Predicate, ...] = ()
    acquisition_filters: tuple[Condition, ...] = ()
    activity_filters: tuple[Condition, ...] = ()

    @property
    def counts_any_activity(self) -> bool:
        """Whether every event makes a person active."""
        return self.event_names is None and not self.activity_filters


@dataclass(frozen=True, slots=True)
class AcquisitionValuesQuery:
    """A query for the most frequent values of a column of the events, or first touches, that acquired persons.

    Attributes:
        cohorts: says which persons.
        column: a column of the event or conversion, or of `Touch`.
        is_of_first_touch: whether the column is one of the first touch of the person.
        limit: maximum number of values.
    """

    cohorts: CohortReaderQuery
    column: Column
    is_of_first_touch: bool
    limit: int


@dataclass(frozen=True, slots=True)
class CohortActivity:
    """One cohort in one activity bucket (indexes into the buckets of the query).

    ``returned`` counts persons active in this bucket or any later one. ``revenue`` is net (charges minus
    refunds, by refund day, in the currency of the scope). ``foreign_money`` is true if some of it is in
    another currency.
    """

    cohort: int
    bucket: int
    active: int
    returned: int
    revenue: int
    foreign_money: bool = False


@dataclass(frozen=True, slots=True)
class CohortResult:
    """Number of persons per cohort index, and the buckets with activity."""

    sizes: Mapping[int, int]
    cells: list[CohortActivity]


class CohortReader(Protocol):
    """Cohort queries by person."""

    async def read_cohorts(self, query: CohortReaderQuery) -> CohortResult:
        """Returns cohort sizes and activity."""

    async def list_acquisition_values(self, query: AcquisitionValuesQuery) -> list[ColumnValueCount]:
        """Returns the values of a column among the events, or touches, that acquired persons, each with its persons.

        Values that have no text, lists and objects, are left out. The most frequent come first, equals by code
        point, an absent value last.
        """
