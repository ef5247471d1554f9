"""Port for the journeys behind a number of attribution: the conversions credited to a group of touches."""

from dataclasses import dataclass, replace
from typing import Protocol

from service_core.analytics.people.ports import Touch
from service_core.analytics.ports import CreditRule, QueryScope, Weighting
from service_core.ingestion.models import Event


@dataclass(frozen=True, slots=True)
class JourneysQuery:
    """A query for a page of the conversions, charges and refunds with credit that meets the filters of the scope.

    Attributes:
        scope: the span in which credit is booked; ``filters`` name columns of `Relation.CREDITS`.
        credit: how a conversion is split over touches.
        limit: maximum number of journeys.
        offset: number of journeys to skip.
    """

    scope: QueryScope
    credit: CreditRule
    limit: int
    offset: int = 0

    @property
    def all_touches_credit(self) -> CreditRule:
        """The rule that gives credit to every touch in the window."""
        return replace(self.credit, weighting=Weighting.LINEAR, ignore_direct=False)


@dataclass(frozen=True, slots=True)
class JourneyCredit:
    """An amount of credit: conversions in millionths, money in minor units.

    Attributes:
        credit: conversions.
        amount: charges in the currency of the scope.
        refunded: refunds in the currency of the scope.
        foreign_amount: charges in other currencies were left out.
        foreign_refund: refunds in other currencies were left out.
    """

    credit: int = 0
    amount: int = 0
    refunded: int = 0
    foreign_amount: bool = False
    foreign_refund: bool = False


@dataclass(frozen=True, slots=True)
class JourneyTouch:
    """A touch in the window of the conversion with its own credit; 0 for a touch that the rule ignores."""

    touch: Touch
    credit: int
    amount: int
    refunded: int


@dataclass(frozen=True, slots=True)
class Journey:
    """A conversion, charge or refund with its touches, oldest first.

    Attributes:
        event: the event that converts, pays or refunds.
        person: its person; of a refund the person of its order.
        credited: the credit that meets the filters.
        touches: all touches in the window; of a refund those of its order.
    """

    event: Event
    person: str
    credited: JourneyCredit
    touches: tuple[JourneyTouch, ...]


@dataclass(frozen=True, slots=True)
class JourneysResult:
    """A page of journeys, the number of all, and the sum of their credit."""

    journeys: list[Journey]
    total: int
    credited: JourneyCredit


class JourneyReader(Protocol):
    """Journeys behind credits."""

    async def list_journeys(self, query: JourneysQuery) -> JourneysResult:
        """Returns a page of journeys, the latest booked first, equals by sequence number descending.

        A charge and the conversion of one event are one journey; a refund is one of its own.
        """
