"""Counts the records that a term leaves out, by reason, with the predicates of the reads themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.event_rules.revenue_events import is_order_event, is_revenue_event
from service_core.analytics.event_rules.visits import IS_VISIT_EVENT
from service_core.analytics.measures import (
    Aggregation,
    Column,
    Condition,
    FilterOperator,
    NotAll,
    Predicate,
    Relation,
    count_rows,
)
from service_core.analytics.ports import AggregateQuery, ConversionSet
from service_core.analytics.query.evaluate_predicate import condition_matches
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.plan import SourceQuery, aggregate_query_without_order_and_limit
from service_core.analytics.receipts.terms import TermRecords
from service_core.ingestion.event_names import REFUND_EVENTS
from service_core.kernel.async_gather import gather_or_cancel

_IS_BOT: Final = Predicate("is_bot", value=True)
_HAS_AMOUNT: Final = Predicate("revenue", FilterOperator.GT, 0)
_AMOUNT_BY_SIGN: Final = {
    1: _HAS_AMOUNT,
    0: Predicate("revenue", value=0),
    -1: Predicate("revenue", FilterOperator.LT, 0),
}
"""Sign of an amount -> its condition."""

_EVENT_KIND: Final = tuple(
    {str(Relation.EVENTS): Column(name)} for name in ("event_name", "is_bot", "is_test")
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many records of a term are left out for a reason."""

    term: str
    reason: str
    records: int


@dataclass(frozen=True, slots=True)
class LeftOutCounter:
    """Counts what the terms of one receipt leave out.

    Attributes:
        query: the query of the receipt.
        bucket: start of the bucket of the receipt; None for all of the range.
    """

    caller: Caller
    queries: MetricQueries
    query: MetricQuery
    bucket: datetime | None

    async def count(self, terms: Sequence[TermRecords]) -> list[LeftOut]:
        """Returns the reasons for which at least one record is left out."""
        counted = await gather_or_cancel(*(self._count_left_out_of_term(term) for term in terms))
        return [each for left_out in counted for each in left_out if each.records > 0]

    async def _count_left_out_of_term(self, term: TermRecords) -> list[LeftOut]:
        if term.source_query is None:
            return []
        counted = _CountedTerm(term.name, term.base, term.source_query, len(term.records))
        if term.base.relation is Relation.EVENTS:
            return await self._count_left_out_events(counted)
        if term.base.relation is Relation.SESSIONS:
            return await self._count_left_out_sessions(counted)
        if term.base.relation is Relation.PAYMENTS:
            return await self._count_left_out_payments(counted)
        return (
            await self._count_left_out_conversions(counted)
            if term.base.relation is Relation.CONVERSIONS
            else []
        )

    async def _count_left_out_events(self, term: "_CountedTerm") -> list[LeftOut]:
        """Counts events of bots, and for visits the events that no device sent."""
        rows = term.row_count()
        left_out = []
        if not self.query.include_bots:
            bots = await self._count_rows(term, rows.with_conditions(_IS_BOT), include_bots=True)
            left_out.append(LeftOut(term.name, "bot", bots))
        if IS_VISIT_EVENT in rows.where:
            without = tuple(condition for condition in rows.where if condition != IS_VISIT_EVENT)
            others = replace(rows, where=without).with_conditions(NotAll((IS_VISIT_EVENT,)))
            left_out.append(LeftOut(term.name, "no_visit", await self._count_rows(term, others)))
        return left_out

    async def _count_left_out_sessions(self, term: "_CountedTerm") -> list[LeftOut]:
        """Counts sessions of bots alone, and those that fail one of the conditions of the term."""
        rows = term.row_count()
        counted = await self._count_rows(term, rows)
        left_out = []
        if not self.query.include_bots:
            with_bots = await self._count_rows(term, rows, include_bots=True)
            left_out.append(LeftOut(term.name, "bot", with_bots - counted))
        if term.base.where:
            others = replace(rows, where=rows.where[len(term.base.where) :])
            unconditional = await self._count_rows(term, others)
            left_out.append(LeftOut(term.name, "other_sessions", unconditional - counted))
        return left_out

    async def _count_left_out_conversions(self, term: "_CountedTerm") -> list[LeftOut]:
        """Counts conversions of bots, test conversions, and further reports of the same order."""
        rows = replace(term.row_count(), relation=Relation.EVENTS)
        query = self._aggregate_query(term, (rows, rows.with_conditions(_HAS_AMOUNT)), include_bots=True)
        conversions = query.scope.conversions
        result = await term.source_query.source.aggregate(replace(query, dimensions=_EVENT_KIND))
        counts = {"bot": 0, "test": 0, "duplicate_order": -term.record_count}
        for row in result.rows:
            if self.bucket is not None and row[0] != self.bucket:
                continue
            name, is_bot, is_test, all_rows, paid_rows = row[-5:]
            reason = "bot" if is_bot else "test" if is_test else "duplicate_order"
            counts[reason] += _count_conversions(name, all_rows, paid_rows, conversions)
        return [LeftOut(term.name, reason, count) for reason, count in counts.items()]

    async def _count_left_out_payments(self, term: "_CountedTerm") -> list[LeftOut]:
        """Counts amounts of bots and tests, and further reports of the same order.

        Nothing where reports cannot tell: with conditions on anything but the kind, and for refunds on the day of their
        order.
        """
        conditions = (*term.source_query.filters, *term.row_count().where)
        names = {column.name for condition in conditions for column in condition.columns}
        if self.query.book_refunds_at_order or not names <= {"kind", "is_order", "is_main_part"}:
            return []
        measures = tuple(count_rows(Relation.EVENTS, _AMOUNT_BY_SIGN[sign]) for sign in _AMOUNT_BY_SIGN)
        query = self._aggregate_query(term, measures, include_bots=True)
        query = replace(query, scope=replace(query.scope, filters=()), dimensions=_EVENT_KIND)
        result = await term.source_query.source.aggregate(query)
        counts = {"bot": 0, "test": 0, "duplicate_order": -term.record_count}
        for row in result.rows:
            if self.bucket is not None and row[0] != self.bucket:
                continue
            name, is_bot, is_test = row[-6:-3]
            reason = "bot" if is_bot else "test" if is_test else "duplicate_order"
            counts[reason] += sum(
                count
                for sign, count in zip(_AMOUNT_BY_SIGN, row[-3:], strict=True)
                if _is_counted_amount(name, sign, query.scope.conversions, conditions)
            )
        return [LeftOut(term.name, reason, count) for reason, count in counts.items()]

    async def _count_rows(
        self, term: "_CountedTerm", rows: Aggregation, *, include_bots: bool | None = None
    ) -> int:
        query = self._aggregate_query(term, (rows,), include_bots=include_bots)
        result = await term.source_query.source.aggregate(query)
        return sum(row[-1] for row in result.rows if self.bucket is None or row[0] == self.bucket)

    def _aggregate_query(
        self, term: "_CountedTerm", measures: tuple[Aggregation, ...], *, include_bots: bool | None
    ) -> AggregateQuery:
        query = aggregate_query_without_order_and_limit(
            term.source_query, self.query, self.queries.catalog, self.caller
        )
        scope = query.scope if include_bots is None else replace(query.scope, include_bots=include_bots)
        return replace(query, scope=scope, measures=measures)


