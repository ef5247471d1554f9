"""Reads the records of the terms of a metric by the same queries that compute its value, grouped by record."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

from service_core.access.models import Caller
from service_core.analytics.measures import Aggregation, DailyMean, Difference, Measure, Ratio, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult
from service_core.analytics.query.compute import (
    aggregation_of,
    iterate_counts_of_rows_making_sum_unknown,
    list_base_measures,
)
from service_core.analytics.query.formula import formula_of_metric
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.plan import (
    SourceQuery,
    aggregate_query_without_order_and_limit,
    plan_query,
)
from service_core.analytics.query.record_columns import record_columns_by_field
from service_core.analytics.query.relation_columns import is_in_millionths, is_money
from service_core.analytics.receipts.canonical import canonical_json
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.errors import BadRequest
from service_core.kernel.money import currency_decimals

MAX_RECORDS: Final = 50_000
"""How many records one term of a receipt may have."""

_DECIMALS_OF_MILLIONTHS: Final = 6
_MILLION: Final = 1_000_000

Record: TypeAlias = Mapping[str, Any]
"""A record as answers show it: the name of its term, the fields that name it, and its contribution."""


@dataclass(frozen=True, slots=True)
class TermRecords:
    """One term of a formula with the records it counts.

    Attributes:
        name: name of the term in the formula.
        base: what it counts.
        records: the records in the order of their canonical texts.
        lines: these texts.
        total: sum of the contributions; None where some stand in other currencies, without a rate to convert them.
        amounts: sum of the contributions by currency where there is no total; empty otherwise.
        source_query: what it was read by; None if no row can meet its conditions.
    """

    name: str
    base: Aggregation
    records: Sequence[Record]
    lines: Sequence[str]
    total: Decimal | None
    amounts: Mapping[str, Decimal]
    source_query: SourceQuery | None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a record adds to its term.

    Attributes:
        amount: in the unit of the metric; money in whole units of the currency.
        currency: of an amount without a rate to convert it to the currency of the workspace; None for any other one.
    """

    amount: Decimal
    currency: str | None = None

    @property
    def fields(self) -> Record:
        """The fields of a record that say it."""
        amount = {"contribution": json_number(self.amount)}
        return amount if self.currency is None else {**amount, "contribution_currency": self.currency}


@dataclass(frozen=True, slots=True)
class TermReader:
    """Reads the terms of one metric.

    Attributes:
        caller: whose workspace is read.
        queries: the catalog and the sources.
        query: one metric without dimensions.
        bucket: start of the bucket to list; None for all of the range.
    """

    caller: Caller
    queries: MetricQueries
    query: MetricQuery
    bucket: datetime | None

    async def read_terms(self) -> tuple[TermRecords, ...]:
        """Returns the terms of the metric with their records.

        Raises:
            BadRequest: ``too_many_rows``.
        """
        (metric,) = self.queries.metrics_by_id(self.query.metrics)
        relations = {aggregation_of(base).relation for base in list_base_measures(metric.measure)}
        sources = {
            relation: source
            for relation in relations
            if (source := self.queries.source_of_relation_or_none(relation)) is not None
        }
        plan = plan_query(self.query, (metric,), self.queries.catalog, sources, self.caller.workspace)
        terms = formula_of_metric(metric, self.queries.catalog).terms
        return tuple(
            await gather_or_cancel(
                *(
                    self._read_term(name, base, _source_query_of(base, plan.source_queries))
                    for name, base in terms.items()
                    if isinstance(base, Aggregation)
                )
            )
        )

    async def _read_term(self, name: str, base: Aggregation, source_query: SourceQuery | None) -> TermRecords:
        if source_query is None:
            return TermRecords(name, base, (), (), Decimal(0), {}, None)
        result = await source_query.source.aggregate(self._record_query(base, source_query))
        if result.total_rows > MAX_RECORDS:
            raise BadRequest(
                f"More than {MAX_RECORDS:,} records count",
                "too_many_rows",
                field="key",
                hint="Open a cell with fewer records: a shorter range, or a filter.",
            )
        # Tens of thousands of records take seconds, in which other requests go on.
        return await asyncio.to_thread(
            self._list_records_in_canonical_order, name, base, source_query, result
        )

    def _list_records_in_canonical_order(
        self, name: str, base: Aggregation, source_query: SourceQuery, result: AggregateResult
    ) -> TermRecords:
        own_currency = self.caller.workspace.currency
        contribution_of = _read_contributions(base, source_query, own_currency)
        fields = record_columns_by_field(base)
        records, contributions = [], []
        for row in _rows_of(result, self.query.buckets is not None):
            if self.bucket is not None and row.bucket != self.bucket:
                continue
            named = dict(zip(fields, row.columns, strict=True))
            contribution = contribution_of(named, row.values)
            contributions.append(contribution)
            records.append({"term": name, **named, **contribution.fields})
        ordered = sorted((canonical_json(record), index) for index, record in enumerate(records))
        amounts = _sum_by_currency(contributions, own_currency)
        has_total = set(amounts) <= {own_currency}
        return TermRecords(
            name,
            base,
            [records[index] for _, index in ordered],
            [line for line, _ in ordered],
            amounts.get(own_currency, Decimal(0)) if has_total else None,
            {} if has_total else amounts,
            source_query,
        )

    def _record_query(self, base: Aggregation, source_query: SourceQuery) -> AggregateQuery:
        """Returns the query of a term by record; with the counts of rows without a rate, so that money is converted."""
        evaluated = source_query.aggregation_by_base
        counts = iterate_counts_of_rows_making_sum_unknown(base, self.caller.workspace.currency)
        return replace(
            aggregate_query_without_order_and_limit(
                source_query, self.query, self.queries.catalog, self.caller
            ),
            measures=(evaluated[base], *(evaluated[count] for count, _ in counts)),
            dimensions=tuple(
                {str(base.relation): column} for column in record_columns_by_field(base).values()
            ),
            limit=MAX_RECORDS + 1,
        )


