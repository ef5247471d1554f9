"""What is known of a workspace: its events in order, and what follows from all of them together."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from service_core.plugin import (
    CHARGE,
    REFUND,
    ConversionSet,
    Event,
    Owners,
    Visit,
    converts,
    each_order_once,
    moment,
    movement,
    named_ids,
    order_ids,
    standard,
    stitch,
    told_visits,
    visits,
)

_K = TypeVar("_K", bound=Hashable)
Session = tuple[str, str]
"""Visitor id and session id."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Money that moved: the event, and for a refund the charge of its order, when there is one."""

    event: Event
    kind: str
    order: Event | None = None

    @property
    def amount(self) -> int:
        """Minor units, positive."""
        return abs(self.event.revenue or 0)

    def booked(self, *, order_refunds: bool) -> datetime:
        """The instant it counts at."""
        return self.order.timestamp if self.order and order_refunds else self.event.timestamp


class History:
    """The events of one workspace as one question sees them.

    Args:
        stored: all events of the workspace.
        revoked: ids of events whose identity links were removed.
        conversions: what converts.
        include_bots: whether bots are seen. They never convert, pay, make touches or link ids.
    """

    def __init__(
        self,
        stored: Iterable[Event],
        revoked: Collection[str],
        conversions: ConversionSet,
        *,
        include_bots: bool = False,
    ) -> None:
        self.everything: Sequence[Event] = sorted(stored, key=moment)
        self.events = [e for e in self.everything if include_bots or not e.is_bot]
        self.conversion_set = conversions
        self._revoked = revoked

    @cached_property
    def owners(self) -> Owners:
        """Who every event belongs to."""
        return stitch(self.everything, self._revoked)

    def person(self, event: Event) -> str:
        """Whose an event is."""
        return self.owners.person(event)

    @cached_property
    def linking(self) -> list[Event]:
        """Events whose ids count: of people, and not taken back."""
        return [e for e in self.everything if not e.is_bot and e.event_id not in self._revoked]

    @cached_property
    def sessions(self) -> dict[Session, list[Event]]:
        """Events by session, oldest first."""
        return _grouped(self.events, session_of)

    @cached_property
    def persons(self) -> dict[str, list[Event]]:
        """Events by person, oldest first."""
        return _grouped(self.events, self.person)

    @cached_property
    def visitors(self) -> dict[str, list[Event]]:
        """Events by visitor, oldest first."""
        return _grouped(self.events, lambda event: event.visitor_id)

    def entry(self, event: Event) -> Event:
        """The first event of an event's session."""
        return self.sessions[session_of(event)][0]

    @cached_property
    def visits(self) -> dict[str, list[Visit]]:
        """Touches by person, oldest first."""
        found: defaultdict[str, list[Visit]] = defaultdict(list)
        for person, visit in visits(self.everything, self.person):
            found[person].append(visit)
        return found

    def path(self, event: Event) -> list[Visit]:
        """The touches of an event's person: its own, or those told up to the event where it has none by then."""
        own = self.visits.get(self.person(event), [])
        if any(visit.event.timestamp <= event.timestamp for visit in own):
            return own
        telling = [e for e in self._telling.get(self.person(event), []) if moment(e) <= moment(event)]
        return told_visits(telling[-1]) if telling else []

    @cached_property
    def _telling(self) -> dict[str, list[Event]]:
        """Events that tell of touches, by person, oldest first."""
        return _grouped((e for e in self.everything if e.told and not e.is_bot), self.person)

    @cached_property
    def conversions(self) -> list[Event]:
        """Conversions, one per name and order."""
        return each_order_once(
            (e for e in self.everything if self.converts(e)), _named_conversion, known_by=_known_conversion
        )

    def converts(self, event: Event) -> bool:
        """Whether an event is in the conversion set, a repeat of an order or not."""
        return converts(event, self.conversion_set)

    @cached_property
    def charges(self) -> list[Event]:
        """Events that are the charge of an order, one per order."""
        return each_order_once(self.reports, named_ids, known_by=order_ids)

    @cached_property
    def reports(self) -> list[Event]:
        """Events that tell of a charge, whether or not they are the one that counts."""
        return [e for e in self.everything if movement(e) == CHARGE]

    @cached_property
    def movements(self) -> list[Movement]:
        """The money ledger."""
        told = (e for e in self.everything if movement(e) == REFUND)
        refunds = each_order_once(told, named_ids, known_by=order_ids, in_parts=True)
        return [Movement(e, CHARGE) for e in self.charges] + [
            Movement(e, REFUND, self.order_of(e)) for e in refunds
        ]

    @cached_property
    def first_orders(self) -> set[int]:
        """Sequence numbers of the charges that are the first of their person."""
        first: dict[str, int] = {}
        for charge in self.charges:
            first.setdefault(self.person(charge), charge.seq)
        return set(first.values())

    def order_of(self, refund: Event) -> Event | None:
        """The latest charge of a refund's order that is not after it."""
        earlier = (c for c in self.charges if moment(c) <= moment(refund) and _sold(c, refund))
        return max(earlier, key=moment, default=None)


def _sold(charge: Event, refund: Event) -> bool:
    """Whether both name one order, or one payment."""
    is_order = refund.order_id is not None and charge.order_id == refund.order_id
    return is_order or (refund.payment_id is not None and charge.payment_id == refund.payment_id)


def session_of(event: Event) -> Session:
    """The session an event belongs to."""
    return event.visitor_id, event.session_id


def _named_conversion(event: Event) -> Hashable:
    return frozenset((standard(event.event_name), id_) for id_ in named_ids(event))


def _known_conversion(event: Event) -> Hashable:
    return frozenset((standard(event.event_name), id_) for id_ in order_ids(event))


def _grouped(events: Iterable[Event], key: Callable[[Event], _K]) -> dict[_K, list[Event]]:
    found: dict[_K, list[Event]] = {}
    for event in events:
        found.setdefault(key(event), []).append(event)
    return found
