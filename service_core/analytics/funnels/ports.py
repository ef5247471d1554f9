"""Port for funnel queries of the event store."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from service_core.analytics.measures import Predicate
from service_core.analytics.ports import QueryScope


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


class FunnelReader(Protocol):
    """Funnel queries."""

    async def read_funnel(self, query: FunnelReaderQuery) -> FunnelResult:
        """Returns how many units reach each step."""
