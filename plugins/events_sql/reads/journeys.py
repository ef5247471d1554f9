"""Reads the journeys behind credits: conversions with their touches, and what each touch is credited with."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from plugins.events_sql.attribution.attribution_credits import (
    CreditRows,
    create_credits_of_units_tables,
    credits_of_units_table,
)
from plugins.events_sql.attribution.touches import TOUCH_VALUE_COLUMNS
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.reads.event_queries import EVENT_COLUMNS
from plugins.events_sql.reads.people.person_profile import row_to_touch
from plugins.events_sql.schema.row_mapping import row_to_event
from plugins.events_sql.schema.tables import EVENTS, ID_NUMBERS, IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import (
    Event,
    Journey,
    JourneyCredit,
    JourneysQuery,
    JourneysResult,
    JourneyTouch,
    QueryScope,
)

_INT: Final = sa.BigInteger
_SUM_COLUMNS: Final = ("credit", "amount", "refunded")
_FLAG_COLUMNS: Final = ("foreign_amount", "foreign_refund")
_CREDITS: Final = credits_of_units_table("journey_credits")
_CREDITS_OF_ALL_TOUCHES: Final = credits_of_units_table("journey_touches")
CREDITED_UNITS: Final = sa.table(
    "credited_units",
    sa.column("unit", _INT),
    sa.column("person_no", IdNumber),
    *(sa.column(name, _INT) for name in _SUM_COLUMNS),
    sa.column("booked", sa.DateTime),
    *(sa.column(name, sa.Boolean) for name in _FLAG_COLUMNS),
)
"""Temporary table of the units with credit that meets the filters; a unit is a sequence number times 2, a refund 1 more."""

_TouchParts: TypeAlias = Mapping[tuple[int, int], tuple[int, int, int]]
"""Unit and sequence number of a touch -> its credit, amount and refunds."""


def list_journeys(query: JourneysQuery, runner: StatementRunner) -> JourneysResult:
    """Returns a page of journeys, the latest booked first, the number of all, and the sum of their credit."""
    runner.begin_snapshot()
    rules = {_CREDITS: query.credit, _CREDITS_OF_ALL_TOUCHES: query.all_touches_credit}
    create_credits_of_units_tables(rules, query.scope, runner)
    runner.create_temp_table(CREDITED_UNITS.name, deferred_statement(_credited_units_query, query.scope))
    total, *summed = runner.fetch_rows(_totals_of_all_units_query())[0]
    page = runner.fetch_rows(_page_latest_first(query.limit, query.offset))
    units = [row[0] for row in page]
    if not units:
        return JourneysResult([], total, _to_credit(summed))
    events, persons = (
        _read_events(query.scope, units, runner),
        _read_persons([row[1] for row in page], runner),
    )
    touches = _read_touches(query, units, runner)
    journeys = [
        Journey(events[unit // 2], persons[person_no], _to_credit(credit), tuple(touches[unit]))
        for unit, person_no, *credit in page
        if unit // 2 in events and person_no in persons  # deleted since, where the engine has no snapshots
    ]
    return JourneysResult(journeys, total, _to_credit(summed))


def _to_credit(values: Sequence[Any]) -> JourneyCredit:
    credit, amount, refunded, foreign_amount, foreign_refund = values
    return JourneyCredit(
        int(credit or 0),
        int(amount or 0),
        int(refunded or 0),
        foreign_amount=bool(foreign_amount),
        foreign_refund=bool(foreign_refund),
    )


def _credited_units_query(scope: QueryScope) -> sa.Select[Any]:
    """Selects the units with credit that meets the filters, with the sum of that credit."""
    rows = CreditRows(scope, scope.span, _CREDITS)
    conditions, c = rows.scope_conditions(), rows.table.c
    foreign = rows.column_or_joined_fact("missing_fx_rate")
    sums = {
        "credit": sa.func.sum(c.credit),
        "amount": sa.func.sum(_if_converted(foreign, c.amount)),
        "refunded": sa.func.sum(_if_converted(foreign, c.refunded)),
    }
    columns = (
        c.unit,
        c.person_no,
        *(sa.cast(sums[name], _INT).label(name) for name in _SUM_COLUMNS),
        sa.func.max(rows.at).label("booked"),
        sa.func.bool_or(sa.and_(foreign, c.amount > 0)).label("foreign_amount"),
        sa.func.bool_or(sa.and_(foreign, c.refunded > 0)).label("foreign_refund"),
    )
    query: sa.Select[Any] = sa.select(*columns).select_from(rows.source)
    return query.where(*conditions).group_by(c.unit, c.person_no)


def _if_converted(foreign: Expression, amount: Expression) -> Expression:
    return sa.case((foreign, sa.literal_column("0", _INT)), else_=amount)


def _totals_of_all_units_query() -> sa.Select[Any]:
    c = CREDITED_UNITS.c
    sums: list[Expression] = [sa.cast(sa.func.sum(c[name]), _INT) for name in _SUM_COLUMNS]
    flags: list[Expression] = [sa.func.bool_or(c[name]) for name in _FLAG_COLUMNS]
    count: Expression = sa.func.count()
    return sa.select(count, *sums, *flags).select_from(CREDITED_UNITS)


def _page_latest_first(limit: int, offset: int) -> sa.Select[Any]:
    c = CREDITED_UNITS.c
    columns: list[Expression] = [c[name] for name in ("unit", "person_no", *_SUM_COLUMNS, *_FLAG_COLUMNS)]
    return sa.select(*columns).order_by(c.booked.desc(), c.unit.desc()).limit(limit).offset(offset or None)


def _read_events(scope: QueryScope, units: Sequence[int], runner: StatementRunner) -> dict[int, Event]:
    """Returns the events of units by sequence number."""
    numbers = _array(unit // 2 for unit in units)
    query = sa.select(*EVENT_COLUMNS).where(
        EVENTS.c.workspace_id == scope.workspace_id, fn.InArray(EVENTS.c.seq, numbers)
    )
    return {event.seq: event for event in map(row_to_event, runner.fetch_rows(query))}


def _read_persons(person_numbers: Sequence[int], runner: StatementRunner) -> dict[int, str]:
    """Returns the persons by their numbers."""
    query = sa.select(ID_NUMBERS.c.number, ID_NUMBERS.c.id).where(
        fn.InArray(ID_NUMBERS.c.number, sa.literal(sorted(set(person_numbers)), sa.ARRAY(IdNumber)))
    )
    return dict(runner.fetch_rows(query))


def _array(numbers: Any) -> Expression:
    return sa.literal(sorted(set(numbers)), sa.ARRAY(_INT))


def _read_touches(
    query: JourneysQuery, units: Sequence[int], runner: StatementRunner
) -> defaultdict[int, list[JourneyTouch]]:
    """Returns all touches in the window of units, oldest first, with the credit that the rule gives them."""
    credited: _TouchParts = {
        (unit, touch_seq): tuple(parts)
        for unit, touch_seq, *parts in runner.fetch_rows(_touch_credits_by_rule_query(query, units))
    }
    touches: defaultdict[int, list[JourneyTouch]] = defaultdict(list)
    for unit, touch_seq, *values in runner.fetch_rows(_all_touches_query(query, units)):
        parts = credited.get((unit, touch_seq), (0, 0, 0))
        touches[unit].append(JourneyTouch(row_to_touch(tuple(values)), *map(int, parts)))
    return touches


def _touch_credits_by_rule_query(query: JourneysQuery, units: Sequence[int]) -> sa.Select[Any]:
    """Selects the credit of each touch of units by the rule."""
    rows, where = _credit_rows_of_units(query.scope, _CREDITS, units)
    c, foreign = rows.table.c, rows.column_or_joined_fact("missing_fx_rate")
    parts = (c.credit, _if_converted(foreign, c.amount), _if_converted(foreign, c.refunded))
    return sa.select(c.unit, c.touch_seq, *parts).select_from(rows.source).where(*where)


def _all_touches_query(query: JourneysQuery, units: Sequence[int]) -> sa.Select[Any]:
    """Selects all touches in the window of units."""
    rows, where = _credit_rows_of_units(query.scope, _CREDITS_OF_ALL_TOUCHES, units)
    c = rows.table.c
    columns = (c.unit, c.touch_seq, c.touch_at, *(c[f"touch_{name}"] for name in TOUCH_VALUE_COLUMNS))
    ordered = sa.select(*columns).select_from(rows.source).where(*where)
    return ordered.order_by(c.unit, c.touch_at, c.touch_seq)


def _credit_rows_of_units(
    scope: QueryScope, table: sa.TableClause, units: Sequence[int]
) -> tuple[CreditRows, list[Expression]]:
    """Returns the credits of units with a touch, whenever they are booked, and their conditions."""
    rows = CreditRows(replace(scope, filters=()), scope.span, table)
    c = rows.table.c
    return rows, [c.attributed, fn.InArray(c.unit, _array(units))]
