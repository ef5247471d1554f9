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

from plugins.events_sql.schema.tables import (
    EVENTS,
    ID_NUMBERS,
    MAX_INSTANT,
    MIN_INSTANT,
    PERSON_MERGES,
    SESSIONS,
    VISITOR_OWNERS,
)
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import END as END_OF_SPAN
from plugins.events_sql.sql.compiled_sources import (
    START,
    WORKSPACE,
    NamedSubquery,
    bind_parameters,
    compiled_source,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.select_elements import ConstantText
from plugins.events_sql.sql.time_buckets import microseconds
from service_core.plugin import QueryScope

_IS_PERMANENT = sa.and_(
    VISITOR_OWNERS.c.since == sa.literal(MIN_INSTANT), VISITOR_OWNERS.c.until == sa.literal(MAX_INSTANT)
)
_SHORT_SPAN: Final = timedelta(days=45)
"""Of a span this short, only visitors who were there are looked up: to find them costs less than to hash all."""


_OWNER_COLUMNS: Final = [c for c in VISITOR_OWNERS.columns if c.name != "workspace_id"]


def _visitor_owners(which: str, spanned: bool = False) -> sa.Select[Any]:
    """Owners of visitors ``permanent_owners``, or ``for_a_time``: of all, or of those in a span."""
    lasting = _IS_PERMANENT if which == "permanent_owners" else sa.not_(_IS_PERMANENT)
    found = sa.select(*_OWNER_COLUMNS).where(VISITOR_OWNERS.c.workspace_id == WORKSPACE, lasting)
    return found.where(fn.PruningHint(_has_events(VISITOR_OWNERS.c.visitor_no))) if spanned else found


def _owners_of_visitors(few: str) -> sa.Select[Any]:
    """All owners of the visitors in a table of the question."""
    visitor_no = VISITOR_OWNERS.c.visitor_no
    own = (fn.RedundantCondition(VISITOR_OWNERS.c.workspace_id == WORKSPACE), is_in_table(few, visitor_no))
    return sa.select(*_OWNER_COLUMNS).where(*own)


def _has_events(visitor_no: Expression) -> Expression:
    """Whether a visitor has an event in a span, when it is brief; the engine looks at nothing when it is not."""
    brief = fn.EpochMicroseconds(END_OF_SPAN) - fn.EpochMicroseconds(START) <= sa.literal(
        microseconds(_SHORT_SPAN)
    )
    c = SESSIONS.c
    inside = (c.workspace_id == WORKSPACE, c.first_at < END_OF_SPAN, c.last_at >= START)
    return sa.or_(sa.not_(brief), visitor_no.in_(sa.select(c.visitor_no).where(*inside, brief)))


def id_number(workspace_id: UUID, id_: str) -> sa.Select[Any]:
    """The number of a visitor or strong id, as it is spelled in `IDS`."""
    c = ID_NUMBERS.c
    return sa.select(c.no).where(fn.UnindexedCondition(c.workspace_id == workspace_id, c.id), c.id == id_)


def is_in_table(few: str, number: Expression) -> Expression:
    """Whether a number is in a table of the question, by the name of the table (`kin`)."""
    return number.in_(sa.select(sa.table(few, sa.column("no", sa.BigInteger)).c.no))


def is_session_of_visitors(few: str, session_no: Expression) -> Expression:
    """Whether a session is of a visitor in a table of the question.

    An engine finds their events by these faster than by visitor: numbers of sessions rise with time, so most
    of the events need no look.
    """
    c = SESSIONS.c
    own = (fn.RedundantCondition(c.workspace_id == WORKSPACE), is_in_table(few, c.visitor_no))
    return session_no.in_(sa.select(c.session_no).where(*own))


def _merged_persons() -> sa.Select[Any]:
    return sa.select(PERSON_MERGES.c.no, PERSON_MERGES.c.person_no).where(
        PERSON_MERGES.c.workspace_id == WORKSPACE
    )


def _id_texts() -> sa.Select[Any]:
    return sa.select(ID_NUMBERS.c.no, ID_NUMBERS.c.id).where(ID_NUMBERS.c.workspace_id == WORKSPACE)


def owner_at(table: Any, owner: Any) -> Expression:
    """The owner of a visitor at the moment of an event."""
    at, seq = table.c.timestamp, table.c.seq
    return sa.and_(
        owner.c.visitor_no == table.c.visitor_no,
        sa.or_(at > owner.c.since, sa.and_(at == owner.c.since, seq >= owner.c.since_seq)),
        sa.or_(at < owner.c.until, sa.and_(at == owner.c.until, seq < owner.c.until_seq)),
    )


def join_person_number(rows: Any, table: Any) -> Expression:
    """Number of the person of every row, joined to the rows once."""
    values, spanned = bind_parameters(rows.scan, rows.span), rows.span is not None
    on, number = _person_joins(table.name)

    def join(name: str, build: Any, *shape: Any) -> None:
        rows.join(
            name, lambda: compiled_source(build, *shape).as_subquery(name, **values), lambda _: on[name]
        )

    join("holder", _visitor_owners, "for_a_time", spanned)
    join("owner", _visitor_owners, "permanent_owners", spanned)
    join("part", _merged_persons)
    return number


@cache
def _person_joins(name: str) -> tuple[Mapping[str, Expression], Expression]:
    """On what the events of a table are joined to what their persons follow from, and the number of the person."""
    table = sa.table(name, *(sa.column(c.name, c.type) for c in EVENTS.columns))
    holder, owner = (
        sa.table(one, *(sa.column(c.name, c.type) for c in _OWNER_COLUMNS)) for one in ("holder", "owner")
    )
    part = compiled_source(_merged_persons).as_table("part")
    own = sa.func.coalesce(table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no)
    on = {
        "holder": owner_at(table, holder),
        "owner": owner.c.visitor_no == table.c.visitor_no,
        "part": part.c.no == own,
    }
    return {one: ConstantText(met) for one, met in on.items()}, ConstantText(
        sa.func.coalesce(part.c.person_no, own)
    )


def with_person(
    table: Any, visitors_table: str | None = None, **given: UUID
) -> tuple[sa.FromClause, Expression]:
    """A table joined to what its persons follow from, and the number of the person.

    Args:
        table: with the columns of an event that tell whose it is.
        few: name of the table with all its visitors, when they are few (`kin`).
        given: the workspace, unless this is a part of a source.
    """
    found = (
        compiled_source(_visitor_owners, "for_a_time")
        if visitors_table is None
        else compiled_source(_owners_of_visitors, visitors_table)
    )
    holder = found.as_subquery("holder", **given)
    joined, owners = table.outerjoin(holder, owner_at(table, holder)), [holder.c.strong_no]
    if visitors_table is None:
        owner = compiled_source(_visitor_owners, "permanent_owners").as_subquery("owner", **given)
        joined = joined.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
        owners.append(owner.c.strong_no)
    own = sa.func.coalesce(table.c.strong_no, *owners, table.c.visitor_no)
    part = compiled_source(_merged_persons).as_subquery("part", **given)
    return joined.outerjoin(part, part.c.no == own), sa.func.coalesce(part.c.person_no, own)


def permanent_owners() -> NamedSubquery:
    """Those who have a visitor for good, as a part of a source."""
    return compiled_source(_visitor_owners, "permanent_owners").as_subquery("owner")


def with_visitor_person(table: Any) -> tuple[sa.FromClause, Expression]:
    """A table of visitors with one person each, joined as in `person_of`, as a part of a source."""
    owner, part = permanent_owners(), compiled_source(_merged_persons).as_subquery("part")
    own = sa.func.coalesce(owner.c.strong_no, table.c.visitor_no)
    joined = table.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
    return joined.outerjoin(part, part.c.no == own), sa.func.coalesce(part.c.person_no, own)


def persons_first_seen(scan: QueryScope) -> NamedSubquery:
    """When every person was first seen."""
    return compiled_source(_first_event_per_person, scan.include_bots).as_subquery(
        "person_first", workspace=scan.workspace_id
    )


def _first_event_per_person(include_bots: bool) -> sa.Select[Any]:
    joined, number = with_person(EVENTS)
    first = sa.func.min(EVENTS.c.timestamp).label("first_at")
    found = sa.select(number.label("person_no"), first).select_from(joined).group_by(number)
    found = found.where(EVENTS.c.workspace_id == WORKSPACE)
    return found if include_bots else found.where(sa.not_(EVENTS.c.is_bot))


def join_person_names(rows: Any, number: Expression) -> Expression:
    """The person as text: ``u:<strong id>``, or ``v:<visitor id>`` while nobody is known."""
    workspace = rows.scan.workspace_id
    names = rows.join(
        "names",
        lambda: compiled_source(_id_texts).as_subquery("names", workspace=workspace),
        lambda i: i.c.no == number,
    )
    found: Expression = names.c.id
    return found
