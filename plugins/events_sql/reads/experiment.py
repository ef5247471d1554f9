"""Evaluates experiments: persons by the variant of their exposures, and their outcome in a window."""

from collections import defaultdict
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.relations.charges_and_refunds import PaymentRows
from plugins.events_sql.relations.order_repeats import named_events_without_order_repeats
from plugins.events_sql.relations.relation_rows import PERSON, EventRows, conversions_once_per_order
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from plugins.events_sql.sql.time_buckets import epoch_microseconds, microseconds
from plugins.events_sql.sql.value_counts import text_or_null
from service_core.plugin import (
    CHARGE,
    ExperimentOutcome,
    ExperimentReaderQuery,
    MixedPerson,
    TimeRange,
    VariantOutcome,
)

_EXPOSED: Final = sa.table(
    "exposed_persons",
    *(sa.column(name, sa.BigInteger) for name in ("person_no", "t")),
    *(sa.column(name, sa.Text) for name in ("variant", "last_variant")),
)
"""Temporary table of exposed persons: microsecond of the first exposure, and first and last variant by name."""


def evaluate_experiment(
    query: ExperimentReaderQuery, max_mixed_persons: int, runner: StatementRunner
) -> ExperimentOutcome:
    """Returns the outcome by variant, and the persons exposed to several."""
    runner.begin_snapshot()
    end = min(query.scope.span.end, query.now)
    if end <= query.scope.span.start:
        return ExperimentOutcome([], 0, [])
    exposures = _ExposureRows(query, TimeRange(query.scope.span.start, end))
    runner.create_temp_table(_EXPOSED.name, exposures.first_and_last_variant_per_person())
    persons = sorted(tuple(row) for row in runner.fetch_rows(_persons_by_variant(query)))
    (mixed,) = runner.fetch_rows(sa.select(sa.func.count()).select_from(_EXPOSED).where(_is_mixed()))
    converted = {
        variant: counts for variant, *counts in runner.fetch_rows(_converted_persons_by_variant(query))
    }
    paid: defaultdict[str, dict[int, int]] = defaultdict(dict)
    foreign: set[str] = set()
    for variant, amount, lacks_rate, payers in runner.fetch_rows(_payers_by_amount(query)):
        paid[variant][int(amount)] = paid[variant].get(int(amount), 0) + payers
        foreign |= {variant} if lacks_rate else set()
    return ExperimentOutcome(
        [
            VariantOutcome(
                variant,
                persons=count,
                open=still_open,
                converted=int(converted.get(variant, (0, 0))[0]),
                conversions=int(converted.get(variant, (0, 0))[1]),
                payers_by_amount=paid[variant],
                foreign_money=variant in foreign,
            )
            for variant, count, still_open in persons
        ],
        mixed[0],
        [
            MixedPerson(*row)
            for row in (runner.fetch_rows(exposures.mixed_persons(max_mixed_persons)) if mixed[0] else [])
        ],
    )


class _ExposureRows:
    """The events that expose persons to a variant."""

    def __init__(self, query: ExperimentReaderQuery, span: TimeRange) -> None:
        scope = replace(query.scope, filters=query.exposure_conditions)
        self._rows = EventRows(scope, span)
        self._person = self._rows.person_no
        self._variant = text_or_null(self._rows.predicate_value(query.variant_column))
        named = name_in(EVENTS.c.event_name, query.exposure_names)
        self._where = [*self._rows.scope_conditions(), named, self._variant.is_not(None)]

    def first_and_last_variant_per_person(self) -> sa.Select[Any]:
        """Selects the rows of `_EXPOSED`."""
        at = fn.EpochMicroseconds(self._rows.at).label("t")
        columns = (self._person.label("person_no"), at, self._variant.label("variant"))
        each = sa.select(*columns).select_from(self._rows.source).where(*self._where).subquery("exposures")
        c = each.c
        bounds = (sa.func.min(c.variant).label("variant"), sa.func.max(c.variant).label("last_variant"))
        return sa.select(c.person_no, sa.func.min(c.t).label("t"), *bounds).group_by(c.person_no)

    def mixed_persons(self, limit: int) -> sa.Select[Any]:
        """Selects the persons exposed to several variants, with their first visitor id by code point."""
        id_text = self._rows.column_with_fallbacks(PERSON).label("person")
        mixed = sa.select(_EXPOSED.c.person_no).where(_is_mixed())
        columns = (id_text, EVENTS.c.visitor_id.label("visitor_id"))
        each = sa.select(*columns).select_from(self._rows.source)
        found = each.where(*self._where, self._person.in_(mixed)).subquery("mixed")
        first = sa.select(found.c.person, sa.func.min(found.c.visitor_id)).group_by(found.c.person)
        return first.order_by(found.c.person).limit(limit)


