"""Retention and LTV: who came, whether they came back, and what they are worth (semantics 16)."""

from bisect import bisect_right
from collections import Counter, defaultdict
from datetime import datetime

from plugins.events_memory.history import History
from plugins.events_memory.rows import first_set, within
from plugins.events_memory.worth import worth_of
from service_core.plugin import CHARGE, Buckets, CohortCell, CohortPlan, CohortTable, Span, meets


def cohorts(plan: CohortPlan, history: History) -> CohortTable:
    """Cohort sizes, and activity and money by cohort and bucket."""
    member = _members(plan, history)
    table = _Table(plan, member)
    for event in history.events:
        if plan.event_names is None or event.event_name in plan.event_names:
            table.active(history.person(event), event.timestamp)
    for fact in history.movements:
        worth = worth_of(plan.scan, fact)
        net = worth if worth is None or fact.kind == CHARGE else -worth
        booked = fact.booked(order_refunds=plan.scan.order_refunds)
        table.paid(history.person(fact.event), booked, net if fact.amount else 0)
    return CohortTable(Counter(member.values()), table.cells())


def _members(plan: CohortPlan, history: History) -> dict[str, int]:
    """Person -> its cohort, by the first event or conversion ever."""
    acquiring = history.conversions if plan.by_conversion else history.events
    first: dict[str, datetime] = {}
    for event in acquiring:
        first.setdefault(history.person(event), event.timestamp)
    return {
        person: _bucket(plan.acquisition, at)
        for person, at in first.items()
        if within(plan.scan.span, at) and _came_by(person, plan, history)
    }


def _came_by(person: str, plan: CohortPlan, history: History) -> bool:
    visits = history.visits.get(person, [])
    return all(
        meets(first_set(p.column, visits[0].value) if visits else None, p.op, p.value)
        for p in plan.first_touch
    )


def _bucket(buckets: Buckets, at: datetime) -> int:
    return bisect_right(buckets.starts, at) - 1


class _Table:
    """What happened in each cohort and bucket; what is before a person's cohort stands in no cell."""

    def __init__(self, plan: CohortPlan, member: dict[str, int]) -> None:
        self._plan, self._member = plan, member
        self._active: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        self._revenue: Counter[tuple[int, int]] = Counter()
        self._foreign: set[tuple[int, int]] = set()

    def active(self, person: str, at: datetime) -> None:
        """Count a person's activity."""
        if cell := self._cell(person, at):
            self._active[cell].add(person)

    def paid(self, person: str, at: datetime, net: int | None) -> None:
        """Count a person's money; None is what has no rate."""
        cell = self._cell(person, at)
        if cell and net is not None:
            self._revenue[cell] += net
        elif cell:
            self._foreign.add(cell)

    def cells(self) -> list[CohortCell]:
        """The cells that are not empty, cohort by cohort."""
        found = []
        for cohort in sorted(set(self._member.values())):
            returned: set[str] = set()
            row = []
            for bucket in reversed(range(cohort, len(self._plan.activity.starts))):
                key = cohort, bucket
                active = self._active.get(key, set())
                returned |= active
                row.append(
                    CohortCell(
                        cohort, bucket, len(active), len(returned), self._revenue[key], key in self._foreign
                    )
                )
            found += [c for c in reversed(row) if c.returned or c.revenue or c.foreign_money]
        return found

    def _cell(self, person: str, at: datetime) -> tuple[int, int] | None:
        activity = self._plan.activity
        if person not in self._member or not within(Span(activity.starts[0], activity.end), at):
            return None
        return self._member[person], _bucket(activity, at)
