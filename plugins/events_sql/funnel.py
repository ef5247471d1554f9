"""Funnels: how far the units of a span walk through the steps (semantics 15).

Ordered funnels, the usual ones, are walked inside the engine (`walks`). What stands between events
matters to the other orders; those walk the few events of the units that started, in `walking`.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.relations import EventRows, between
from plugins.events_sql.rows import naive
from plugins.events_sql.walking import Walked, walk
from plugins.events_sql.walks import ordered, steps
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
        (row,) = reader.rows(ordered(plan))
        return _table(row)
    return _walked(plan, walk(plan, reader.rows(_listed(plan))))


def _listed(plan: FunnelPlan) -> sa.Select[Any]:
    """The events of the units that started, unit by unit in order."""
    table = steps(len(plan.steps))
    started = sa.select(table.c.unit).where(table.c.starts)
    return sa.select(table).where(table.c.unit.in_(started)).order_by(table.c.unit, table.c.t, table.c.seq)


def _overlap(plan: FunnelPlan) -> bool:
    """Whether an excluded name is a step too."""
    return bool(plan.exclude and plan.exclude & frozenset().union(*plan.steps))


def _steps(plan: FunnelPlan, looked: Span) -> sa.Select[Any]:
    """The events that matter: unit, instant, sequence, which steps it can be (`walks.steps`)."""
    rows = EventRows(plan.scan, looked)
    names = frozenset().union(*plan.steps, plan.exclude or ())
    name = rows.table.c.event_name
    unit = rows.table.c.session_no if plan.by_session else rows.person_no
    firsts = frozenset().union(*plan.steps) if plan.order is FunnelOrder.ANY else plan.steps[0]
    seen = [rows.met(predicate) for predicate in plan.scan.filters]
    starts = sa.and_(among(name, firsts), *between(rows.at, plan.scan.span), *seen)
    columns: list[Expression] = [
        unit.label("unit"),
        fn.Micros(rows.at).label("t"),
        rows.table.c.seq,
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
