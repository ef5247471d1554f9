"""Whose an event is, joined at query time (semantics 5; `insight.stitch`).

An event with a strong id is that id's; one without is its visitor's owner's at that moment, else its
visitor's own. Some ids are part of another person (`tables.PERSONS`). Nearly every visitor has one
owner for good; only the few that changed hands are joined by time.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.lean import Fixed
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import END as END_OF_SPAN
from plugins.events_sql.prepared import START, WORKSPACE, Derived, source, told
from plugins.events_sql.tables import BEGINNING, END, EVENTS, IDS, OWNERS, PERSONS, SESSIONS
from service_core.plugin import Scan

_FOR_GOOD = sa.and_(OWNERS.c.since == sa.literal(BEGINNING), OWNERS.c.until == sa.literal(END))
_BRIEF: Final = timedelta(days=45)
"""Of a span this short, only visitors who were there are looked up: to find them costs less than to hash all."""


_OWNER: Final = [c for c in OWNERS.columns if c.name != "workspace_id"]


def _owners(which: str, spanned: bool = False) -> sa.Select[Any]:
    """Owners of visitors ``for_good``, or ``for_a_time``: of all, or of those in a span."""
    lasting = _FOR_GOOD if which == "for_good" else sa.not_(_FOR_GOOD)
    found = sa.select(*_OWNER).where(OWNERS.c.workspace_id == WORKSPACE, lasting)
    return found.where(fn.Skips(_was_there(OWNERS.c.visitor_no))) if spanned else found


def _owners_of(few: str) -> sa.Select[Any]:
    """All owners of the visitors in a table of the question."""
    visitor_no = OWNERS.c.visitor_no
    own = (fn.Implied(OWNERS.c.workspace_id == WORKSPACE), among_few(few, visitor_no))
    return sa.select(*_OWNER).where(*own)


def _was_there(visitor_no: Expression) -> Expression:
    """Whether a visitor has an event in a span, when it is brief; the engine looks at nothing when it is not."""
    brief = fn.Micros(END_OF_SPAN) - fn.Micros(START) <= sa.literal(micros_of(_BRIEF))
    c = SESSIONS.c
    inside = (c.workspace_id == WORKSPACE, c.first_at < END_OF_SPAN, c.last_at >= START)
    return sa.or_(sa.not_(brief), visitor_no.in_(sa.select(c.visitor_no).where(*inside, brief)))


def number_of(workspace_id: UUID, id_: str) -> sa.Select[Any]:
    """The number of a visitor or strong id, as it is spelled in `IDS`."""
    c = IDS.c
    return sa.select(c.no).where(fn.Beside(c.workspace_id == workspace_id, c.id), c.id == id_)


def among_few(few: str, number: Expression) -> Expression:
    """Whether a number is in a table of the question, by the name of the table (`kin`)."""
    return number.in_(sa.select(sa.table(few, sa.column("no", sa.BigInteger)).c.no))


def on_visits_of(few: str, session_no: Expression) -> Expression:
    """Whether a session is of a visitor in a table of the question.

    An engine finds their events by these faster than by visitor: numbers of sessions rise with time, so most
    of the events need no look.
    """
    c = SESSIONS.c
    own = (fn.Implied(c.workspace_id == WORKSPACE), among_few(few, c.visitor_no))
    return session_no.in_(sa.select(c.session_no).where(*own))


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
    values, spanned = told(rows.scan, rows.span), rows.span is not None
    on, number = _persons(table.name)

    def join(name: str, build: Any, *shape: Any) -> None:
        rows.join(name, lambda: source(build, *shape).under(name, **values), lambda _: on[name])

    join("holder", _owners, "for_a_time", spanned)
    join("owner", _owners, "for_good", spanned)
    join("part", _parts)
    return number


@cache
def _persons(name: str) -> tuple[Mapping[str, Expression], Expression]:
    """On what the events of a table are joined to what their persons follow from, and the number of the person."""
    table = sa.table(name, *(sa.column(c.name, c.type) for c in EVENTS.columns))
    holder, owner = (
        sa.table(one, *(sa.column(c.name, c.type) for c in _OWNER)) for one in ("holder", "owner")
    )
    part = source(_parts).named("part")
    own = sa.func.coalesce(table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    on = {
        "holder": held(table, holder),
        "owner": owner.c.visitor_no == table.c.visitor_no,
        "part": part.c.no == own,
    }
    return {one: Fixed(met) for one, met in on.items()}, Fixed(sa.func.coalesce(part.c.person_no, own))


def person_of(table: Any, few: str | None = None, **given: UUID) -> tuple[sa.FromClause, Expression]:
    """A table joined to what its persons follow from, and the number of the person.

    Args:
        table: with the columns of an event that tell whose it is.
        few: name of the table with all its visitors, when they are few (`kin`).
        given: the workspace, unless this is a part of a source.
    """
    found = source(_owners, "for_a_time") if few is None else source(_owners_of, few)
    holder = found.under("holder", **given)
    joined, owners = table.outerjoin(holder, held(table, holder)), [holder.c.strong_no]
    if few is None:
        owner = source(_owners, "for_good").under("owner", **given)
        joined = joined.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
        owners.append(owner.c.strong_no)
    own = sa.func.coalesce(table.c.strong_no, *owners, table.c.visitor_no)
    part = source(_parts).under("part", **given)
    return joined.outerjoin(part, part.c.no == own), sa.func.coalesce(part.c.person_no, own)


def for_good() -> Derived:
    """Those who have a visitor for good, as a part of a source."""
    return source(_owners, "for_good").under("owner")


def person_of_visitor(table: Any) -> tuple[sa.FromClause, Expression]:
    """A table of visitors with one person each, joined as in `person_of`, as a part of a source."""
    owner, part = for_good(), source(_parts).under("part")
    own = sa.func.coalesce(owner.c.strong_no, table.c.visitor_no)
    joined = table.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
    return joined.outerjoin(part, part.c.no == own), sa.func.coalesce(part.c.person_no, own)


def persons_first_seen(scan: Scan) -> Derived:
    """When every person was first seen."""
    return source(_first_seen, scan.include_bots).under("person_first", workspace=scan.workspace_id)


def _first_seen(include_bots: bool) -> sa.Select[Any]:
    joined, number = person_of(EVENTS)
    first = sa.func.min(EVENTS.c.timestamp).label("first_at")
    found = sa.select(number.label("person_no"), first).select_from(joined).group_by(number)
    found = found.where(EVENTS.c.workspace_id == WORKSPACE)
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