def evaluate_terms(measure: Measure, total_by_base: Mapping[Aggregation, Decimal | None]) -> Fraction | None:
    """Returns the exact value of a measure from the totals of its terms.

    None for a division by zero, and where a term has no total.
    """
    if isinstance(measure, Aggregation):
        total = total_by_base[measure]
        return None if total is None else Fraction(total)
    if isinstance(measure, DailyMean):
        return None
    pair = (
        (measure.minuend, measure.subtrahend)
        if isinstance(measure, Difference)
        else (measure.numerator, measure.denominator)
    )
    left, right = (evaluate_terms(part, total_by_base) for part in pair)
    if left is None or right is None:
        return None
    if isinstance(measure, Difference):
        return left - right
    return _divide(measure, left, right)


def _divide(ratio: Ratio, numerator: Fraction, denominator: Fraction) -> Fraction | None:
    if denominator == 0:
        return None
    return 1 - numerator / denominator if ratio.complement else numerator / denominator * ratio.scale


def _source_query_of(base: Aggregation | DailyMean, parts: Sequence[SourceQuery]) -> SourceQuery | None:
    return next((part for part in parts if base in part.aggregation_by_base), None)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a store: bucket, values of the columns, and values of the aggregations."""

    bucket: datetime | None
    columns: tuple[Any, ...]
    values: Mapping[Aggregation, Any]


def _rows_of(result: AggregateResult, has_bucket: bool) -> Iterator[_Row]:
    width = len(result.aggregations)
    for row in result.rows:
        yield _Row(
            row[0] if has_bucket else None,
            tuple(map(_as_utc, row[has_bucket:-width])),
            dict(zip(result.aggregations, row[-width:], strict=True)),
        )


def _count_of_rows_without_rate(base: Aggregation, currency: str) -> Aggregation | None:
    """Returns the count of the rows of a sum of money that could not be converted; None for any other aggregation."""
    counts = iterate_counts_of_rows_making_sum_unknown(base, currency)
    return next((count for count, value in counts if value.reason is UnavailableReason.MISSING_FX_RATE), None)


def _read_contributions(
    base: Aggregation, source_query: SourceQuery, own_currency: str
) -> Callable[[Record, Mapping[Aggregation, Any]], Contribution]:
    """Returns what gives the contribution of a row; an amount that could not be converted is in the currency of the row."""
    evaluated = source_query.aggregation_by_base
    without_rate = _count_of_rows_without_rate(base, own_currency)

    def contribution_of(named: Record, values: Mapping[Aggregation, Any]) -> Contribution:
        value = values[evaluated[base]]
        if without_rate is None or not values[evaluated[without_rate]]:
            return Contribution(_exact_contribution(value, contribution_decimals(base, own_currency)))
        currency = named["currency"]
        return Contribution(_exact_contribution(value, contribution_decimals(base, currency)), currency)

    return contribution_of


def _sum_by_currency(contributions: Iterable[Contribution], own_currency: str) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for each in contributions:
        currency = each.currency or own_currency
        sums[currency] = sums.get(currency, Decimal(0)) + each.amount
    return dict(sorted(sums.items()))


def _as_utc(value: Any) -> Any:
    """Returns an instant that a store gives without time zone in UTC; any other value as it is."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def contribution_decimals(aggregation: Aggregation, currency: str) -> int:
    """Returns how many decimals the contributions to an aggregation have."""
    if is_money(aggregation):
        return currency_decimals(currency)
    is_duration = aggregation.relation is Relation.SESSIONS and str(aggregation.column) == "duration"
    return _DECIMALS_OF_MILLIONTHS if is_duration or is_in_millionths(aggregation) else 0


def _exact_contribution(value: Any, decimals: int) -> Decimal:
    """Returns a value of a store in the unit of the answer.

    Seconds are whole microseconds, counts and money whole smallest units. Spend of another currency, which is not
    rounded by row, is given to a millionth of the smallest unit.
    """
    if isinstance(value, Fraction):
        return Decimal(round(value * _MILLION)).scaleb(-decimals - _DECIMALS_OF_MILLIONTHS).normalize()
    return Decimal(round(value * _MILLION) if isinstance(value, float) else value).scaleb(-decimals)


def json_number(value: Decimal) -> float | int:
    """Returns an exact value as a JSON number."""
    return int(value) if value == value.to_integral_value() else float(value)