def _is_mixed() -> Expression:
    return _EXPOSED.c.variant != _EXPOSED.c.last_variant


def _persons_by_variant(query: ExperimentReaderQuery) -> sa.Select[Any]:
    """Selects the number of persons by variant, and how many of them have a window that has not ended."""
    opened_after = epoch_microseconds(query.now) - microseconds(query.window)
    is_open = _EXPOSED.c.t > sa.literal(opened_after, sa.BigInteger)
    counts = (sa.func.count(), sa.func.count().filter(is_open))
    return sa.select(_EXPOSED.c.variant, *counts).where(sa.not_(_is_mixed())).group_by(_EXPOSED.c.variant)


def _converted_persons_by_variant(query: ExperimentReaderQuery) -> sa.Select[Any]:
    """Selects the number of persons who converted by variant, and that of their conversions."""
    span = _outcome_span(query)
    table = EVENTS if query.goal_names is not None else conversions_once_per_order(query.scope, span)
    rows = EventRows(query.scope, span, table)
    number = rows.person_no
    per_person = (
        sa.select(_EXPOSED.c.variant, sa.func.count().label("conversions"))
        .select_from(rows.source.join(_EXPOSED, _is_in_window(query, number, rows.at)))
        .where(*rows.where, *named_events_without_order_repeats(query.goal_names, query.scope, span))
        .group_by(_EXPOSED.c.person_no, _EXPOSED.c.variant)
        .subquery("converted")
    )
    c = per_person.c
    return sa.select(c.variant, sa.func.count(), sa.func.sum(c.conversions)).group_by(c.variant)


def _payers_by_amount(query: ExperimentReaderQuery) -> sa.Select[Any]:
    """Selects variant, net amount of a person, whether some of it has no rate, and the number of such persons."""
    rows = PaymentRows(query.scope, _outcome_span(query))
    number = rows.distinct_key(PERSON)
    net = sa.case((rows.table.c.kind == CHARGE, rows.amount), else_=-rows.amount)
    revenue, lacks_rate = rows.revenue_and_missing_rate_flag(net)
    per_person = (
        sa.select(_EXPOSED.c.variant, revenue.label("net"), lacks_rate.label("lacks_rate"))
        .select_from(rows.source.join(_EXPOSED, _is_in_window(query, number, rows.at)))
        .where(*rows.where)
        .group_by(_EXPOSED.c.person_no, _EXPOSED.c.variant)
        .subquery("paid")
    )
    keys = (per_person.c.variant, per_person.c.net, per_person.c.lacks_rate)
    return sa.select(*keys, sa.func.count()).group_by(*keys)


def _outcome_span(query: ExperimentReaderQuery) -> TimeRange:
    return TimeRange(query.scope.span.start, min(query.scope.span.end + query.window, query.now))


def _is_in_window(query: ExperimentReaderQuery, person: Expression, at: Expression) -> Expression:
    """Returns the condition that a person of one variant did something in the window, the end not included."""
    since = fn.EpochMicroseconds(at) - _EXPOSED.c.t
    window = sa.literal(microseconds(query.window), sa.BigInteger)
    return sa.and_(_EXPOSED.c.person_no == person, sa.not_(_is_mixed()), since >= 0, since < window)
