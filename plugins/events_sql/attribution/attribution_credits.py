"""The relation CREDITS: conversions and money split over touches, inside the engine.

Integers are split by the largest-remainder method, ties to the earlier touch, so the parts always add up.
Weights are integers too, except those of time decay.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import starmap
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.attribution.credited_conversions import (
    CREDITED_CONVERSIONS,
    create_credited_conversions_table,
)
from plugins.events_sql.attribution.path_touches import PATH_TOUCHES, create_touch_tables_of_conversions
from plugins.events_sql.attribution.touch_paths import touches_in_window_query
from plugins.events_sql.attribution.touches import TOUCH_VALUE_COLUMNS
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.identity_resolution import persons_first_seen
from plugins.events_sql.relations.currency_conversion import is_foreign
from plugins.events_sql.relations.relation_rows import RelationRows, is_in_span, span_conditions
from plugins.events_sql.schema.tables import IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import NamedSubquery, SqlType, compiled_source, declare_parameter
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.largest_remainder import part_by_largest_remainder
from plugins.events_sql.sql.time_buckets import microseconds
from service_core.plugin import Column, ColumnOwner, CreditRule, QueryScope, TimeRange, Weighting

_SPLIT_COLUMNS: Final = ("credit", "order_credit", "amount", "refunded")
_MAX_DENOMINATOR: Final = 10**9
_CREDIT_COLUMNS: Final[Mapping[str, SqlType]] = {
    "at": sa.DateTime(),
    **dict.fromkeys((f"touch_{name}" for name in TOUCH_VALUE_COLUMNS), sa.Text()),
    **dict.fromkeys(_SPLIT_COLUMNS, sa.BigInteger()),
    "person_no": IdNumber(),
    **dict.fromkeys(("event_name", "currency"), sa.Text()),
    **dict.fromkeys(("is_order", "first_order", "attributed"), sa.Boolean()),
}
_UNIT_COLUMNS: Final[Mapping[str, SqlType]] = {
    **dict.fromkeys(("unit", "touch_seq"), sa.BigInteger()),
    "touch_at": sa.DateTime(),
}
"""Columns that say which unit and touch a row is of; only the table of `create_credits_of_units_tables` has them."""

_HALF_LIFE: Final = declare_parameter("half_life", sa.Double())


class CreditRows(RelationRows):
    """The rows of CREDITS, from a table of `create_credits_table`."""

    def __init__(self, scope: QueryScope, span: TimeRange, table: sa.TableClause) -> None:
        self.table = table
        self.at = table.c.at
        super().__init__(scope)
        self.where += span_conditions(self.at, span)

    def column_without_fallback(self, column: Column) -> Expression:
        """Returns a column of the touch, or a fact of the credited unit."""
        if column.owner is ColumnOwner.TOUCH and column.name in TOUCH_VALUE_COLUMNS:
            return self.table.c[f"touch_{column.name}"]
        return super().column_without_fallback(column)

    def column_or_joined_fact(self, name: str) -> Expression:
        """Returns a fact of the credited unit."""
        if name == "person_is_new":
            first = self.outer_join_once(
                "person_first",
                lambda: persons_first_seen(self.scope),
                lambda p: p.c.person_no == self.table.c.person_no,
            )
            return is_in_span(first.c.first_at, self.scope.span)
        if name == "missing_fx_rate":
            return is_foreign(self.table.c.currency, self.scope)
        fact_names = {*_SPLIT_COLUMNS, "attributed", "is_order", "first_order", "event_name", "currency"}
        return self.table.c[name] if name in fact_names else super().column_or_joined_fact(name)


def credits_table(trailing_days: int | None = None) -> sa.TableClause:
    """Returns the temporary table of credits in a span, or in the trailing windows of that many days."""
    name = "credits" if trailing_days is None else f"credits_of_{trailing_days}_days"
    return sa.table(name, *starmap(sa.column, _CREDIT_COLUMNS.items()))


def create_credits_table(
    table: sa.TableClause,
    scope: QueryScope,
    rule: CreditRule,
    runner: StatementRunner,
    *,
    with_first_orders: bool,
) -> None:
    """Creates the table of one row per unit and touch with credit, or one row without a touch.

    All columns of a touch and all numbers are included, so that the queries of one request share the table.

    Args:
        table: a table of `credits_table`.
        scope: the workspace, which events convert, and the instants to read.
        rule: how a unit is split.
        runner: runs the statements of the read.
        with_first_orders: also compute first orders, which reads all events.
    """
    read_scope = (
        replace(scope, span=TimeRange(scope.span.start, scope.span.end + rule.window))
        if rule.book_at_touch
        else scope
    )
    create_credited_conversions_table(read_scope, rule, runner, with_first_orders=with_first_orders)
    create_touch_tables_of_conversions(scope, rule.window, runner)
    runner.create_temp_table(table.name, deferred_statement(_credits_query, scope, rule))


def credits_of_units_table(name: str) -> sa.TableClause:
    """Returns a temporary table of credits that says which unit and touch each row is of."""
    return sa.table(name, *starmap(sa.column, {**_CREDIT_COLUMNS, **_UNIT_COLUMNS}.items()))


def create_credits_of_units_tables(
    rule_by_table: Mapping[sa.TableClause, CreditRule], scope: QueryScope, runner: StatementRunner
) -> None:
    """Creates tables of `credits_of_units_table`, each by its rule; the rules have the same window and conversions."""
    rule = next(iter(rule_by_table.values()))
    end = scope.span.end + rule.window if rule.book_at_touch else scope.span.end
    read_scope = replace(scope, span=TimeRange(scope.span.start, end))
    create_credited_conversions_table(read_scope, rule, runner, with_first_orders=False)
    create_touch_tables_of_conversions(scope, rule.window, runner)
    for table, each in rule_by_table.items():
        runner.create_temp_table(table.name, deferred_statement(_credits_query, scope, each, True))


def _credits_query(scope: QueryScope, rule: CreditRule, with_units: bool = False) -> sa.Select[Any]:
    split = _CreditSplit(rule.weighting, rule.ignore_direct, rule.book_at_touch, rule.endpoint_share)
    values = {
        "workspace": scope.workspace_id,
        "within": microseconds(rule.window),
        "half_life": float(microseconds(rule.half_life)),
    }
    credit = compiled_source(_conversions_with_touch_credits_query, split).as_subquery(
        "source_rows", **values
    )
    names = [*_CREDIT_COLUMNS, *(_UNIT_COLUMNS if with_units else ())]
    return sa.select(*(credit.c[name] for name in names))


class _CreditSplit(NamedTuple):
    """The parts of an attribution rule that change the SQL; windows and half-lives are parameters."""

    weighting: Weighting
    drop_direct: bool
    by_touch: bool
    ends_share: float


def _conversions_with_touch_credits_query(rule: _CreditSplit) -> sa.Select[Any]:
    unit, shared = (
        CREDITED_CONVERSIONS,
        _split_whole_numbers_over_credited_touches(_touches_ranked_in_path(rule), rule),
    )
    at = sa.func.coalesce(shared.c.touch_at, unit.c.booked) if rule.by_touch else unit.c.booked
    columns = [shared.c[f"touch_{name}"] for name in TOUCH_VALUE_COLUMNS]
    parts = [sa.func.coalesce(shared.c[f"part_{name}"], unit.c[name]).label(name) for name in _SPLIT_COLUMNS]
    facts = [
        unit.c[name] for name in ("unit", "person_no", "event_name", "currency", "is_order", "first_order")
    ]
    position = [shared.c.touch_at, shared.c.touch_seq]
    attributed = shared.c.unit.is_not(None).label("attributed")
    return sa.select(at.label("at"), *columns, *parts, *facts, *position, attributed).select_from(
        unit.outerjoin(shared, shared.c.unit == unit.c.unit)
    )


def _touches_ranked_in_path(rule: _CreditSplit) -> NamedSubquery:
    """Returns the touches in the window of each unit, with their rank in the path."""
    touched = compiled_source(
        touches_in_window_query,
        CREDITED_CONVERSIONS.name,
        PATH_TOUCHES.name,
        TOUCH_VALUE_COLUMNS,
        ("has_path", *_SPLIT_COLUMNS),
    ).as_subquery("reached")
    all_direct = sa.func.bool_and(touched.c.is_direct).over(partition_by=touched.c.unit)
    counts = sa.or_(sa.not_(touched.c.is_direct), all_direct).label("counts")
    counted = touched.with_columns("met", counts, where=[touched.c.has_path])
    together: Any = {"partition_by": counted.c.unit}
    in_time = (counted.c.touch_at, counted.c.touch_seq)
    return counted.with_columns(
        "path",
        sa.func.row_number().over(**together, order_by=in_time).label("place"),
        sa.func.count().over(**together).label("n"),
        sa.func.min(counted.c.waited).over(**together).label("least"),
        where=[counted.c.counts] if rule.drop_direct else [],
    )


def _split_whole_numbers_over_credited_touches(
    ranked_touches: NamedSubquery, rule: _CreditSplit
) -> NamedSubquery:
    """Returns the part of each number of a unit that each touch gets."""
    if rule.weighting in {Weighting.FIRST, Weighting.LAST}:
        chosen = 1 if rule.weighting is Weighting.FIRST else ranked_touches.c.n
        parts = [ranked_touches.c[name].label(f"part_{name}") for name in _SPLIT_COLUMNS]
        return ranked_touches.with_columns("shared", *parts, where=[ranked_touches.c.place == chosen])
    weighted = ranked_touches.with_columns("weighted", _touch_weight(ranked_touches.c, rule).label("weight"))
    weight_sum = sa.func.sum(weighted.c.weight).over(partition_by=weighted.c.unit).label("whole")
    summed = weighted.with_columns("summed", weight_sum, where=[weighted.c.weight > 0])
    floors = summed.with_columns(
        "floors",
        *(
            sa.func.floor(_exact_credit(summed.c, name, rule)).label(f"floor_{name}")
            for name in _SPLIT_COLUMNS
        ),
        *(_remainder(summed.c, name, rule).label(f"rest_{name}") for name in _SPLIT_COLUMNS),
    )
    return floors.with_columns(
        "shared",
        *(
            part_by_largest_remainder(floors.c, name, floors.c.unit).label(f"part_{name}")
            for name in _SPLIT_COLUMNS
        ),
    )


def _touch_weight(touch_columns: Any, rule: _CreditSplit) -> Expression:
    if rule.weighting is Weighting.TIME_DECAY:
        halves = sa.cast(touch_columns.waited - touch_columns.least, sa.Double) / _HALF_LIFE
        return sa.func.pow(sa.literal(0.5, sa.Double), halves, type_=sa.Double)
    if rule.weighting is Weighting.POSITION_BASED:
        share = Fraction(rule.ends_share).limit_denominator(_MAX_DENOMINATOR)
        ends = sa.literal(share.numerator) * (touch_columns.n - 2)
        middle = sa.literal(share.denominator - 2 * share.numerator)
        at_end = sa.or_(touch_columns.place == 1, touch_columns.place == touch_columns.n)
        return sa.case((touch_columns.n <= 2, sa.literal(1)), (at_end, ends), else_=middle)  # noqa: PLR2004 - a middle needs three
    return sa.literal_column("1", sa.BigInteger)


def _exact_credit(columns: Any, credit_column: str, rule: _CreditSplit) -> Expression:
    if rule.weighting is Weighting.TIME_DECAY:
        share: Expression = columns[credit_column] * columns.weight / columns.whole
        return share
    return fn.WideIntegerDivide(fn.WideInteger(columns[credit_column]) * columns.weight, columns.whole)


def _remainder(columns: Any, credit_column: str, rule: _CreditSplit) -> Expression:
    if rule.weighting is Weighting.TIME_DECAY:
        quota = _exact_credit(columns, credit_column, rule)
        return fn.Rounded(quota - sa.func.floor(quota))
    return sa.func.mod(fn.WideInteger(columns[credit_column]) * columns.weight, columns.whole)
