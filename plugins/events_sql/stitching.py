"""Whose an event is, joined at query time (semantics 5; `insight.stitch`).

An event with a strong id is that id's; one without is its visitor's owner's at that moment, else its
visitor's own. Some ids are part of another person (`tables.PERSONS`). Nearly every visitor has one
owner for good; only the few that changed hands are joined by time.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import END as END_OF_SPAN
from plugins.events_sql.prepared import START, WORKSPACE, Derived, source, told
from plugins.events_sql.tables import BEGINNING, END, EVENTS, IDS, OWNERS, PERSONS, SESSIONS
from service_core.plugin import Scan

_FOR_GOOD = sa.and_(OWNERS.c.since == sa.literal(BEGINNING), OWNERS.c.until == sa.literal(END))
_BRIEF: Final = timedelta(days=45)
"""Of a span this short, only visitors who were there are looked up: to find them costs less than to hash all."""


def _owners(which: str, few: str | None, spanned: bool = False) -> sa.Select[Any]:
    """Owners of visitors ``for_good``, or ``for_a_time``: of all, of those in a span or in a table of the question."""
    lasting = _FOR_GOOD if which == "for_good" else sa.not_(_FOR_GOOD)
    columns = [c for c in OWNERS.columns if c.name != "workspace_id"]
    found = sa.select(*columns).where(OWNERS.c.workspace_id == WORKSPACE, lasting)
    if few is not None:
        return found.where(among_few(few, OWNERS.c.visitor_no))
    return found.where(fn.Skips(_was_there(OWNERS.c.visitor_no))) if spanned else found


def _was_there(visitor_no: Expression) -> Expression:
    """Whether a visitor has an event in a span, when it is brief; the engine looks at nothing when it is not."""
    brief = fn.Micros(END_OF_SPAN) - fn.Micros(START) <= sa.literal(micros_of(_BRIEF))
    c = SESSIONS.c
    inside = (c.workspace_id == WORKSPACE, c.first_at < END_OF_SPAN, c.last_at >= START)
    return sa.or_(sa.not_(brief), visitor_no.in_(sa.select(c.visitor_no).where(*inside, brief)))


def among_few(few: str, number: Expression) -> Expression:
    """Whether a visitor or a session is in a table of the question, by the name of the table (`kin`)."""
    return number.in_(sa.select(sa.table(few, sa.column("no", sa.BigInteger)).c.no))


def visits_of(few: str) -> str:
    """Name of the table with the sessions of a few visitors (`kin`).

    An engine finds their events by these faster than by visitor: numbers of sessions rise with time, so most
    of the events need no look.
    """
    return f"visits_of_{few}"


def _parts() -> sa.Select[Any]:
    return sa.select(PERSONS.c.no, PERSONS.c.person_no).where(PERSONS.c.workspace_id == WORKSPACE)


def _names() -> sa.Select[Any]:
    return sa.select(IDS.c.no, IDS.c.id).where(IDS.c.workspace_id == WORKSPACE)


def held(table: Any, holder: Any) -> Expression:
    """The owner of a visitor at the moment of an event."""
    at, seq = table.c.timestamp, table.c.seq
    return sa.and_(
        holder.c.visitor_no == table.c.visitor_no,
        sa.or_(at > holder.c.since, sa.and_(at == holder.c.since, seq >= holder.c.since_seq)),
        sa.or_(at < holder.c.until, sa.and_(at == holder.c.until, seq < holder.c.until_seq)),
    )


def person_no(rows: Any, table: Any) -> Expression:
    """Number of the person of every row, joined to the rows once."""
    values = told(rows.scan, rows.span)
    whose = rows.few, rows.span is not None

    def joined(name: str, on: Callable[[Any], Expression], build: Any, *shape: Any) -> Any:
        return rows.join(name, lambda: source(build, *shape).under(name, **values), on)

    holder = joined("holder", lambda o: held(table, o), _owners, "for_a_time", *whose)
    owner = joined("owner", lambda o: o.c.visitor_no == table.c.visitor_no, _owners, "for_good", *whose)
    own = sa.func.coalesce(table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    part = joined("part", lambda p: p.c.no == own, _parts)
    return sa.func.coalesce(part.c.person_no, own)


def person_of(table: Any, few: str | None = None, **given: UUID) -> tuple[sa.FromClause, Expression]:
    """A table joined to what its persons follow from, and the number of the person.

    Args:
        table: with the columns of an event that tell whose it is.
        few: name of the table with all its visitors, when they are few (`kin`).
        given: the workspace, unless this is a part of a source.
    """
    holder = source(_owners, "for_a_time", few).under("holder", **given)
    owner = source(_owners, "for_good", few).under("owner", **given)
    part = source(_parts).under("part", **given)
    own = sa.func.coalesce(table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    joined = table.outerjoin(holder, held(table, holder))
    joined = joined.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
    return joined.outerjoin(part, part.c.no == own), sa.func.coalesce(part.c.person_no, own)


def persons_first_seen(scan: Scan, few: sa.TableClause | None = None) -> Derived:
    """When every person was first seen, or those of a few visitors (`kin.THEIRS`)."""
    shape = (scan.include_bots, few.name if few is not None else None)
    return source(_first_seen, *shape).under("person_first", workspace=scan.workspace_id)


def _first_seen(include_bots: bool, few: str | None) -> sa.Select[Any]:
    joined, number = person_of(EVENTS, few)
    first = sa.func.min(EVENTS.c.timestamp).label("first_at")
    found = sa.select(number.label("person_no"), first).select_from(joined).group_by(number)
    found = found.where(EVENTS.c.workspace_id == WORKSPACE)
    if few is not None:
        found = found.where(among_few(visits_of(few), EVENTS.c.session_no))
    return found if include_bots else found.where(sa.not_(EVENTS.c.is_bot))


def person_names(rows: Any, number: Expression) -> Expression:
    """The person as text: ``u:<strong id>``, or ``v:<visitor id>`` while nobody is known."""
    workspace = rows.scan.workspace_id
    names = rows.join(
        "names",
        lambda: source(_names).under("names", workspace=workspace),
        lambda i: i.c.no == number,
    )
    found: Expression = names.c.id
    return found
