"""Which reports of an order count, in SQL: the rule of `insight.orders.each_order_once`.

Repeats of what was tracked are found by the report before. What providers report is little, and mostly
there is none: what they supersede is looked for from them, so that others pay nothing for it.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.facts import among, charge_or_refund, converts, standard_name
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import END, UNTIL, WORKSPACE
from service_core.plugin import CHARGE, REPEAT, STOREFRONTS, TRACKED_SOURCES

_WEEK: Final = micros_of(REPEAT)


def is_tracked(columns: Any) -> Expression:
    """Whether an event came by the tracking API, from no provider."""
    return among(columns.source, TRACKED_SOURCES)


def not_a_repeat(columns: Any, table: Any, since: Expression | None, *kind: Expression) -> Expression:
    """Whether no other report of the same order and kind comes less than 7 days before a tracked one.

    Always so for what a provider reports: of that it is `superseded_money` that tells. Which those are is
    looked up; who told of an event, carried along, would cost more than all else here.

    Args:
        columns: of the reports.
        table: of events, looked through for those of providers.
        since: as in `superseded_money`.
        kind: what makes reports of an order different ones.
    """
    before = sa.func.lag(fn.Micros(columns.timestamp)).over(
        partition_by=(*kind, columns.order_id), order_by=(columns.timestamp, columns.seq)
    )
    alone = sa.or_(columns.order_id.is_(None), before.is_(None))
    provided = _within(_of_providers(sa.select(table.c.seq), table.c), table.c, since, UNTIL)
    return sa.or_(alone, fn.Micros(columns.timestamp) - before >= _WEEK, columns.seq.in_(provided))


def _of_providers(found: sa.Select[Any], c: Any) -> sa.Select[Any]:
    return found.where(c.workspace_id == WORKSPACE, c.order_id.is_not(None), sa.not_(is_tracked(c)))


def _within(found: sa.Select[Any], c: Any, since: Expression | None, end: Expression) -> sa.Select[Any]:
    return found if since is None else found.where(c.timestamp >= since, c.timestamp < end)


def superseded_money(table: Any, since: Expression | None) -> sa.Select[Any]:
    """Charges and refunds that another report makes superfluous, by sequence number.

    Args:
        table: of events.
        since: look from there to `UNTIL`, a week around what is asked about; None for all time.
    """
    c = table.c
    moved = c.revenue.is_not(None)
    one, other = _sides(c, charge_or_refund(c), moved, moved, since)
    return _superseded(one, other, again=one.c.what == CHARGE)


def superseded_conversions(table: Any, since: Expression | None, *, any_revenue: bool) -> sa.Select[Any]:
    """Conversions that another report makes superfluous, likewise, and other events of their names."""
    c = table.c
    name, converting = standard_name(c.event_name), converts(c, any_revenue=any_revenue)
    one, other = _sides(c, name, sa.true(), converting, since)
    return _superseded(one, other, again=sa.true())


def _sides(
    c: Any, what: Expression, told: Expression, provided: Expression, since: Expression | None
) -> tuple[sa.Subquery, sa.Subquery]:
    """What events say of orders, and what those of providers do."""
    said = sa.select(c.seq, c.timestamp, c.order_id, what.label("what"), standing(c).label("standing"))
    own = said.where(c.workspace_id == WORKSPACE, c.order_id.is_not(None), told)
    one, other = _within(own, c, since, END), _within(_of_providers(said, c).where(provided), c, since, UNTIL)
    return one.subquery("report"), other.subquery("provided")


def standing(c: Any) -> Expression:
    """`insight.orders.standing` as a text: the greater supersedes the smaller."""
    shop = among(c.source, STOREFRONTS)
    return sa.case((is_tracked(c), ""), (shop, sa.literal("2") + c.source), else_=sa.literal("1") + c.source)


def _superseded(report: sa.Subquery, provided: sa.Subquery, *, again: Expression) -> sa.Select[Any]:
    """The reports which another makes superfluous: one that knows better, or that said it before.

    Args:
        report: all of them.
        provided: those of providers.
        again: whether what one source says twice is the same.
    """
    one, other = report.c, provided.c
    earlier = sa.or_(
        other.timestamp < one.timestamp, sa.and_(other.timestamp == one.timestamp, other.seq < one.seq)
    )
    repeats = sa.and_(other.standing == one.standing, again, earlier)
    apart = sa.func.abs(fn.Micros(one.timestamp) - fn.Micros(other.timestamp))
    same = report.join(provided, sa.and_(one.order_id == other.order_id, one.what == other.what))
    found = sa.select(one.seq).select_from(same)
    return found.where(apart < _WEEK, sa.or_(other.standing > one.standing, repeats))
