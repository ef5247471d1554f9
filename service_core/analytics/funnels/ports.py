"""What funnels ask of the event store (semantics 15)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from service_core.analytics.ports import QueryScope


class FunnelOrder(StrEnum):
    """How steps follow each other (semantics 15.2)."""

    ORDERED = "ordered"
    STRICT = "strict"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class FunnelReaderQuery:
    """A funnel; each step is the set of event names that count as it (semantics 15).

    ``scan.span`` and ``scan.filters`` concern the event of step 1 only; later steps may follow
    until ``now``, inside the window.
    """

    scope: QueryScope
    steps: tuple[frozenset[str], ...]
    window: timedelta
    now: datetime
    order: FunnelOrder = FunnelOrder.ORDERED
    by_session: bool = False
    exclude: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """How many units reached a step, and seconds from the step before (None for the first)."""

    count: int
    median_seconds: float | None
    mean_seconds: float | None


@dataclass(frozen=True, slots=True)
class FunnelResult:
    """One entry per step, and the entrants that may still convert."""

    steps: list[FunnelStep]
    open: int


class FunnelReader(Protocol):
    """Funnel questions."""

    async def read_funnel(self, query: FunnelReaderQuery) -> FunnelResult:
        """Walk the units through the steps."""
