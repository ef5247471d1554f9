"""What cohorts ask of the event store (semantics 16)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from service_core.analytics.measures import Predicate
from service_core.analytics.ports import QueryScope
from service_core.kernel.time_ranges import Buckets


@dataclass(frozen=True, slots=True)
class CohortReaderQuery:
    """Retention and LTV: persons by acquisition bucket, activity by activity bucket (semantics 16).

    ``scan.span`` is the acquisition range. Persons are acquired by their first event ever, or first
    conversion ever. ``activity`` buckets start with the first acquisition bucket. ``event_names``
    narrow what makes a person active; ``first_touch`` holds columns of `Touch`.
    """

    scope: QueryScope
    acquisition: Buckets
    activity: Buckets
    by_conversion: bool = False
    event_names: frozenset[str] | None = None
    first_touch_filters: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class CohortActivity:
    """One cohort in one activity bucket (indexes into the plan's buckets).

    ``returned`` counts persons active in this bucket or any later one of the plan. ``revenue`` is
    net (charges minus refunds, by refund day, in the scan's currency); ``foreign_money`` tells that
    some of it is in another currency.
    """

    cohort: int
    bucket: int
    active: int
    returned: int
    revenue: int
    foreign_money: bool = False


@dataclass(frozen=True, slots=True)
class CohortResult:
    """Sizes per cohort index, and the cells that are not empty."""

    sizes: Mapping[int, int]
    cells: list[CohortActivity]


class CohortReader(Protocol):
    """Cohort questions at person grain."""

    async def read_cohorts(self, query: CohortReaderQuery) -> CohortResult:
        """Cohort sizes and activity."""
