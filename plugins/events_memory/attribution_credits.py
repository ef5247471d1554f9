"""The relation CREDITS: conversions and money split over touches."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Final

from plugins.events_memory.currency_conversion import convert_and_flag_missing_rate
from plugins.events_memory.workspace_events import Payment, WorkspaceEvents
from service_core.plugin import (
    CHARGE,
    REFUND,
    CreditRule,
    Event,
    PathTouch,
    QueryScope,
    TouchEvent,
    allocate_by_largest_remainder,
    compute_credit_share_per_touch,
)

CREDIT_SCALE: Final = 1_000_000
"""Credits are counted in millionths of a conversion."""

_MAX_DENOMINATOR: Final = 10**9


@dataclass(frozen=True, slots=True)
class CreditedConversion:
    """A unit that attribution credits: a conversion, a charge, both, or a refund.

    Attributes:
        event: the conversion, charge or refund.
        order_event: the event whose person and time determine the touch path: for a refund the charge of its order.
        booked_at: the instant it counts at, unless it counts at its touches.
        has_path: False for a refund without an order.
        is_refund: whether it is a refund.
        converted_currency: the currency its amounts were converted into.
    """

    event: Event
    order_event: Event
    booked_at: datetime
    credit: int = 0
    order_credit: int = 0
    amount: int = 0
    refunded: int = 0
    is_order: bool = False
    has_path: bool = True
    is_refund: bool = False
    converted_currency: str | None = None

    @property
    def currency(self) -> str | None:
        """The currency of its amounts."""
        return self.converted_currency or self.event.currency


@dataclass(frozen=True, slots=True)
class TouchCredit:
    """The part of a unit that one touch gets, or all of it without a touch; ``place`` is that of the touch in its path."""

    conversion: CreditedConversion
    at: datetime
    visit: TouchEvent | None
    credit: int
    order_credit: int
    amount: int
    refunded: int
    place: int = -1


def attribution_credits_of_all_time(
    history: WorkspaceEvents, rule: CreditRule, scope: QueryScope
) -> Iterator[TouchCredit]:
    """Yields every row of CREDITS, over all time."""
    for unit in credited_conversions(history, scope, rule.event_names):
        yield from _split_over_touch_path(unit, history, rule)


def credited_conversions(
    history: WorkspaceEvents, scope: QueryScope, event_names: frozenset[str] | None
) -> Iterator[CreditedConversion]:
    """Yields conversions, charges and refunds over all time, with money converted where there is a rate.

    Args:
        history: the events.
        scope: the currency, the rates, and when refunds are booked.
        event_names: names of the conversion, or of the order of a refund; None for all.
    """
    for unit in _conversions_charges_and_refunds(history, scope):
        if event_names is None or unit.order_event.event_name in event_names:
            yield _convert_money_where_rate_known(unit, scope)


def _conversions_charges_and_refunds(
    history: WorkspaceEvents, scope: QueryScope
) -> Iterator[CreditedConversion]:
    converting = {e.seq for e in history.conversions_once_per_order}
    charges = {
        payment.event.seq: payment for payment in history.payments_once_per_order if payment.kind == CHARGE
    }
    for event in history.all_events:
        charge = charges.get(event.seq)
        is_order = charge is not None and history.is_order(event)
        if event.seq in converting or charge:
            yield CreditedConversion(
                event,
                event,
                event.timestamp,
                credit=CREDIT_SCALE if event.seq in converting else 0,
                order_credit=CREDIT_SCALE if is_order else 0,
                amount=charge.amount if charge else 0,
                is_order=is_order,
            )
    yield from (
        _credited_refund(payment, scope)
        for payment in history.payments_once_per_order
        if payment.kind == REFUND
    )


def _convert_money_where_rate_known(unit: CreditedConversion, scope: QueryScope) -> CreditedConversion:
    """Returns a unit with amounts in the scope's currency, where there is a rate."""
    facts = {"currency": unit.event.currency, "amount": unit.amount, "refunded": unit.refunded}
    converted = convert_and_flag_missing_rate(scope, unit.order_event.timestamp, facts)
    if converted["currency"] is None or converted["missing_fx_rate"]:
        return unit
    return replace(
        unit, amount=converted["amount"], refunded=converted["refunded"], converted_currency=scope.currency
    )


def _credited_refund(payment: Payment, scope: QueryScope) -> CreditedConversion:
    return CreditedConversion(
        payment.event,
        payment.order_event or payment.event,
        payment.booked_at(order_refunds=scope.order_refunds),
        refunded=payment.amount,
        has_path=payment.order_event is not None,
        is_refund=True,
    )


def _split_over_touch_path(
    unit: CreditedConversion, history: WorkspaceEvents, rule: CreditRule
) -> Iterator[TouchCredit]:
    touches = history.touch_path_or_reported_touches(unit.order_event) if unit.has_path else []
    steps = [PathTouch(visit.event.timestamp, visit.is_direct) for visit in touches]
    # The weights are quotients of small integers; as fractions they split without rounding errors.
    weights = [
        Fraction(w).limit_denominator(_MAX_DENOMINATOR)
        for w in compute_credit_share_per_touch(rule, steps, unit.order_event.timestamp)
    ]
    credited = [
        (place, visit, weight)
        for place, (visit, weight) in enumerate(zip(touches, weights, strict=True))
        if weight
    ]
    shared = (unit.credit, unit.order_credit, unit.amount, unit.refunded)
    if not credited:
        yield TouchCredit(unit, unit.booked_at, None, *shared)
        return
    parts = zip(
        *(allocate_by_largest_remainder(total, [w for *_, w in credited]) for total in shared), strict=True
    )
    for (place, visit, _), credit_parts in zip(credited, parts, strict=True):
        credit, order_credit, amount, refunded = credit_parts
        at = visit.event.timestamp if rule.book_at_touch else unit.booked_at
        yield TouchCredit(unit, at, visit, credit, order_credit, amount, refunded, place)
