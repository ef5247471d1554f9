"""Totals, series and breakdowns as one statement: one scan per relation, ordered and cut inside."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.credits import CreditRows
from plugins.events_sql.engine import Reader
from plugins.events_sql.periods import bucket_index, local_days, trailing_windows
from plugins.events_sql.relations import Rows, rows_of
from service_core.plugin import Aggregate, Difference, Grid, Leaf, Measure, Ratio, Relation, Sort, Span

BUCKET = "b"


def aggregate(plan: Aggregate, reader: Reader) -> Grid:
    """Evaluate a plan."""
    leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
    statement = ordered(plan, leaves, grid(plan, leaves))
    found = reader.rows(statement)
    if not keys(plan):
        return _answer(plan, leaves, found, shown=len(found[plan.offset :][: plan.limit]))
    if not found and plan.offset:
        first = reader.rows(ordered(plan, leaves, grid(plan, leaves), page=(1, 0)))
        return _answer(plan, leaves, first, shown=0)
    return _answer(plan, leaves, found, shown=len(found))


def keys(plan: Aggregate) -> list[str]:
    """Names of the columns that make a group, in order."""
    bucket = [BUCKET] if plan.buckets else []
    return [*bucket, *(f"d{i}" for i in range(len(plan.dimensions)))]


def grid(plan: Aggregate, leaves: Sequence[Leaf]) -> sa.Subquery:
    """Every group with the values of all leaves, before order and limit."""
    parts = [
        _part(plan, leaves, list(of), relation, days) for (relation, days), of in _by_relation(plan, leaves)
    ]
    if len(parts) == 1:
        return parts[0].subquery("grid")
    together = sa.union_all(*parts).subquery("parts")
    group = [together.c[key] for key in keys(plan)]
    sums = [_summed(together.c[f"m{i}"], leaf).label(f"m{i}") for i, leaf in enumerate(leaves)]
    return sa.select(*group, *sums).group_by(*group).subquery("grid")


def _by_relation(
    plan: Aggregate, leaves: Sequence[Leaf]
) -> Iterable[tuple[tuple[Relation, int | None], Iterable[int]]]:
    """Positions of the leaves that one scan can answer."""

    def scan_of(index: int) -> tuple[Relation, int | None]:
        return leaves[index].of, leaves[index].trailing_days

    order = sorted(range(len(leaves)), key=lambda i: (leaves[i].of, leaves[i].trailing_days or 0))
    return groupby(order, key=scan_of)


def _part(
    plan: Aggregate, leaves: Sequence[Leaf], of: list[int], relation: Relation, days: int | None
) -> sa.Select[Any]:
    windows = None if days is None else trailing_windows(plan.scan, plan.buckets, days)
    span = plan.scan.span if windows is None else _around(windows)
    rows = _rows(plan, relation, span, _used(plan, leaves, of, relation))
    dimensions = [_dimension(rows, d.get(relation)) for d in plan.dimensions]
    where = [rows.met(p) for p in plan.scan.filters]
    met = {i: sa.and_(*(rows.met(p) for p in leaves[i].where)) for i in of if leaves[i].where}
    if len(met) == len(of):
        where.append(sa.or_(*met.values()))
    if windows is not None and plan.buckets:
        return _in_windows(plan, leaves, of, rows, dimensions, where, met, windows)
    values = [
        _counted(leaf, rows, met.get(i)) if i in of else sa.literal_column("0")
        for i, leaf in enumerate(leaves)
    ]
    bucket = [bucket_index(rows.at, plan.buckets.stretches())] if plan.buckets else []
    group = [column.label(key) for key, column in zip(keys(plan), [*bucket, *dimensions], strict=True)]
    columns = [value.label(f"m{i}") for i, value in enumerate(values)]
    statement = sa.select(*group, *columns).select_from(rows.source).where(*rows.where, *where)
    return statement.group_by(*(sa.literal_column(str(n + 1)) for n in range(len(group))))


def _rows(plan: Aggregate, relation: Relation, span: Span, used: frozenset[str]) -> Rows:
    if relation is Relation.CREDITS and plan.credit:
        return CreditRows(plan.scan, span, plan.credit, used)
    return rows_of(relation, plan.scan, span, used)


def _around(windows: Sequence[tuple[int, Span]]) -> Span:
    return Span(min(w.start for _, w in windows), max(w.end for _, w in windows))


def _used(plan: Aggregate, leaves: Sequence[Leaf], of: list[int], relation: Relation) -> frozenset[str]:
    """Columns a part asks for."""
    predicates = [p.column for p in plan.scan.filters] + [p.column for i in of for p in leaves[i].where]
    named = [leaves[i].column for i in of] + [d.get(relation) for d in plan.dimensions]
    return frozenset(part for name in (*predicates, *named) if name for part in name.split("|"))


def _dimension(rows: Rows, column: str | None) -> Expression:
    return sa.cast(sa.null(), sa.Text) if column is None else rows.column(column)


def _counted(leaf: Leaf, rows: Rows, met: Expression | None) -> Expression:
    """A leaf over the rows of its group that meet its conditions."""
    if leaf.column is None:
        counted: Any = sa.func.count()
    elif leaf.distinct:
        counted = sa.func.count(rows.key(leaf.column).distinct())
    else:
        counted = sa.func.sum(_number(rows.column(leaf.column)))
    return _whole(counted if met is None else counted.filter(met), leaf)


def _number(column: Expression) -> Expression:
    return sa.cast(column, sa.Integer) if isinstance(column.type, sa.Boolean) else column


def _whole(summed: Expression, leaf: Leaf) -> Expression:
    """Counts and sums are whole numbers; durations are kept in microseconds and shown in seconds."""
    if leaf.column == "duration" and not leaf.distinct:
        return sa.cast(fn.Whole(summed), sa.Double) / sa.literal_column("1e6", sa.Double)
    return fn.Whole(summed)


def _summed(column: Expression, leaf: Leaf) -> Expression:
    if leaf.column == "duration" and not leaf.distinct:
        return sa.func.coalesce(sa.func.sum(column), sa.literal_column("0.0", sa.Double))
    return fn.Whole(sa.func.sum(column))


def _in_windows(
    plan: Aggregate,
    leaves: Sequence[Leaf],
    of: list[int],
    rows: Rows,
    dimensions: list[Expression],
    where: list[Expression],
    met: dict[int, Expression],
    windows: Sequence[tuple[int, Span]],
) -> sa.Select[Any]:
    """A trailing measure: each row counts in every bucket that looks back as far as it."""
    values = [_windowed(leaves[i], rows, met.get(i)).label(f"v{i}") for i in of]
    day = bucket_index(rows.at, _days(plan, windows)).label("day")
    groups = [dimension.label(f"d{i}") for i, dimension in enumerate(dimensions)]
    seen = sa.select(day, *groups, *values).select_from(rows.source).where(*rows.where, *where)
    if all(leaves[i].distinct for i in of):
        seen = seen.distinct()
    found = seen.subquery("seen")
    look = _windows(plan, windows)
    counted = [
        _over_window(leaf, found.c[f"v{i}"]) if i in of else sa.literal_column("0")
        for i, leaf in enumerate(leaves)
    ]
    group = [look.c.b.label(BUCKET), *(found.c[f"d{i}"].label(f"d{i}") for i in range(len(dimensions)))]
    joined = found.join(look, sa.and_(found.c.day >= look.c.first, found.c.day <= look.c.last))
    statement = sa.select(*group, *(value.label(f"m{i}") for i, value in enumerate(counted)))
    return statement.select_from(joined).group_by(*(sa.literal_column(str(n + 1)) for n in range(len(group))))


def _windowed(leaf: Leaf, rows: Rows, met: Expression | None) -> Expression:
    """What a row gives to a leaf: its distinct key, its number, or 1."""
    if leaf.column is None:
        given: Expression = sa.literal_column("1", sa.BigInteger)
    else:
        given = rows.key(leaf.column) if leaf.distinct else _number(rows.column(leaf.column))
    return given if met is None else sa.case((met, given))


def _over_window(leaf: Leaf, value: Expression) -> Expression:
    return _whole(sa.func.count(value.distinct()) if leaf.distinct else sa.func.sum(value), leaf)


def _days(plan: Aggregate, windows: Sequence[tuple[int, Span]]) -> Any:
    return local_days(plan.scan, _around(windows)).stretches()


def _windows(plan: Aggregate, windows: Sequence[tuple[int, Span]]) -> Any:
    days = local_days(plan.scan, _around(windows))
    ends = (*days.starts[1:], days.end)
    listed = {
        "b": [index for index, _ in windows],
        "first": [days.starts.index(window.start) for _, window in windows],
        "last": [ends.index(window.end) for _, window in windows],
    }
    integers = sa.ARRAY(sa.BigInteger)
    lists = (sa.func.unnest(sa.literal(values, integers)).label(name) for name, values in listed.items())
    return sa.select(*lists).subquery("windows")


def ordered(
    plan: Aggregate, leaves: Sequence[Leaf], rows: sa.Subquery, page: tuple[int, int] | None = None
) -> sa.Select[Any]:
    """The groups in order, cut to the page; with a limit each row tells the number and sums of all."""
    names = keys(plan)
    columns = [rows.c[name] for name in (*names, *(f"m{i}" for i in range(len(leaves))))]
    limit, offset = page or (plan.limit, plan.offset)
    if names and (offset or limit is not None):
        columns.append(sa.func.count().over().label("groups"))
        columns += [sa.func.sum(rows.c[f"m{i}"]).over().label(f"s{i}") for i in range(len(leaves))]
    given = [_sorted_by(plan, leaves, rows, sort) for sort in plan.order]
    rest = [rows.c[name].asc().nulls_last() for name in names]
    statement = sa.select(*columns).order_by(*given, *rest)
    return statement if not names else statement.limit(limit).offset(offset or None)


def _sorted_by(
    plan: Aggregate, leaves: Sequence[Leaf], rows: sa.Subquery, sort: Sort
) -> sa.UnaryExpression[Any]:
    if sort.by == "bucket":
        value: Expression = rows.c[BUCKET]
    elif sort.by.startswith("d"):
        column = rows.c[sort.by]
        value = column if sort.absent is None else sa.func.coalesce(column, sa.literal(sort.absent))
    else:
        value = measured(plan.measures[int(sort.by[1:])], leaves, rows)
    return (value.desc() if sort.descending else value.asc()).nulls_last()


def measured(measure: Measure, leaves: Sequence[Leaf], rows: sa.Subquery) -> Expression:
    """The value of a measure from those of its leaves; NULL for a quotient by 0."""
    match measure:
        case Leaf():
            return rows.c[f"m{leaves.index(measure)}"]
        case Difference(minuend, subtrahend):
            return measured(minuend, leaves, rows) - measured(subtrahend, leaves, rows)
        case Ratio(numerator, denominator, scale, complement):
            above = sa.cast(measured(numerator, leaves, rows), sa.Double)
            below = sa.cast(sa.func.nullif(measured(denominator, leaves, rows), 0), sa.Double)
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
