"""Which reports of an order count, in SQL: the rule of `insight.orders.each_order_once`.

Repeats of what was tracked are found by the report before. What providers report is little, and mostly
there is none: what they supersede is looked for from them, so that others pay little for it.
"""

from functools import reduce
from operator import add
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.facts import among, charge_or_refund, converts, standard_name
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import UNTIL, WORKSPACE, parameter, source
from plugins.events_sql.tables import EVENTS
from service_core.plugin import CHARGE, CHARGE_PARTS, REPEAT, STOREFRONTS, TRACKED_SOURCES

_WEEK: Final = micros_of(REPEAT)

NAMED: Final = ("order_id", "payment_id")
"""What an event names its order by (`insight.orders.named_ids`)."""

ORDER_IDS: Final = (*NAMED, "message_id")
"""What an order is known by to others (`insight.orders.order_ids`)."""


def is_tracked(columns: Any) -> Expression:
    """Whether an event came by the tracking API, from no provider."""
    return among(columns.source, TRACKED_SOURCES)


def standing(c: Any) -> Expression:
    """`insight.orders.standing` as a text: the greater supersedes the smaller."""
    known = reduce(add, (sa.case((c[name].is_not(None), 1), else_=0) for name in CHARGE_PARTS))
    told = sa.cast(known, sa.Text) + c.source
    shop = among(c.source, STOREFRONTS)
    return sa.case((is_tracked(c), ""), (shop, sa.literal("2") + told), else_=sa.literal("1") + told)


def repeated_money(since: str | None) -> sa.Select[Any]:
    """Charges and refunds that another report makes superfluous, by sequence number.

    Args:
        since: the parameter to look from, to `UNTIL`, a week around what is asked about; None for all time.
    """
    found = source(_repeated_money, since).under("told_of_money")
    return sa.select(found.c.seq)


def repeated_conversions(table: Any, since: str | None, *, any_revenue: bool) -> sa.Select[Any]:
    """Conversions that another report makes superfluous, likewise.

    Args:
        table: of events.
        since: as above.
        any_revenue: as of the conversion set.
    """
    found = source(_repeated_conversions, table, since, any_revenue).under("told_of_conversions")
    return sa.select(found.c.seq)


def _repeated_money(since: str | None) -> sa.CompoundSelect[Any]:
    c = EVENTS.c
    told = _reports(c, charge_or_refund(c), since).where(c.revenue.is_not(None))
    return repeated(worked_out_once(told, "told"), again=CHARGE)


def _repeated_conversions(table: Any, since: str | None, any_revenue: bool) -> sa.CompoundSelect[Any]:
    """Few of all events have an id of an order; each id is asked for by itself, as engines skip what lacks one column."""
    c = table.c
    told = _reports(c, standard_name(c.event_name), since).where(converts(c, any_revenue=any_revenue))
    if table is not EVENTS:
        return repeated(
            worked_out_once(told.where(sa.or_(*(c[id_].is_not(None) for id_ in ORDER_IDS))), "told")
        )
    each = (
        told.where(c[name].is_not(None), *(c[other].is_(None) for other in ORDER_IDS[:place]))
        for place, name in enumerate(ORDER_IDS)
    )
    return repeated(worked_out_once(sa.union_all(*each), "told"))


def _reports(c: Any, what: Expression, since: str | None) -> sa.Select[Any]:
    found = sa.select(*report(c, what)).where(c.workspace_id == WORKSPACE)
    if since is None:
        return found
    return found.where(c.timestamp >= parameter(since, sa.DateTime()), c.timestamp < UNTIL)


def report(c: Any, what: Expression) -> list[Expression]:
    """What `repeated` looks at: ``what`` makes reports of an order different ones."""
    own = (c[name] for name in ("seq", "timestamp", *ORDER_IDS))
    return [*own, what.label("what"), standing(c).label("standing")]


def worked_out_once(found: sa.Select[Any] | sa.CompoundSelect[Any], name: str) -> sa.CTE:
    """A common table that is kept, not put in each place where it stands."""
    return found.cte(name).prefix_with("MATERIALIZED", dialect="duckdb")


def repeated(reports: sa.CTE, *, again: str | None = None) -> sa.CompoundSelect[Any]:
    """The reports which another makes superfluous: one that knows better, or that said it before.

    Args:
        reports: with the columns of `report`.
        again: of which kind what one source says twice is the same; None for all.
    """
    one, other = reports.alias("report").c, _provided(reports).alias("better").c
    earlier = sa.or_(
        other.timestamp < one.timestamp, sa.and_(other.timestamp == one.timestamp, other.seq < one.seq)
    )
    same_again = sa.and_(other.standing == one.standing, earlier)
    if again is not None:
        same_again = sa.and_(same_again, one.what == again)
    apart = sa.func.abs(fn.Micros(one.timestamp) - fn.Micros(other.timestamp))
    superseded = sa.and_(apart < _WEEK, sa.or_(other.standing > one.standing, same_again))
    found = (
        sa.select(one.seq).join_from(
            one.seq.table, other.seq.table, sa.and_(one[name] == other.key, one.what == other.what)
        )
        for name in NAMED
    )
    return sa.union_all(*(each.where(superseded) for each in found), _tracked_again(reports, again))


def sold_before(refunds: Any, charges: Any, *names: str) -> sa.Subquery:
    """The latest charge of the order of each refund that is not after it, by an id of the order or its payment.

    Args:
        refunds: with sequence numbers, instants and `NAMED`.
        charges: likewise.
        names: columns of charges to tell; ``refund`` stands beside them, the sequence number of that.
    """
    one, other = charges.c, refunds.c
    before = sa.or_(
        one.timestamp < other.timestamp, sa.and_(one.timestamp == other.timestamp, one.seq <= other.seq)
    )
    told = (other.seq.label("refund"), *(one[name] for name in ("timestamp", "seq", *names)))
    found = sa.union_all(
        *(
            sa.select(*told).join_from(refunds, charges, sa.and_(one[id_] == other[id_], before))
            for id_ in NAMED
        )
    ).subquery("paid_before")
    latest = (found.c.timestamp.desc(), found.c.seq.desc())
    place = sa.func.row_number().over(partition_by=found.c.refund, order_by=latest).label("place")
    placed = sa.select(found, place).subquery("placed")
    return sa.select(placed).where(placed.c.place == 1).subquery("sale")


def _provided(reports: sa.CTE) -> sa.CTE:
    """What providers report, by each id of its order."""
    c = reports.c
    key = sa.type_coerce(fn.Each(fn.Row(*(c[name] for name in ORDER_IDS))), sa.Text).label("key")
    found = sa.select(c.seq, c.timestamp, c.what, c.standing, key).where(c.standing != "")
    return worked_out_once(found, "of_providers")


def _tracked_again(reports: sa.CTE, again: str | None) -> sa.Select[Any]:
    """What was tracked less than 7 days after the same was: by the id of its order, else of its payment."""
    c = reports.alias("tracked").c
    own = sa.func.coalesce(c.order_id, c.payment_id)
    at = fn.Micros(c.timestamp)
    before = sa.func.lag(at).over(partition_by=(c.what, own), order_by=(c.timestamp, c.seq))
    tracked = sa.select(c.seq, (at - before).label("after")).where(c.standing == "", own.is_not(None))
    if again is not None:
        tracked = tracked.where(c.what == again)
    found = tracked.subquery("in_order")
    return sa.select(found.c.seq).where(found.c.after < _WEEK)
