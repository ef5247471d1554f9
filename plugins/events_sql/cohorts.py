"""Retention and LTV: who came, whether they came back, and what they are worth (semantics 16)."""

from collections import Counter
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attendance import STAYS, keep_stays, seen_in_buckets
from plugins.events_sql.conditions import Expression, meets, of_column
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.ledger import MoneyRows
from plugins.events_sql.periods import bucket_index
from plugins.events_sql.relations import EventRows, all_time, between, conversions
from plugins.events_sql.statements import built
from plugins.events_sql.tables import EVENTS
from plugins.events_sql.touches import touches
from service_core.plugin import CHARGE, CohortCell, CohortPlan, CohortTable, Span

_MEMBERS: Final = sa.table("members", *(sa.column(name, sa.BigInteger) for name in ("person_no", "cohort")))
"""Persons acquired in the span with the index of their cohort, kept for the question."""


def cohorts(plan: CohortPlan, reader: Reader) -> CohortTable:
    """Cohort sizes, and activity and money by cohort and bucket."""
    if not plan.by_conversion or plan.event_names is None:
        keep_stays(plan, reader, ever=not plan.by_conversion)
    reader.keep(_MEMBERS.name, built(_members, plan))
    sizes = reader.rows(built(_sizes))
    active, paid = reader.rows(built(_active, plan)), reader.rows(built(_paid, plan))
    return CohortTable(dict(sizes), _cells(plan, active, paid))


def _members(plan: CohortPlan) -> sa.Select[Any]:
    first = _first_conversions(plan) if plan.by_conversion else _first_seen()
    cohort = bucket_index(first.c.first_at, plan.acquisition.stretches())
    statement = sa.select(first.c.person_no, cohort.label("cohort")).where(
        *between(first.c.first_at, plan.scan.span)
    )
    if not plan.first_touch:
        return statement
    came = _first_touches(plan)
    met = [meets(of_column(_touch_column(came, p.column)), p) for p in plan.first_touch]
    return statement.select_from(first.outerjoin(came, came.c.person_no == first.c.person_no)).where(*met)


def _first_seen() -> sa.Subquery:
    c = STAYS.c
    return (
        sa.select(c.person_no, sa.func.min(c.first_at).label("first_at"))
        .group_by(c.person_no)
        .subquery("person_first")
    )


def _sizes() -> sa.Select[Any]:
    return sa.select(_MEMBERS.c.cohort, sa.func.count()).group_by(_MEMBERS.c.cohort)


def _touch_column(touch: Any, name: str) -> Expression:
    columns = [touch.c[part] for part in name.split("|")]
    return columns[0] if len(columns) == 1 else sa.func.coalesce(*columns)


def _first_conversions(plan: CohortPlan) -> sa.Subquery:
    rows = EventRows(plan.scan, all_time(), conversions(plan.scan, all_time()))
    number = rows.person_no
    first = sa.select(number.label("person_no"), sa.func.min(rows.at).label("first_at"))
    return first.select_from(rows.source).where(*rows.where).group_by(number).subquery("acquired")


def _first_touches(plan: CohortPlan) -> sa.Subquery:
    touch = touches(plan.scan)
    place = sa.func.row_number().over(partition_by=touch.c.person_no, order_by=(touch.c.at, touch.c.seq))
    numbered = sa.select(touch, place.label("place")).subquery()
    return sa.select(numbered).where(numbered.c.place == 1).subquery("came")


def _active(plan: CohortPlan) -> sa.Select[Any]:
    """Persons by cohort and bucket, and how many of them never came back later."""
    found = seen_in_buckets(plan) if plan.event_names is None else _did(plan, plan.event_names)
    seen, m = found.subquery("seen"), _MEMBERS.c
    last = sa.func.max(seen.c.bucket).over(partition_by=seen.c.person_no).label("last")
    met = (
        sa.select(m.cohort, seen.c.bucket, last)
        .join_from(seen, _MEMBERS, m.person_no == seen.c.person_no)
        .where(seen.c.bucket >= m.cohort)
        .subquery("met")
    )
    group, ended = (met.c.cohort, met.c.bucket), met.c.bucket == met.c.last
    return sa.select(*group, sa.func.count(), sa.func.count().filter(ended)).group_by(*group)


def _did(plan: CohortPlan, names: frozenset[str]) -> sa.Select[Any]:
    """Persons with the buckets they did something of some names in."""
    rows = EventRows(plan.scan, Span(plan.activity.starts[0], plan.activity.end))
    number = rows.person_no
    bucket = bucket_index(rows.at, plan.activity.stretches())
    pairs = sa.select(number.label("person_no"), bucket.label("bucket")).distinct()
    return pairs.select_from(rows.source).where(*rows.where, among(EVENTS.c.event_name, names))


def _paid(plan: CohortPlan) -> sa.Select[Any]:
    """Net money by cohort and bucket in the scan's currency, and whether there was another."""
    rows = MoneyRows(plan.scan, Span(plan.activity.starts[0], plan.activity.end))
    number = rows.key("person")
    bucket = bucket_index(rows.at, plan.activity.stretches())
    net = sa.case((rows.table.c.kind == CHARGE, rows.amount), else_=-rows.amount)
    met = rows.source.join(_MEMBERS, sa.and_(_MEMBERS.c.person_no == number, bucket >= _MEMBERS.c.cohort))
    columns = (_MEMBERS.c.cohort, bucket.label("bucket"))
    revenue = sa.func.coalesce(sa.func.sum(net).filter(sa.not_(rows.has_no_rate)), 0)
    foreign = sa.func.count().filter(sa.and_(rows.has_no_rate, rows.amount != 0)) > 0
    return sa.select(*columns, revenue, foreign).select_from(met).where(*rows.where).group_by(*columns)


def _cells(plan: CohortPlan, active: list[Any], paid: list[Any]) -> list[CohortCell]:
    """The cells that are not empty, cohort by cohort."""
    seen = {(cohort, bucket): n for cohort, bucket, n, _ in active}
    last = Counter({(cohort, bucket): n for cohort, bucket, _, n in active})
    money = {(cohort, bucket): (int(revenue), bool(foreign)) for cohort, bucket, revenue, foreign in paid}
    found = []
    for cohort in sorted({key[0] for key in (*seen, *money)}):
        row = []
        returned = 0
        for bucket in reversed(range(cohort, len(plan.activity.starts))):
            returned += last[cohort, bucket]
            revenue, foreign = money.get((cohort, bucket), (0, False))
            row.append(CohortCell(cohort, bucket, seen.get((cohort, bucket), 0), returned, revenue, foreign))
        found += [c for c in reversed(row) if c.returned or c.revenue or c.foreign_money]
    return found
