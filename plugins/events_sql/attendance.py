"""When which person was there: by sessions, as far as these tell it, which are a fraction of all events.

Nearly all visitors are of one person throughout, so a session of theirs is too, and was there when it began
and when it ended. The others' events are looked at one by one.
"""

from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.periods import bucket_index
from plugins.events_sql.prepared import END, START, WORKSPACE, source, told
from plugins.events_sql.relations import all_time, between
from plugins.events_sql.rows import naive
from plugins.events_sql.statements import built
from plugins.events_sql.stitching import for_good, on_visits_of, person_of, person_of_visitor
from plugins.events_sql.tables import EVENTS, KIN, SESSIONS, Number
from service_core.plugin import CohortPlan, Span

STAYS: Final = sa.table(
    "stays_of_persons",
    *(sa.column(name, Number()) for name in ("person_no", "session_no")),
    *(sa.column(name, sa.DateTime()) for name in ("first_at", "last_at")),
)
"""Sessions of persons, or single events, with the first and the last instant that somebody was there."""

_MIXED: Final = sa.table("mixed", sa.column("no", Number()))
"""Visitors that a strong id stood beside who does not have them for good: an event may be anybody's."""

_LONG: Final = sa.table("long_stays", *(sa.column(name, Number()) for name in ("person_no", "session_no")))
"""Sessions that reach over a whole bucket: what they did in between, their events have to tell."""


def keep_stays(plan: CohortPlan, reader: Reader, *, ever: bool) -> None:
    """Keep who was there when, and who was long.

    Args:
        plan: whose persons, and the buckets of their activity.
        reader: of the question.
        ever: all stays, or those that reach into the buckets.
    """
    reader.keep(_MIXED.name, built(_mixed, plan))
    reader.keep(STAYS.name, built(_stays, plan, ever))
    reader.keep(_LONG.name, built(_long, plan))


def seen_in_buckets(plan: CohortPlan) -> sa.CompoundSelect[Any]:
    """Persons with the buckets they were there in, once stays are kept."""
    c, e, series = STAYS.c, EVENTS.c, plan.activity.stretches()
    first, last = bucket_index(c.first_at, series), bucket_index(c.last_at, series)
    whole = Span(plan.activity.starts[0], plan.activity.end)
    bots = [] if plan.scan.include_bots else [sa.not_(e.is_bot)]
    began = sa.select(c.person_no, first.label("bucket")).where(*between(c.first_at, whole))
    before = c.first_at < sa.literal(naive(whole.start))
    ended = sa.select(c.person_no, last.label("bucket")).where(
        *between(c.last_at, whole), sa.or_(before, first != last)
    )
    meanwhile = (
        sa.select(_LONG.c.person_no, bucket_index(e.timestamp, series).label("bucket"))
        .join_from(_LONG, EVENTS, e.session_no == _LONG.c.session_no)
        .where(e.workspace_id == plan.scan.workspace_id, *between(e.timestamp, whole), *bots)
    )
    return sa.union(began, ended, meanwhile)


def _mixed(plan: CohortPlan) -> sa.Select[Any]:
    found = source(_not_for_good).under("found", workspace=plan.scan.workspace_id)
    return sa.select(found.c.no)


def _not_for_good() -> sa.Select[Any]:
    owner = for_good()
    same = sa.and_(owner.c.visitor_no == KIN.c.visitor_no, owner.c.strong_no == KIN.c.strong_no)
    found = sa.select(KIN.c.visitor_no.label("no")).select_from(KIN.outerjoin(owner, same))
    return found.where(KIN.c.workspace_id == WORKSPACE, owner.c.visitor_no.is_(None))


def _stays(plan: CohortPlan, ever: bool) -> sa.Select[Any]:
    span = all_time() if ever else Span(plan.activity.starts[0], plan.activity.end)
    found = source(_found, plan.scan.include_bots).under("found", **told(plan.scan, span))
    return sa.select(*(found.c[column.name] for column in STAYS.c))


def _found(include_bots: bool) -> sa.CompoundSelect[Any]:
    s, e = SESSIONS.c, EVENTS.c
    joined, person = person_of_visitor(SESSIONS)
    settled = (
        sa.select(person.label("person_no"), s.session_no, s.first_at, s.last_at)
        .select_from(joined.outerjoin(_MIXED, _MIXED.c.no == s.visitor_no))
        .where(s.workspace_id == WORKSPACE, s.first_at < END, s.last_at >= START, _MIXED.c.no.is_(None))
    )
    joined, person = person_of(EVENTS, _MIXED.name)
    each = (
        sa.select(person, e.session_no, e.timestamp, e.timestamp)
        .select_from(joined)
        .where(e.workspace_id == WORKSPACE, e.timestamp >= START, e.timestamp < END)
        .where(on_visits_of(_MIXED.name, e.session_no))
    )
    if include_bots:
        return sa.union_all(settled, each)
    return sa.union_all(settled.where(sa.not_(s.is_bot)), each.where(sa.not_(e.is_bot)))


def _long(plan: CohortPlan) -> sa.Select[Any]:
    c, series = STAYS.c, plan.activity.stretches()
    start, end = sa.literal(naive(plan.activity.starts[0])), sa.literal(naive(plan.activity.end))
    beyond = bucket_index(sa.literal(naive(plan.activity.end - timedelta.resolution)), series) + 1
    first: Expression = sa.case((c.first_at < start, -1), else_=bucket_index(c.first_at, series))
    last = sa.case((c.last_at >= end, beyond), else_=bucket_index(c.last_at, series))
    reaching = (c.first_at < end, c.last_at >= start, last - first > 1)
    return sa.select(c.person_no, c.session_no).where(*reaching)
