"""Reads the journeys behind credits: conversions with their touches."""

from collections import defaultdict
from collections.abc import Iterable

from plugins.events_memory.attribution_credits import TouchCredit, attribution_credits_of_all_time
from plugins.events_memory.relation_rows import credit_row, is_in_span
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    Journey,
    JourneyCredit,
    JourneysQuery,
    JourneysResult,
    JourneyTouch,
    QueryScope,
)

_UnitKey = tuple[int, bool]
"""Sequence number of the event, and whether it refunds: the key of a unit."""


def list_journeys(query: JourneysQuery, history: WorkspaceEvents) -> JourneysResult:
    """Returns a page of journeys, the latest booked first, the number of all, and the sum of their credit."""
    credited = _credits_by_unit(query, history)
    units = sorted(credited, key=lambda unit: (max(share.at for share in credited[unit]), unit), reverse=True)
    parts = {
        unit: _sum_journey_credits(
            _to_journey_credit_unless_foreign(share, query.scope) for share in credited[unit]
        )
        for unit in units
    }
    page = units[query.offset : query.offset + query.limit]
    touches = _touches_by_unit(query, history)
    journeys = [
        Journey(
            credited[unit][0].conversion.event,
            history.person_of(credited[unit][0].conversion.order_event),
            parts[unit],
            tuple(touches[unit]),
        )
        for unit in page
    ]
    return JourneysResult(journeys, len(units), _sum_journey_credits(parts.values()))


def _credits_by_unit(query: JourneysQuery, history: WorkspaceEvents) -> dict[_UnitKey, list[TouchCredit]]:
    """Returns the credits that meet the filters in the span, by unit."""
    by_unit: defaultdict[_UnitKey, list[TouchCredit]] = defaultdict(list)
    for share in attribution_credits_of_all_time(history, query.credit, query.scope):
        is_booked = is_in_span(query.scope.span, share.at)
        if is_booked and credit_row(share, history, query.scope).matches(query.scope.filters):
            by_unit[_unit_key(share)].append(share)
    return dict(by_unit)


def _unit_key(share: TouchCredit) -> _UnitKey:
    unit = share.conversion
    return unit.event.seq, unit.is_refund


def _to_journey_credit_unless_foreign(share: TouchCredit, scope: QueryScope) -> JourneyCredit:
    is_foreign = share.conversion.currency not in {None, scope.currency}
    return JourneyCredit(
        share.credit,
        0 if is_foreign else share.amount,
        0 if is_foreign else share.refunded,
        foreign_amount=is_foreign and share.amount > 0,
        foreign_refund=is_foreign and share.refunded > 0,
    )


def _sum_journey_credits(parts: Iterable[JourneyCredit]) -> JourneyCredit:
    total = JourneyCredit()
    for part in parts:
        total = JourneyCredit(
            total.credit + part.credit,
            total.amount + part.amount,
            total.refunded + part.refunded,
            total.foreign_amount or part.foreign_amount,
            total.foreign_refund or part.foreign_refund,
        )
    return total


def _touches_by_unit(
    query: JourneysQuery, history: WorkspaceEvents
) -> defaultdict[_UnitKey, list[JourneyTouch]]:
    """Returns all touches in the window of each unit, oldest first, with the credit that the rule gives them."""
    own = {
        (_unit_key(share), share.place): _to_journey_credit_unless_foreign(share, query.scope)
        for share in attribution_credits_of_all_time(history, query.credit, query.scope)
    }
    found: defaultdict[_UnitKey, list[JourneyTouch]] = defaultdict(list)
    for share in attribution_credits_of_all_time(history, query.all_touches_credit, query.scope):
        if share.visit is not None:
            part = own.get((_unit_key(share), share.place), JourneyCredit())
            touch = JourneyTouch(share.visit.to_touch(), part.credit, part.amount, part.refunded)
            found[_unit_key(share)].append(touch)
    return found
