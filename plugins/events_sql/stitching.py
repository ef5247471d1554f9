"""Whose an event is, joined at query time (semantics 5; `insight.stitch`).

An event with a strong id is that id's; one without is its visitor's owner's at that moment, else its
visitor's own. Some ids are part of another person (`tables.PERSONS`).
"""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.tables import EVENTS, IDS, OWNERS, PERSONS
from service_core.plugin import Scan


def _owners(scan: Scan) -> sa.FromClause:
    own = sa.select(OWNERS).where(OWNERS.c.workspace_id == scan.workspace_id)
    return own.subquery("owner")


def _owned(table: Any, owner: Any) -> Expression:
    """The owner of a visitor at the moment of an event."""
    at, seq = table.c.timestamp, table.c.seq
    return sa.and_(
        owner.c.visitor_no == table.c.visitor_no,
        sa.or_(at > owner.c.since, sa.and_(at == owner.c.since, seq >= owner.c.since_seq)),
        sa.or_(at < owner.c.until, sa.and_(at == owner.c.until, seq < owner.c.until_seq)),
    )


def _persons(scan: Scan) -> sa.FromClause:
    return sa.select(PERSONS).where(PERSONS.c.workspace_id == scan.workspace_id).subquery("part")


def person_no(rows: Any, table: Any) -> Expression:
    """Number of the person of every row, joined to the rows once."""
    owner = rows.join("owner", lambda: _owners(rows.scan), lambda o: _owned(table, o))
    own = sa.func.coalesce(table.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    part = rows.join("part", lambda: _persons(rows.scan), lambda p: p.c.no == own)
    return sa.func.coalesce(part.c.person_no, own)


def person_of(table: Any, scan: Scan) -> tuple[sa.FromClause, Expression]:
    """A table joined to what its persons follow from, and the number of the person."""
    owner, part = _owners(scan), _persons(scan)
    own = sa.func.coalesce(table.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    source = table.outerjoin(owner, _owned(table, owner)).outerjoin(part, part.c.no == own)
    return source, sa.func.coalesce(part.c.person_no, own)


def person_names(rows: Any, number: Expression) -> Expression:
    """The person as text: ``u:<strong id>``, or ``v:<visitor id>`` while nobody is known."""
    names = rows.join(
        "names",
        lambda: sa.select(IDS).where(IDS.c.workspace_id == rows.scan.workspace_id).subquery("names"),
        lambda i: i.c.no == number,
    )
    found: Expression = names.c.id
    return found


def persons_first_seen(scan: Scan, few: sa.TableClause | None = None) -> sa.FromClause:
    """When every person was first seen, or those of a few visitors (`kin.THEIRS`)."""
    source, number = person_of(EVENTS, scan)
    found = (
        sa.select(number.label("person_no"), sa.func.min(EVENTS.c.timestamp).label("first_at"))
        .select_from(source)
        .where(EVENTS.c.workspace_id == scan.workspace_id)
        .group_by(number)
    )
    if few is not None:
        found = found.where(EVENTS.c.visitor_no.in_(sa.select(few.c.no)))
    return (found if scan.include_bots else found.where(sa.not_(EVENTS.c.is_bot))).subquery("person_first")
