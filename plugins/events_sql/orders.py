"""Which reports of an order count, in SQL: the rule of `insight.orders.each_order_once`.

Repeats of what was tracked are found by the report before. What providers report is little, and mostly
there is none: what they supersede is looked for from them, so that others pay nothing for it.
"""

from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.facts import among, charge_or_refund, converts, standard_name
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import END, UNTIL, WORKSPACE
from service_core.plugin import CHARGE, REPEAT, STOREFRONTS, TRACKED_SOURCES

_WEEK: Final = micros_of(REPEAT)
_SIDE: Final = ("seq", "timestamp", "source", "order_id")


def is_tracked(columns: Any) -> Expression:
    """Whether an event came by the tracking API, from no provider."""
    return among(columns.source, TRACKED_SOURCES)


def not_a_repeat(columns: Any, *kind: Expression) -> Expression:
    """Whether a tracked report has no other of the same order and kind less than 7 days before it."""
    before = sa.func.lag(fn.Micros(columns.timestamp)).over(
        partition_by=(*kind, columns.order_id), order_by=(columns.timestamp, columns.seq)
    )
    alone = sa.or_(columns.order_id.is_(None), before.is_(None))
    return sa.or_(alone, fn.Micros(columns.timestamp) - before >= _WEEK, sa.not_(is_tracked(columns)))


def superseded_money(table: Any, since: Expression | None) -> sa.Select[Any]:
    """Charges and refunds that another report makes superfluous, by sequence number.

    Args:
        table: of events.
        since: look from there to `UNTIL`, a week around what is asked about; None for all time.
    """

    def told(c: Any) -> tuple[Expression, Expression, Expression]:
        kind = charge_or_refund(c)
        return kind, kind == CHARGE, sa.and_(c.revenue.is_not(None), kind.is_not(None))

    return _superseded(table, since, told)


def superseded_conversions(table: Any, since: Expression | None, *, any_revenue: bool) -> sa.Select[Any]:
    """Conversions that another report makes superfluous, likewise."""

    def told(c: Any) -> tuple[Expression, Expression, Expression]:
        return standard_name(c.event_name), sa.true(), converts(c, any_revenue=any_revenue)

    return _superseded(table, since, told)


_Told = Callable[[Any], tuple[Expression, Expression, Expression]]
"""What an event reports of its order, whether once, and whether it reports anything."""


def _superseded(table: Any, since: Expression | None, told: _Told) -> sa.Select[Any]:
    own = _reports(table, told)
    others = _reports(table, told).where(sa.not_(is_tracked(table.c)))
    if since is not None:
        own = own.where(table.c.timestamp >= since, table.c.timestamp < END)
        others = others.where(table.c.timestamp >= since, table.c.timestamp < UNTIL)
    one, other = own.subquery("report"), others.subquery("provided")
    same = sa.and_(one.c.order_id == other.c.order_id, one.c.what == other.c.what)
    found = sa.select(one.c.seq).select_from(one.join(other, same))
    return found.where(_near(one.c, other.c), _supersedes(other.c, one.c))


def _reports(table: Any, told: _Told) -> sa.Select[Any]:
    c = table.c
    what, once, reports = told(c)
    rank = sa.case((is_tracked(c), 0), (among(c.source, STOREFRONTS), 2), else_=1)
    columns = (*(c[name] for name in _SIDE), what.label("what"), once.label("once"), rank.label("rank"))
    return sa.select(*columns).where(c.workspace_id == WORKSPACE, c.order_id.is_not(None), reports)


def _near(one: Any, other: Any) -> Expression:
    apart = fn.Micros(one.timestamp) - fn.Micros(other.timestamp)
    return sa.and_(apart > -_WEEK, apart < _WEEK)


def _supersedes(one: Any, other: Any) -> Expression:
    """Whether a report makes another superfluous that is near: it knows better, or said the same before."""
    earlier = sa.or_(
        one.timestamp < other.timestamp, sa.and_(one.timestamp == other.timestamp, one.seq < other.seq)
    )
    return sa.or_(
        one.rank > other.rank,
        sa.and_(one.rank == other.rank, one.source > other.source),
        sa.and_(one.source == other.source, other.once, earlier),
    )
