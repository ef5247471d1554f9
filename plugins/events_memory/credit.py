"""How conversions and money are shared by touches: the rows of CREDITS (semantics 8, 9)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Final

from plugins.events_memory.history import History, Movement
from plugins.events_memory.worth import told
from service_core.plugin import CHARGE, REFUND, Credit, Event, Scan, Step, Visit, split, weigh

WHOLE: Final = 1_000_000
"""One conversion, in the millionths credits are counted in."""

_EXACT: Final = 10**9


@dataclass(frozen=True, slots=True)
class Unit:
    """What is shared out: a conversion, a charge, both, or a refund.

    Attributes:
        event: the conversion, charge or refund.
        anchor: the event whose person and time make the path: that of a refund is its order.
        booked: the instant it counts at, unless touches are.
        has_path: False for a refund without an order.
        told_in: the currency a rate has turned its money into.
    """

    event: Event
    anchor: Event
    booked: datetime
    credit: int = 0
    order_credit: int = 0
    amount: int = 0
    refunded: int = 0
    is_order: bool = False
    has_path: bool = True
    told_in: str | None = None

    @property
    def currency(self) -> str | None:
        """The currency its money is told in."""
        return self.told_in or self.event.currency


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a unit that one touch gets, or all of it without a touch."""

    unit: Unit
    at: datetime
    visit: Visit | None
    credit: int
    order_credit: int
    amount: int
    refunded: int


def shares(history: History, rule: Credit, scan: Scan) -> Iterator[Share]:
    """Every row of CREDITS, over all time."""
    for unit in _units(history, scan):
        if rule.event_names is None or unit.anchor.event_name in rule.event_names:
            yield from _shared(_told(unit, scan), history, rule)


def _units(history: History, scan: Scan) -> Iterator[Unit]:
    converting = {e.seq for e in history.conversions}
    charges = {fact.event.seq: fact for fact in history.movements if fact.kind == CHARGE}
    for event in history.everything:
        charge = charges.get(event.seq)
        if event.seq in converting or charge:
            yield Unit(
                event,
                event,
                event.timestamp,
                credit=WHOLE if event.seq in converting else 0,
                order_credit=WHOLE if charge else 0,
                amount=charge.amount if charge else 0,
                is_order=charge is not None,
            )
    yield from (_refund(fact, scan) for fact in history.movements if fact.kind == REFUND)


def _told(unit: Unit, scan: Scan) -> Unit:
    """A unit with its money in the currency of the scan, where there is a rate."""
    facts = {"currency": unit.event.currency, "amount": unit.amount, "refunded": unit.refunded}
    worth = told(scan, unit.anchor.timestamp, facts)
    if worth["currency"] is None or worth["no_rate"]:
        return unit
    return replace(unit, amount=worth["amount"], refunded=worth["refunded"], told_in=scan.currency)


def _refund(fact: Movement, scan: Scan) -> Unit:
    return Unit(
        fact.event,
        fact.order or fact.event,
        fact.booked(order_refunds=scan.order_refunds),
        refunded=fact.amount,
        has_path=fact.order is not None,
    )


def _shared(unit: Unit, history: History, rule: Credit) -> Iterator[Share]:
    touches = history.path(unit.anchor) if unit.has_path else []
    steps = [Step(visit.event.timestamp, visit.direct) for visit in touches]
    # The shares are quotients of small numbers; as such they split without the noise of floats.
    weights = [Fraction(w).limit_denominator(_EXACT) for w in weigh(rule, steps, unit.anchor.timestamp)]
    credited = [(visit, weight) for visit, weight in zip(touches, weights, strict=True) if weight]
    shared = (unit.credit, unit.order_credit, unit.amount, unit.refunded)
    if not credited:
        yield Share(unit, unit.booked, None, *shared)
        return
    parts = zip(*(split(total, [w for _, w in credited]) for total in shared), strict=True)
    for (visit, _), own in zip(credited, parts, strict=True):
        yield Share(unit, visit.event.timestamp if rule.by_touch else unit.booked, visit, *own)
