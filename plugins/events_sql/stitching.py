"""Whose an event is, joined at query time (semantics 5; `insight.stitch`).

An event with a strong id is that id's; one without is its visitor's owner's at that moment, else its
visitor's own. Some ids are part of another person (`tables.PERSONS`). Nearly every visitor has one
owner for good; only the few that changed hands are joined by time.
"""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.tables import BEGINNING, END, EVENTS, IDS, OWNERS, PERSONS
from service_core.plugin import Scan

_FOR_GOOD = sa.and_(OWNERS.c.since == sa.literal(BEGINNING), OWNERS.c.until == sa.literal(END))


def _owners(scan: Scan, which: Expression, name: str) -> sa.Subquery:
    own = sa.select(OWNERS).where(OWNERS.c.workspace_id == scan.workspace_id, which)
    return own.subquery(name)


def _for_a_time(scan: Scan) -> sa.Subquery:
    return _owners(scan, sa.not_(_FOR_GOOD), "holder")


def _for_good(scan: Scan) -> sa.Subquery:
    return _owners(scan, _FOR_GOOD, "owner")


def held(table: Any, holder: Any) -> Expression:
    """The owner of a visitor at the moment of an event."""
    at, seq = table.c.timestamp, table.c.seq
    return sa.and_(
        holder.c.visitor_no == table.c.visitor_no,
        sa.or_(at > holder.c.since, sa.and_(at == holder.c.since, seq >= holder.c.since_seq)),
        sa.or_(at < holder.c.until, sa.and_(at == holder.c.until, seq < holder.c.until_seq)),
    )


def _persons(scan: Scan) -> sa.Subquery:
    return sa.select(PERSONS).where(PERSONS.c.workspace_id == scan.workspace_id).subquery("part")


def person_no(rows: Any, table: Any) -> Expression:
    """Number of the person of every row, joined to the rows once."""
    scan = rows.scan
    holder = rows.join("holder", lambda: _for_a_time(scan), lambda o: held(table, o))
    owner = rows.join("owner", lambda: _for_good(scan), lambda o: o.c.visitor_no == table.c.visitor_no)
    own = sa.func.coalesce(table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    part = rows.join("part", lambda: _persons(scan), lambda p: p.c.no == own)
    return sa.func.coalesce(part.c.person_no, own)


def person_of(table: Any, scan: Scan) -> tuple[sa.FromClause, Expression]:
    """A table joined to what its persons follow from, and the number of the person."""
    holder, owner, part = _for_a_time(scan), _for_good(scan), _persons(scan)
    own = sa.func.coalesce(table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    source = table.outerjoin(holder, held(table, holder))
    source = source.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
    return source.outerjoin(part, part.c.no == own), sa.func.coalesce(part.c.person_no, own)


def persons_first_seen(scan: Scan, few: sa.TableClause | None = None) -> sa.Subquery:
    """When every person was first seen, or those of a few visitors (`kin.THEIRS`)."""
    source, number = person_of(EVENTS, scan)
    first = sa.func.min(EVENTS.c.timestamp).label("first_at")
    found = sa.select(number.label("person_no"), first).select_from(source).group_by(number)
    found = found.where(EVENTS.c.workspace_id == scan.workspace_id)
    if few is not None:
        found = found.where(EVENTS.c.visitor_no.in_(sa.select(few.c.no)))
    return (found if scan.include_bots else found.where(sa.not_(EVENTS.c.is_bot))).subquery("person_first")


def person_names(rows: Any, number: Expression) -> Expression:
    """The person as text: ``u:<strong id>``, or ``v:<visitor id>`` while nobody is known."""
    names = rows.join(
        "names",
        lambda: sa.select(IDS).where(IDS.c.workspace_id == rows.scan.workspace_id).subquery("names"),
        lambda i: i.c.no == number,
    )
    found: Expression = names.c.id
    return found