@dataclass(frozen=True, slots=True)
class _CountedTerm:
    """A term that a source has read."""

    name: str
    base: Aggregation
    source_query: SourceQuery
    record_count: int

    def row_count(self) -> Aggregation:
        """Returns the count of the rows that the term reads, with all its conditions."""
        return replace(self.source_query.aggregation_by_base[self.base], column=None, distinct=False)


def _count_conversions(name: str, all_rows: int, paid_rows: int, conversions: ConversionSet) -> int:
    """Returns how many events of a name convert, before reports of one order are merged."""
    if name in conversions.names:
        return all_rows
    is_paid = conversions.any_revenue and name not in REFUND_EVENTS and is_revenue_event(name, conversions)
    return paid_rows if is_paid else 0


def _is_counted_amount(
    name: str, sign: int, conversions: ConversionSet, conditions: Sequence[Condition]
) -> bool:
    """Whether an amount of an event name is a payment that meets conditions on kind and order."""
    if not is_revenue_event(name, conversions):
        return False
    is_order = is_order_event(name, conversions)
    is_refund = sign < 0 or (name in REFUND_EVENTS and sign != 0)
    if not is_refund and not sign and not is_order:
        return False
    payment = {
        "kind": "refund" if is_refund else "charge",
        "is_order": is_order and not is_refund,
        "is_main_part": True,
    }
    return all(condition_matches(each, lambda column: payment[column.name]) for each in conditions)
