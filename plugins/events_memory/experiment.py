"""Evaluates experiments: persons by the variant of their exposures, and their outcome in a window."""

from collections import Counter, defaultdict
from datetime import datetime

from plugins.events_memory.currency_conversion import converted_amount_or_none
from plugins.events_memory.relation_rows import event_row, is_in_span
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    CHARGE,
    Event,
    ExperimentOutcome,
    ExperimentReaderQuery,
    MixedPerson,
    VariantOutcome,
    scalar_as_json_text,
)


def evaluate_experiment(
    query: ExperimentReaderQuery, max_mixed_persons: int, history: WorkspaceEvents
) -> ExperimentOutcome:
    """Returns the outcome by variant, and the persons exposed to several."""
    exposures = _exposures_by_person(query, history)
    variants = {person: {variant for _, variant in each} for person, each in exposures.items()}
    mixed = sorted(person for person, names in variants.items() if len(names) > 1)
    members = {
        person: (exposures[person][0][0].timestamp, next(iter(names)))
        for person, names in variants.items()
        if len(names) == 1
    }
    return ExperimentOutcome(
        _VariantCounts(query, members, history).outcomes(),
        len(mixed),
        [
            MixedPerson(person, min(event.visitor_id for event, _ in exposures[person]))
            for person in mixed[:max_mixed_persons]
        ],
    )


def _exposures_by_person(
    query: ExperimentReaderQuery, history: WorkspaceEvents
) -> dict[str, list[tuple[Event, str]]]:
    """Returns the exposures of each person with their variants, oldest first."""
    exposures: defaultdict[str, list[tuple[Event, str]]] = defaultdict(list)
    for event in history.events:
        if (
            event.event_name not in query.exposure_names
            or event.timestamp >= query.now
            or not is_in_span(query.scope.span, event.timestamp)
        ):
            continue
        row = event_row(event, history, query.scope)
        variant = scalar_as_json_text(row.value_or_first_fallback(query.variant_column))
        if variant is not None and row.matches(query.exposure_conditions):
            exposures[history.person_of(event)].append((event, variant))
    return exposures


class _VariantCounts:
    """Counts what the persons of the variants did in their windows."""

    def __init__(
        self,
        query: ExperimentReaderQuery,
        members: dict[str, tuple[datetime, str]],
        history: WorkspaceEvents,
    ) -> None:
        self._query, self._members, self._history = query, members, history

    def outcomes(self) -> list[VariantOutcome]:
        """Returns the outcome of each variant, by name."""
        conversions = self._conversions_by_person()
        paid, foreign = self._net_amount_by_person()
        outcomes = []
        for variant in sorted({variant for _, variant in self._members.values()}):
            persons = [person for person, (_, name) in self._members.items() if name == variant]
            outcomes.append(
                VariantOutcome(
                    variant,
                    len(persons),
                    sum(self._members[each][0] + self._query.window > self._query.now for each in persons),
                    sum(each in conversions for each in persons),
                    sum(conversions[each] for each in persons),
                    Counter(paid[each] for each in persons if each in paid),
                    not foreign.isdisjoint(persons),
                )
            )
        return outcomes

    def _conversions_by_person(self) -> Counter[str]:
        return Counter(
            person
            for event in self._goal_events()
            if self._is_in_window_of_member(person := self._history.person_of(event), event.timestamp)
        )

    def _goal_events(self) -> list[Event]:
        names, history = self._query.goal_names, self._history
        if names is None:
            return history.conversions_once_per_order
        return [
            e for e in history.events if e.event_name in names and e.seq not in history.repeated_order_seqs
        ]

    def _net_amount_by_person(self) -> tuple[Counter[str], set[str]]:
        """Returns the net amount of each person who paid, and the persons with money without a rate."""
        paid: Counter[str] = Counter()
        foreign: set[str] = set()
        for payment in self._history.payments_once_per_order:
            person = self._history.person_of(payment.event)
            if not self._is_in_window_of_member(
                person, payment.booked_at(order_refunds=self._query.scope.order_refunds)
            ):
                continue
            amount = converted_amount_or_none(self._query.scope, payment)
            paid[person] += 0 if amount is None else amount if payment.kind == CHARGE else -amount
            if amount is None and payment.amount:
                foreign.add(person)
        return paid, foreign

    def _is_in_window_of_member(self, person: str, at: datetime) -> bool:
        """Returns whether an instant lies in the window of a member, the end not included, and before now."""
        if person not in self._members or at >= self._query.now:
            return False
        exposed = self._members[person][0]
        return exposed <= at < exposed + self._query.window
