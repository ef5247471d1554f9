"""Port for experiment queries of the event store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from service_core.analytics.measures import Column, Predicate
from service_core.analytics.ports import QueryScope


@dataclass(frozen=True, slots=True)
class ExperimentReaderQuery:
    """A query for the outcome of an experiment by variant.

    A person takes part from the first exposure in ``scope.span`` on; conversions and payments count for ``window``
    from then, the start included and the end not, before ``now``. Persons exposed to several variants in the span are
    in none of them.

    Attributes:
        scope: the workspace and the span of the exposures, without filters.
        exposure_names: names of the events that expose a person.
        exposure_conditions: conditions that an exposure meets.
        variant_column: the column of the exposure that holds the variant; one without a text exposes to nothing.
        window: how long after the first exposure an outcome counts.
        now: what happens later does not count.
        goal_names: names of the events that convert; None for the conversions of the workspace.
    """

    scope: QueryScope
    exposure_names: frozenset[str]
    exposure_conditions: tuple[Predicate, ...]
    variant_column: Column
    window: timedelta
    now: datetime
    goal_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class VariantOutcome:
    """The persons of one variant and what they did in their windows.

    Attributes:
        variant: its name.
        persons: number of persons.
        open: number of persons whose window has not ended.
        converted: number of persons who converted.
        conversions: number of their conversions.
        payers_by_amount: net amount that a person paid, in minor units of the scope's currency -> number of persons;
            persons without a payment are not included.
        foreign_money: whether some payments are in another currency and have no rate.
    """

    variant: str
    persons: int
    open: int = 0
    converted: int = 0
    conversions: int = 0
    payers_by_amount: Mapping[int, int] = field(default_factory=dict)
    foreign_money: bool = False


@dataclass(frozen=True, slots=True)
class MixedPerson:
    """A person exposed to several variants; the visitor id is the first by code point."""

    person: str
    visitor_id: str


@dataclass(frozen=True, slots=True)
class ExperimentOutcome:
    """The variants by name, the number of persons exposed to several, and the first of these by code point."""

    variants: Sequence[VariantOutcome]
    mixed_persons: int
    listed_mixed_persons: Sequence[MixedPerson]


class ExperimentReader(Protocol):
    """Experiment queries."""

    async def read_experiment(
        self, query: ExperimentReaderQuery, max_mixed_persons: int
    ) -> ExperimentOutcome:
        """Returns the outcome by variant, with at most ``max_mixed_persons`` of the persons exposed to several."""
