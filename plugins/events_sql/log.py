"""Event rows, event names, property keys and the last minutes."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.ledger import MoneyRows
from plugins.events_sql.properties import most_frequent, property_of
from plugins.events_sql.relations import EventRows
from plugins.events_sql.rows import aware, event, naive
from plugins.events_sql.statements import built
from plugins.events_sql.tables import EVENTS
from service_core.plugin import (
    CHARGE,
    COLUMNS,
    PAGE_VIEWS,
    EventName,
    EventPage,
    Events,
    LiveVisitor,
    PropertyKey,
    Scan,
)

ROW = [EVENTS.c[f.name] for f in COLUMNS]
"""The columns of `Event`, in order."""
NEWEST = (EVENTS.c.timestamp.desc(), EVENTS.c.seq.desc())


def seen(scan: Scan) -> tuple[sa.FromClause, list[Expression]]:
    """What a scan sees of the events: where from, and under which conditions."""
    rows = EventRows(scan, scan.span)
    met = [rows.met(predicate) for predicate in scan.filters]
    return rows.source, [*rows.where, *met]


def standing(place: Any, at: str, seq: str, workspace_id: UUID) -> tuple[sa.FromClause, list[Expression]]:
    """Events that stand at some places: where from, and under which conditions.

    They are found by their sessions, for which there is an index; that engines read them for no other column, the
    instants are compared as part of a row.

    Args:
        place: a small table of a workspace, with ``session_no``.
        at, seq: its columns with an instant and what tells events of one instant apart.
        workspace_id: the workspace.
    """
    c = EVENTS.c
    same = sa.tuple_(c.timestamp, c.seq) == sa.tuple_(place.c[at], place.c[seq])
    joined = EVENTS.join(place, place.c.session_no == c.session_no)
    return joined, [fn.Implied(c.workspace_id == workspace_id), same]


def page(plan: EventPage, reader: Reader) -> Events:
    """A page of events, newest first: its place first, narrow, then only its rows, wide."""
    total = reader.rows(built(_total, plan.scan))[0][0] if plan.total else None
    source, where = seen(plan.scan)
    older = [*where, _before(plan.after)] if plan.after else where
    place = sa.select(EVENTS.c.timestamp, EVENTS.c.seq).select_from(source).where(*older).order_by(*NEWEST)
    found = reader.rows(place.limit(plan.limit + 1).offset(plan.offset))
    shown = found[: plan.limit]
    if not shown:
        return Events([], total, has_more=False)
    rows = sa.select(*ROW).select_from(source).where(*older, *_from_to(shown[-1], shown[0])).order_by(*NEWEST)
    return Events([event(row) for row in reader.rows(rows)], total, has_more=len(found) > plan.limit)


def _total(scan: Scan) -> sa.Select[Any]:
    source, where = seen(scan)
    return sa.select(sa.func.count()).select_from(source).where(*where)


def _before(moment: tuple[datetime, int]) -> Expression:
    at, seq = sa.literal(naive(moment[0])), sa.literal(moment[1])
    return sa.or_(EVENTS.c.timestamp < at, sa.and_(EVENTS.c.timestamp == at, EVENTS.c.seq < seq))


def _from_to(oldest: tuple[Any, ...], newest: tuple[Any, ...]) -> list[Expression]:
    """The conditions that an event stands between two others, both included."""
    at, seq = EVENTS.c.timestamp, EVENTS.c.seq
    low, high = (sa.literal(oldest[0]), sa.literal(newest[0]))
    return [
        at >= low,
        at <= high,
        sa.or_(at > low, seq >= sa.literal(oldest[1])),
        sa.or_(at < high, seq <= sa.literal(newest[1])),
    ]


def names(scan: Scan, reader: Reader) -> list[EventName]:
    """Event names, most frequent first."""
    found = reader.rows(built(_names, scan))
    return [EventName(name, n, aware(first), aware(last)) for name, n, first, last in found]


def _names(scan: Scan) -> sa.Select[Any]:
    source, where = seen(scan)
    at = EVENTS.c.timestamp
    count = sa.func.count().label("n")
    told = sa.select(EVENTS.c.event_name, count, sa.func.min(at), sa.func.max(at)).select_from(source)
    return told.where(*where).group_by(EVENTS.c.event_name).order_by(count.desc(), EVENTS.c.event_name)


def properties(scan: Scan, limit: int, reader: Reader) -> list[PropertyKey]:
    """Custom keys by event name, the most frequent ones of each."""
    return [property_of(row) for row in reader.rows(built(_properties, scan, limit))]


def _properties(scan: Scan, limit: int) -> sa.Select[Any]:
    return most_frequent(*seen(scan), limit)


def live(scan: Scan, received_since: datetime, limit: int, reader: Reader) -> list[LiveVisitor]:
    """Visitors of the last minutes, latest first."""
    source, where = seen(scan)
    where = [*where, EVENTS.c.received_at >= sa.literal(naive(received_since))]
    by_visitor: Any = {"partition_by": EVENTS.c.visitor_no}
    at = EVENTS.c.timestamp
    viewed = sa.case((among(EVENTS.c.event_name, PAGE_VIEWS), 1), else_=0)
    paid = _paid(scan)
    foreign = sa.and_(paid.c.no_rate, paid.c.amount > 0)
    joined = source.outerjoin(paid, sa.and_(paid.c.seq == EVENTS.c.seq, paid.c.timestamp == at))
    facts = sa.select(
        *ROW,
        sa.func.sum(viewed).over(**by_visitor).label("views"),
        sa.func.count().over(**by_visitor).label("n"),
        sa.func.coalesce(sa.func.sum(paid.c.amount).over(**by_visitor), 0).label("paid"),
        sa.func.count(sa.case((foreign, 1))).over(**by_visitor).label("foreign"),
        sa.func.min(at).over(**by_visitor).label("first_at"),
        sa.func.row_number().over(**by_visitor, order_by=NEWEST).label("place"),
    )
    found = facts.select_from(joined).where(*where).subquery()
    latest = sa.select(found).where(found.c.place == 1)
    ordered = latest.order_by(found.c.timestamp.desc(), found.c.visitor_id).limit(limit)
    return [_visitor(row) for row in reader.rows(ordered)]


def _paid(scan: Scan) -> sa.FromClause:
    """Charges; a repeat of an order is none."""
    money = MoneyRows(scan, scan.span)
    table = money.table
    worth = money.amount.label("amount"), money.has_no_rate.label("no_rate")
    columns = (table.c.seq, table.c.timestamp, *worth)
    return sa.select(*columns).where(*money.where, table.c.kind == CHARGE).subquery("paid")


def _visitor(row: tuple[Any, ...]) -> LiveVisitor:
    latest = event(row[: len(ROW)])
    views, n, paid, foreign, first, _ = row[len(ROW) :]
    revenue = None if foreign else int(paid)
    return LiveVisitor(latest, int(views), int(n), revenue, aware(first), latest.timestamp)


def bounds(workspace_id: UUID, reader: Reader) -> tuple[datetime, datetime] | None:
    """Timestamps of the first and last event, bots included."""
    at = EVENTS.c.timestamp
    own = sa.select(sa.func.min(at), sa.func.max(at)).where(EVENTS.c.workspace_id == workspace_id)
    first, last = reader.rows(own)[0]
    return None if first is None else (aware(first), aware(last))
