"""What one person asks of the event store: as much of their history as is shown, worked out there."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from service_core.insight.ports import Scan, Touch
from service_core.intake.model import Event


@dataclass(frozen=True, slots=True)
class JourneyPlan:
    """What a person did in a span. The scan has no filters.

    Attributes:
        person: as `People.resolve` names them.
        window: how long before a conversion a touch counts.
        most: sessions, conversions, and touches of one conversion that are told; the newest are.
    """

    scan: Scan
    person: str
    window: timedelta
    most: int


@dataclass(frozen=True, slots=True)
class PersonSession:
    """A session as far as the person had it in the span.

    ``first`` is its first event, ``exit_page`` the path of the last page view. ``revenue`` sums charges
    in the scan's currency; ``foreign_money`` tells that others were left out.
    """

    first: Event
    ended_at: datetime
    pageviews: int
    events: int
    exit_page: str | None
    revenue: int
    foreign_money: bool


@dataclass(frozen=True, slots=True)
class Converted:
    """A conversion and the touches that count for it, oldest first; ``cut``: there are older ones."""

    event: Event
    path: tuple[Touch, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class Journey:
    """Answer to a `JourneyPlan`, newest first by the order of events."""

    sessions: tuple[PersonSession, ...]
    conversions: tuple[Converted, ...]


class Journeys(Protocol):
    """The history of one person, never more of it than is asked for."""

    async def journey(self, plan: JourneyPlan) -> Journey:
        """Sessions and conversions of a person; what converts and what is a repeat is told by all events."""
