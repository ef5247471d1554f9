"""Evaluates retention and lifetime value: cohort sizes, activity and revenue by cohort and bucket."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from plugins.events_memory.column_values import count_distinct_by_column_text
from plugins.events_memory.currency_conversion import converted_amount_or_none
from plugins.events_memory.relation_rows import event_row, is_in_span, touch_value
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    CHARGE,
    AcquisitionValuesQuery,
    Buckets,
    CohortActivity,
    CohortReaderQuery,
    CohortResult,
    ColumnValueCount,
    Event,
    TimeRange,
    value_matches,
)


def evaluate_cohorts(plan: CohortReaderQuery, history: WorkspaceEvents) -> CohortResult:
    """Returns cohort sizes, and activity and revenue by cohort and bucket."""
    member = _cohort_of_persons_acquired_in_span(plan, history)
    table = _CohortCounts(plan, member)
    for event in history.events:
        if _makes_active(plan, event, history):
            table.add_activity(history.person_of(event), event.timestamp)
    for payment in history.payments_once_per_order:
        amount = converted_amount_or_none(plan.scope, payment)
        net = amount if amount is None or payment.kind == CHARGE else -amount
        booked = payment.booked_at(order_refunds=plan.scope.order_refunds)
        table.add_payment(history.person_of(payment.event), booked, net if payment.amount else 0)
    return CohortResult(Counter(member.values()), table.nonempty_cells_by_cohort())


def list_acquisition_values(
    query: AcquisitionValuesQuery, history: WorkspaceEvents
) -> list[ColumnValueCount]:
    """Returns the most frequent values of a column among the events, or touches, that acquired persons."""
    plan = query.cohorts
    members = _cohort_of_persons_acquired_in_span(plan, history)
    if query.is_of_first_touch:
        pairs: Iterable[tuple[str, Any]] = (
            (person, touch_value(query.column, visits[0]) if visits else None)
            for person in members
            for visits in [history.touches_by_person.get(person, [])]
        )
    else:
        pairs = (
            (person, event_row(event, history, plan.scope).value_or_first_fallback(query.column))
            for person, event in _matching_acquisitions(plan, history)
            if person in members
        )
    return count_distinct_by_column_text(pairs, query.limit)


def _makes_active(plan: CohortReaderQuery, event: Event, history: WorkspaceEvents) -> bool:
    """Returns whether an event makes its person active; a repeat of an order does not where names are given."""
    if plan.event_names is not None and (
        event.event_name not in plan.event_names or event.seq in history.repeated_order_seqs
    ):
        return False
    return not plan.activity_filters or event_row(event, history, plan.scope).matches(plan.activity_filters)


def _acquiring_events(plan: CohortReaderQuery, history: WorkspaceEvents) -> list[Event]:
    return history.conversions_once_per_order if plan.by_conversion else history.events


def _first_acquisition_times(plan: CohortReaderQuery, history: WorkspaceEvents) -> dict[str, datetime]:
    first: dict[str, datetime] = {}
    for event in _acquiring_events(plan, history):
        first.setdefault(history.person_of(event), event.timestamp)
    return first


def _cohort_of_persons_acquired_in_span(plan: CohortReaderQuery, history: WorkspaceEvents) -> dict[str, int]:
    """Returns the cohort of each person, by the first event or conversion of all time."""
    matching = {person for person, _ in _matching_acquisitions(plan, history)}
    return {
        person: _bucket_index(plan.acquisition, at)
        for person, at in _first_acquisition_times(plan, history).items()
        if is_in_span(plan.scope.span, at)
        and person in matching
        and _first_touch_or_none_matches_filters(person, plan, history)
    }


def _matching_acquisitions(plan: CohortReaderQuery, history: WorkspaceEvents) -> Iterator[tuple[str, Event]]:
    """Yields persons with each event, or conversion, at the instant of acquisition that meets the filters."""
    first_at = _first_acquisition_times(plan, history)
    for event in _acquiring_events(plan, history):
        person = history.person_of(event)
        if event.timestamp == first_at[person] and event_row(event, history, plan.scope).matches(
            plan.acquisition_filters
        ):
            yield person, event


def _first_touch_or_none_matches_filters(
    person: str, plan: CohortReaderQuery, history: WorkspaceEvents
) -> bool:
    visits = history.touches_by_person.get(person, [])
    return all(
        value_matches(
            touch_value(p.column, visits[0]) if visits else None,
            p.op,
            p.value,
        )
        for p in plan.first_touch_filters
    )


def _bucket_index(buckets: Buckets, at: datetime) -> int:
    return bisect_right(buckets.starts, at) - 1


class _CohortCounts:
    """Counts activity and revenue by cohort and bucket; events before a person's cohort are not counted."""

    def __init__(self, plan: CohortReaderQuery, member: dict[str, int]) -> None:
        self._plan, self._cohort_of_persons_acquired_in_span = plan, member
        self._active_and_last_active_counts_query: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        self._revenue: Counter[tuple[int, int]] = Counter()
        self._cells_with_foreign_money: set[tuple[int, int]] = set()

    def add_activity(self, person: str, at: datetime) -> None:
        """Counts the activity of a person."""
        if cell := self._cohort_and_bucket_if_member_and_in_activity_range(person, at):
            self._active_and_last_active_counts_query[cell].add(person)

    def add_payment(self, person: str, at: datetime, net_amount: int | None) -> None:
        """Adds a payment of a person; None is an amount without an exchange rate."""
        cell = self._cohort_and_bucket_if_member_and_in_activity_range(person, at)
        if cell and net_amount is not None:
            self._revenue[cell] += net_amount
        elif cell:
            self._cells_with_foreign_money.add(cell)

    def nonempty_cells_by_cohort(self) -> list[CohortActivity]:
        """Returns the cells that are not empty, cohort by cohort."""
        cells = []
        for cohort in sorted(set(self._cohort_of_persons_acquired_in_span.values())):
            returned: set[str] = set()
            cohort_cells = []
            for bucket in reversed(range(cohort, len(self._plan.activity.starts))):
                key = cohort, bucket
                active = self._active_and_last_active_counts_query.get(key, set())
                returned |= active
                cohort_cells.append(
                    CohortActivity(
                        cohort,
                        bucket,
                        len(active),
                        len(returned),
                        self._revenue[key],
                        key in self._cells_with_foreign_money,
                    )
                )
            cells += [c for c in reversed(cohort_cells) if c.returned or c.revenue or c.foreign_money]
        return cells

    def _cohort_and_bucket_if_member_and_in_activity_range(
        self, person: str, at: datetime
    ) -> tuple[int, int] | None:
        activity = self._plan.activity
        if person not in self._cohort_of_persons_acquired_in_span or not is_in_span(
            TimeRange(activity.starts[0], activity.end), at
        ):
            return None
        return self._cohort_of_persons_acquired_in_span[person], _bucket_index(activity, at)
