"""Funnels: how far the units of a span walk through the steps (semantics 15).

Ordered funnels, the usual ones, are walked inside the engine: from every possible start the next
event of each following step is found by an ASOF join. What stands between events matters to the
other orders; those walk the few events of the units that started, in `walking`.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.periods import micros, micros_of
from plugins.events_sql.relations import EventRows, between
from plugins.events_sql.rows import naive
from plugins.events_sql.walking import Walked, walk
from service_core.plugin import FunnelOrder, FunnelPlan, FunnelStep, FunnelTable, Span

_MICRO: Final = 1e6


def funnel(plan: FunnelPlan, reader: Reader) -> FunnelTable:
    """Walk the units through the steps."""
    end = min(plan.now, plan.scan.span.end + plan.window + plan.now.resolution)
    if end <= plan.scan.span.start:
        return FunnelTable([FunnelStep(0, None, None) for _ in plan.steps], 0)
    looked = Span(plan.scan.span.start, end)
    reader.keep("steps", _steps(plan, looked))
    if plan.order is FunnelOrder.ORDERED and not _overlap(plan):
        (row,) = reader.text(_ordered(plan), [micros_of(plan.window), micros(plan.now)])
        return _table(row)
    listed = reader.text(
        "SELECT * FROM steps WHERE unit IN (SELECT unit FROM steps WHERE starts) ORDER BY unit, pos"
    )
    return _walked(plan, walk(plan, listed))


def _overlap(plan: FunnelPlan) -> bool:
    """Whether an excluded name is a step too."""
    return bool(plan.exclude and plan.exclude & frozenset().union(*plan.steps))


def _steps(plan: FunnelPlan, looked: Span) -> sa.Select[Any]:
    """The events that matter: unit, place in its order, instant, which steps it can be."""
    rows = EventRows(plan.scan, looked)
    names = frozenset().union(*plan.steps, plan.exclude or ())
    name = rows.table.c.event_name
    unit = rows.table.c.session_no if plan.by_session else rows.person_no()
    firsts = frozenset().union(*plan.steps) if plan.order is FunnelOrder.ANY else plan.steps[0]
    seen = [rows.met(predicate) for predicate in plan.scan.filters]
    starts = sa.and_(among(name, firsts), *between(rows.at, plan.scan.span), *seen)
    columns: list[Expression] = [
        unit.label("unit"),
        fn.Position(rows.at, rows.table.c.seq).label("pos"),
        fn.Micros(rows.at).label("t"),
        sa.func.coalesce(starts, sa.false()).label("starts"),
        (among(name, plan.exclude) if plan.exclude else sa.false()).label("excluded"),
        *(among(name, step).label(f"in{k}") for k, step in enumerate(plan.steps)),
    ]
    statement = (
        sa.select(*columns)
        .select_from(rows.source)
        .where(*rows.where, rows.at < sa.literal(naive(looked.end)))
    )
    return statement if plan.order is FunnelOrder.STRICT else statement.where(among(name, names))


def _ordered(plan: FunnelPlan) -> str:
    """The walk over ``steps``, given the window and now in microseconds."""
    last = len(plan.steps) - 1
    walked, joins = ["s0.unit", "s0.pos AS pos0", "s0.t AS t0"], []
    for k in range(1, last + 1):
        walked += [f"s{k}.pos AS pos{k}", f"s{k}.t AS t{k}"]
        joins.append(
            f"ASOF LEFT JOIN (SELECT unit, pos, t FROM steps WHERE in{k}) s{k}"  # noqa: S608 - numbers only
            f" ON s{k - 1}.unit = s{k}.unit AND s{k - 1}.pos < s{k}.pos"
        )
    if plan.exclude:
        walked.append("x.pos AS spoil")
        joins.append(
            "ASOF LEFT JOIN (SELECT unit, pos FROM steps WHERE excluded) x"
            " ON s0.unit = x.unit AND s0.pos < x.pos"
        )
    depth = " + ".join(["1", *(f"CAST(coalesce(t{k} <= t0 + $1, false) AS INT)" for k in range(1, last + 1))])
    ends = "CASE depth " + " ".join(f"WHEN {k + 1} THEN pos{k}" for k in range(last + 1)) + " END"
    clean = f"NOT coalesce(spoil < {ends}, false)" if plan.exclude else "true"
    times = ", ".join(f"'t{k}': t{k}" for k in range(last + 1))
    facts = [
        f"count(*) FILTER (depth > {k}), median(t{k} - t{k - 1}) FILTER (depth > {k}),"
        f" CAST(sum(t{k} - t{k - 1}) FILTER (depth > {k}) AS DOUBLE)"
        for k in range(1, last + 1)
    ]
    return f"""
    WITH walks AS (SELECT {", ".join(walked)} FROM (SELECT unit, pos, t FROM steps WHERE starts) s0 {" ".join(joins)}),
    attempts AS (SELECT *, {depth} AS depth FROM walks),
    units AS (
      SELECT max(t0) AS latest, arg_max({{'depth': depth, {times}}}, (depth, -pos0)) FILTER ({clean}) AS best
      FROM attempts GROUP BY unit),
    best AS (SELECT latest, unnest(best) FROM units WHERE best IS NOT NULL)
    SELECT count(*), {"".join(fact + ", " for fact in facts)}
      count(*) FILTER (depth <= {last} AND $2 <= latest + $1) FROM best
    """  # noqa: S608 - numbers of steps only


def _table(row: tuple[Any, ...]) -> FunnelTable:
    steps = [FunnelStep(row[0], None, None)]
    for i in range(1, len(row) - 1, 3):
        count, middle, summed = row[i : i + 3]
        steps.append(
            FunnelStep(count, middle / _MICRO, summed / count / _MICRO)
            if count
            else FunnelStep(0, None, None)
        )
    return FunnelTable(steps, row[-1])


def _walked(plan: FunnelPlan, found: Walked) -> FunnelTable:
    steps = [FunnelStep(len(found.reached), None, None)]
    return FunnelTable([*steps, *(found.step(k) for k in range(1, len(plan.steps)))], found.open)
