"""Port for funnel queries of the event store."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from service_core.analytics.measures import Column, Predicate
from service_core.analytics.ports import ColumnValueCount, QueryScope


class FunnelOrder(StrEnum):
    """How the steps must follow each other."""

    ORDERED = "ordered"
    STRICT = "strict"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class FunnelReaderQuery:
    """A funnel query; each step is the set of event names that count as it, with conditions on the event.

    ``scope.span`` and ``scope.filters`` apply to the event of step 1 only; later steps may follow
    until ``now``, inside the window.
    """

    scope: QueryScope
    steps: tuple[frozenset[str], ...]
    window: timedelta
    now: datetime
    order: FunnelOrder = FunnelOrder.ORDERED
    by_session: bool = False
    exclude: frozenset[str] | None = None
    step_conditions: tuple[tuple[Predicate, ...], ...] = ()

    def conditions_of_step(self, index: int) -> tuple[Predicate, ...]:
        """Returns the conditions that the event of a step meets besides its name."""
        return self.step_conditions[index] if self.step_conditions else ()

    @property
    def starting_steps(self) -> range:
        """The indexes of the steps that may come first."""
        return range(len(self.steps) if self.order is FunnelOrder.ANY else 1)


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """Number of units that reached a step, and seconds since the previous step (None for the first)."""

    count: int
    median_seconds: float | None
    mean_seconds: float | None


@dataclass(frozen=True, slots=True)
class FunnelResult:
    """One entry per step, and the number of units that may still convert."""

    steps: list[FunnelStep]
    open: int


@dataclass(frozen=True, slots=True)
class FunnelStepUnitsQuery:
    """A query for a page of the units that reached a step, or that dropped out before it.

    Attributes:
        funnel: the funnel.
        step: index of the step.
        dropped: the units that reached the previous step and not this one; otherwise those that reached it.
        limit: maximum number of units.
        offset: number of units to skip.
    """

    funnel: FunnelReaderQuery
    step: int
    dropped: bool
    limit: int
    offset: int = 0

    def includes_depth(self, steps_reached: int) -> bool:
        """Returns whether the units that reached this number of steps are part of the result."""
        return steps_reached == self.step if self.dropped else steps_reached > self.step


@dataclass(frozen=True, slots=True)
class FunnelStepUnit:
    """A unit of a funnel with the attempt that counts: its deepest, the earliest of equals.

    Attributes:
        person: the person of the first event of the attempt.
        visitor_id: the visitor of that event.
        session_id: the session of that event.
        steps_reached: number of steps that the attempt reached.
        started_at: time of the first event.
        last_step_at: time of the last step that was reached.
    """

    person: str
    visitor_id: str
    session_id: str
    steps_reached: int
    started_at: datetime
    last_step_at: datetime


@dataclass(frozen=True, slots=True)
class FunnelStartValuesQuery:
    """A query for the most frequent values of a column of the events that may start a funnel."""

    funnel: FunnelReaderQuery
    column: Column
    limit: int


class FunnelReader(Protocol):
    """Funnel queries."""

    async def read_funnel(self, query: FunnelReaderQuery) -> FunnelResult:
        """Returns how many units reach each step."""

    async def list_units_of_step_and_total(
        self, query: FunnelStepUnitsQuery
    ) -> tuple[list[FunnelStepUnit], int]:
        """Returns a page of the units of a step and the number of all.

        Their number is that of `FunnelStep.count`. The attempt that started last comes first, equals by the sequence
        number of its first event, descending.
        """

    async def list_start_values(self, query: FunnelStartValuesQuery) -> list[ColumnValueCount]:
        """Returns the values of a column among the events that start the funnel, each with its number of units.

        A unit counts for each value with which it starts. Values that have no text, lists and objects, are left out.
        The most frequent come first, equals by code point, an absent value last.
        """
