"""Totals, series and breakdowns as one statement: one scan per relation, ordered and cut inside."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.lean import Fixed, Grouped, Together
from plugins.events_sql.parts import BUCKET, Part, in_seconds, keys
from plugins.events_sql.prepared import Derived
from plugins.events_sql.presence import told_by_sessions
from plugins.events_sql.statements import Built, built
from service_core.plugin import Aggregate, Difference, Grid, Leaf, Measure, Ratio, Sort

_GRID: Final = "grid"
_PARTS: Final = "parts"
_GROUPS: Final = sa.func.count().over().label("groups")


def aggregate(plan: Aggregate, reader: Reader) -> Grid:
    """Evaluate a plan."""
    leaves = _leaves(plan)
    found = reader.rows(statement(plan))
    if not keys(plan):
        return _answer(plan, leaves, found, shown=len(found[plan.offset :][: plan.limit]))
    if not found and plan.offset:
        first = reader.rows(statement(replace(plan, limit=1, offset=0)))
        return _answer(plan, leaves, first, shown=0)
    return _answer(plan, leaves, found, shown=len(found))


def statement(plan: Aggregate) -> Built:
    """What a plan asks of the engine."""
    return built(_page, plan)


def _leaves(plan: Aggregate) -> tuple[Leaf, ...]:
    return tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))


def _grid(plan: Aggregate, leaves: Sequence[Leaf]) -> Derived:
    """Every group with the values of all leaves, before order and limit."""

    def scan_of(index: int) -> tuple[str, int, bool]:
        leaf = leaves[index]
        return leaf.of, leaf.trailing_days or 0, told_by_sessions(plan, leaf)

    order = sorted(range(len(leaves)), key=scan_of)
    parts = [Part(plan, leaves, list(own)).statement() for _, own in groupby(order, key=scan_of)]
    if len(parts) == 1:
        return Derived(parts[0], _GRID, parts[0].kinds)
    together, names = Derived(Together(parts), _PARTS, parts[0].kinds), keys(plan)
    sums = {f"m{i}": _summed(i, in_seconds(leaf)) for i, leaf in enumerate(leaves)}
    summed = Grouped({**{key: together.c[key] for key in names}, **sums}, together, (), len(names))
    return Derived(summed, _GRID, summed.kinds)


@cache
def _summed(i: int, seconds: bool) -> Fixed:
    """The sum of a leaf over all parts."""
    if seconds:
        summed = sa.func.sum(sa.literal_column(f"{_PARTS}.m{i}", sa.Double))
        return Fixed(sa.func.coalesce(summed, sa.literal_column("0.0", sa.Double)))
    return Fixed(fn.Whole(sa.func.sum(sa.literal_column(f"{_PARTS}.m{i}", sa.BigInteger))))


@cache
def _sum_of_all(i: int, seconds: bool) -> sa.Label[Any]:
    """The sum of a leaf over all groups, in each of them."""
    kind = sa.Double if seconds else sa.BigInteger
    summed = sa.func.sum(sa.literal_column(f"{_GRID}.m{i}", kind)).over()
    return Fixed(summed if seconds else fn.Whole(summed)).label(f"s{i}")


def _page(plan: Aggregate) -> sa.Select[Any]:
    """The groups in order, cut to the page; each row of a page tells the number and sums of all."""
    leaves, names, limit, offset = _leaves(plan), keys(plan), plan.limit, plan.offset
    rows = _grid(plan, leaves)
    shown = ", ".join(f"{rows.name}.{name}" for name in (*names, *(f"m{i}" for i in range(len(leaves)))))
    columns: list[Expression] = [sa.literal_column(shown)]
    if names and (offset or limit is not None):
        columns.append(_GROUPS)
        columns += [_sum_of_all(i, in_seconds(leaf)) for i, leaf in enumerate(leaves)]
    given = [_sorted_by(plan, leaves, rows, sort) for sort in plan.order]
    rest = [rows.c[name].asc().nulls_last() for name in names]
    statement = sa.select(*columns).select_from(rows).order_by(*given, *rest)
    return statement if not names else statement.limit(limit).offset(offset or None)


def _sorted_by(plan: Aggregate, leaves: Sequence[Leaf], rows: Derived, sort: Sort) -> sa.UnaryExpression[Any]:
    if sort.by == "bucket":
        value: Expression = rows.c[BUCKET]
    elif sort.by.startswith("d"):
        column = rows.c[sort.by]
        value = column if sort.absent is None else sa.func.coalesce(column, sa.literal(sort.absent))
    else:
        value = _measured(plan.measures[int(sort.by[1:])], leaves, rows)
    return (value.desc() if sort.descending else value.asc()).nulls_last()


def _measured(measure: Measure, leaves: Sequence[Leaf], rows: Derived) -> Expression:
    """The value of a measure from those of its leaves; NULL for a quotient by 0."""
    match measure:
        case Leaf():
            leaf: Expression = rows.c[f"m{leaves.index(measure)}"]
            return leaf
        case Difference(minuend, subtrahend):
            return _measured(minuend, leaves, rows) - _measured(subtrahend, leaves, rows)
        case Ratio(numerator, denominator, scale, complement):
            above = sa.cast(_measured(numerator, leaves, rows), sa.Double)
            below = sa.cast(sa.func.nullif(_measured(denominator, leaves, rows), 0), sa.Double)
            value = above / below * sa.literal(scale)
            return sa.literal(1) - value if complement else value
        case _:
            return sa.null()


def _answer(plan: Aggregate, leaves: tuple[Leaf, ...], found: list[tuple[Any, ...]], shown: int) -> Grid:
    width = len(keys(plan))
    end = width + len(leaves)
    starts = plan.buckets.starts if plan.buckets else ()
    rows = [(starts[row[0]], *row[1:end]) if plan.buckets else row[:end] for row in found[:shown]]
    if found and len(found[0]) > end:
        return Grid(rows, leaves, found[0][end], tuple(found[0][end + 1 :]))
    sums = tuple(sum(row[i] for row in found) for i in range(width, end))
    return Grid(rows, leaves, len(found), sums)
