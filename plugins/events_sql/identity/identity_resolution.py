"""Joins events to their persons at query time, by the rules of identity resolution in the core.

An event with a strong id belongs to that id; without one to the visitor's owner at that moment, else to the
visitor itself. Some ids are merged into another person (`tables.PERSON_MERGES`). Nearly every visitor has one
permanent owner; only the few with several owners are joined by time.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final, Protocol
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
from service_core.plugin import QueryScope, TimeRange

_IS_PERMANENT = sa.and_(
    VISITOR_OWNERS.c.since == sa.literal(MIN_INSTANT), VISITOR_OWNERS.c.until == sa.literal(MAX_INSTANT)
)
_SHORT_SPAN: Final = timedelta(days=45)
"""For spans up to this length only visitors with events in the span are joined: that costs less than hashing all owners."""


_OWNER_COLUMNS: Final = [c for c in VISITOR_OWNERS.columns if c.name != "workspace_id"]


def _visitor_owners(permanent: bool, in_span: bool = False) -> sa.Select[Any]:
    """Selects the permanent owners of visitors, or all other owners with the time of their ownership.

    Args:
        permanent: which owners.
        in_span: engines may leave out the owners of visitors without a session in the span.
    """
    has_duration = _IS_PERMANENT if permanent else sa.not_(_IS_PERMANENT)
    query = sa.select(*_OWNER_COLUMNS).where(VISITOR_OWNERS.c.workspace_id == WORKSPACE, has_duration)
    return (
        query.where(fn.PruningHint(_has_session_in_span_or_span_over_45_days(VISITOR_OWNERS.c.visitor_no)))
        if in_span
        else query
    )


def _owners_of_visitors_in_table(visitors_table: str) -> sa.Select[Any]:
    """Selects all owners of the visitors in a temporary table."""
    visitor_no = VISITOR_OWNERS.c.visitor_no
    conditions = (
        fn.RedundantCondition(VISITOR_OWNERS.c.workspace_id == WORKSPACE),
        is_in_table(visitors_table, visitor_no),
    )
    return sa.select(*_OWNER_COLUMNS).where(*conditions)


def _has_session_in_span_or_span_over_45_days(visitor_no: Expression) -> Expression:
    """Returns whether a visitor has a session in the span; true for a span of more than 45 days, without a look-up."""
    brief = fn.EpochMicroseconds(END_OF_SPAN) - fn.EpochMicroseconds(START) <= sa.literal(
        microseconds(_SHORT_SPAN)
    )
    c = SESSIONS.c
    inside = (c.workspace_id == WORKSPACE, c.first_at < END_OF_SPAN, c.last_at >= START)
    return sa.or_(sa.not_(brief), visitor_no.in_(sa.select(c.visitor_no).where(*inside, brief)))


def id_number(workspace_id: UUID, prefixed_id: str) -> sa.Select[Any]:
    """Selects the number of a visitor or strong id, given with its prefix."""
    c = ID_NUMBERS.c
    return sa.select(c.number).where(
        fn.UnindexedCondition(c.workspace_id == workspace_id, c.id), c.id == prefixed_id
    )


def is_in_table(table_name: str, number: Expression) -> Expression:
    """Returns whether a number is in a temporary table, given by its name."""
    return number.in_(sa.select(sa.table(table_name, sa.column("number", sa.BigInteger)).c.number))


def is_session_of_visitors(visitors_table: str, session_no: Expression) -> Expression:
    """Returns whether a session belongs to a visitor in a temporary table.

    Engines find the events of a visitor faster by session: session numbers rise with time, so most blocks of
    events are skipped.
    """
    c = SESSIONS.c
    conditions = (
        fn.RedundantCondition(c.workspace_id == WORKSPACE),
        is_in_table(visitors_table, c.visitor_no),
    )
    return session_no.in_(sa.select(c.session_no).where(*conditions))


def _merged_persons() -> sa.Select[Any]:
    return sa.select(PERSON_MERGES.c.number, PERSON_MERGES.c.person_no).where(
        PERSON_MERGES.c.workspace_id == WORKSPACE
    )


def _id_texts() -> sa.Select[Any]:
    return sa.select(ID_NUMBERS.c.number, ID_NUMBERS.c.id).where(ID_NUMBERS.c.workspace_id == WORKSPACE)


def is_owner_at_event(events: Any, owner: Any) -> Expression:
    """Returns the join condition of an event and the owner of its visitor at that moment."""
    at, seq = events.c.timestamp, events.c.seq
    return sa.and_(
        owner.c.visitor_no == events.c.visitor_no,
        sa.or_(at > owner.c.since, sa.and_(at == owner.c.since, seq >= owner.c.since_seq)),
        sa.or_(at < owner.c.until, sa.and_(at == owner.c.until, seq < owner.c.until_seq)),
    )


class JoinableRows(Protocol):
    """Rows whose FROM clause grows with the columns that are used (`relation_rows.RelationRows`)."""

    scope: QueryScope
    span: TimeRange | None

    def outer_join_once(
        self, alias: str, build_table: Callable[[], Any], join_condition: Callable[[Any], Expression]
    ) -> Any:
        """Outer joins a table under an alias, unless one is joined under it already, and returns the joined table."""


def join_and_return_person_number(rows: JoinableRows, table: Any) -> Expression:
    """Joins relation rows to their persons, unless they are joined already, and returns the number of the person."""
    values, in_span = bind_parameters(rows.scope, rows.span), rows.span is not None
    conditions, person_number = _person_join_conditions_and_number(table.name)

    def join_source(alias: str, build: Any, *shape: Any) -> None:
        rows.outer_join_once(
            alias,
            lambda: compiled_source(build, *shape).as_subquery(alias, **values),
            lambda _: conditions[alias],
        )

    join_source("holder", _visitor_owners, False, in_span)
    join_source("owner", _visitor_owners, True, in_span)
    join_source("part", _merged_persons)
    return person_number


@cache
def _person_join_conditions_and_number(name: str) -> tuple[Mapping[str, Expression], Expression]:
    """Returns the join conditions of a table's events and the tables that determine their persons, and the person's number."""
    table = sa.table(name, *(sa.column(c.name, c.type) for c in EVENTS.columns))
    holder, owner = (
        sa.table(alias, *(sa.column(c.name, c.type) for c in _OWNER_COLUMNS)) for alias in ("holder", "owner")
    )
    part = compiled_source(_merged_persons).as_table("part")
    visitor_person = sa.func.coalesce(
        table.c.strong_no, holder.c.strong_no, owner.c.strong_no, table.c.visitor_no
    )
    on = {
        "holder": is_owner_at_event(table, holder),
        "owner": owner.c.visitor_no == table.c.visitor_no,
        "part": part.c.number == visitor_person,
    }
    return {alias: ConstantText(condition) for alias, condition in on.items()}, ConstantText(
        sa.func.coalesce(part.c.person_no, visitor_person)
    )


def joined_to_person(
    table: Any, visitors_table: str | None = None, **given: UUID
) -> tuple[sa.FromClause, Expression]:
    """Returns a table joined to the tables that determine its persons, and the number of the person.

    Args:
        table: with the identity columns of an event.
        visitors_table: name of a table with all visitors of ``table``, when they are few.
        given: the workspace, unless this is part of a compiled source.
    """
    owner_source = (
        compiled_source(_visitor_owners, False)
        if visitors_table is None
        else compiled_source(_owners_of_visitors_in_table, visitors_table)
    )
    holder = owner_source.as_subquery("holder", **given)
    joined, owners = table.outerjoin(holder, is_owner_at_event(table, holder)), [holder.c.strong_no]
    if visitors_table is None:
        owner = compiled_source(_visitor_owners, True).as_subquery("owner", **given)
        joined = joined.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
        owners.append(owner.c.strong_no)
    visitor_person = sa.func.coalesce(table.c.strong_no, *owners, table.c.visitor_no)
    part = compiled_source(_merged_persons).as_subquery("part", **given)
    return joined.outerjoin(part, part.c.number == visitor_person), sa.func.coalesce(
        part.c.person_no, visitor_person
    )


def permanent_owners() -> NamedSubquery:
    """Returns the permanent owners of visitors, as part of a compiled source."""
    return compiled_source(_visitor_owners, True).as_subquery("owner")


def single_owner_visitors_joined_to_person(table: Any) -> tuple[sa.FromClause, Expression]:
    """Returns a table of visitors that have one person each, joined as in `joined_to_person`, as part of a compiled source."""
    owner, part = permanent_owners(), compiled_source(_merged_persons).as_subquery("part")
    visitor_person = sa.func.coalesce(owner.c.strong_no, table.c.visitor_no)
    joined = table.outerjoin(owner, owner.c.visitor_no == table.c.visitor_no)
    return joined.outerjoin(part, part.c.number == visitor_person), sa.func.coalesce(
        part.c.person_no, visitor_person
    )


def persons_first_seen(scope: QueryScope) -> NamedSubquery:
    """Returns the timestamp of each person's first event."""
    return compiled_source(_first_event_per_person, scope.include_bots).as_subquery(
        "person_first", workspace=scope.workspace_id
    )


def _first_event_per_person(include_bots: bool) -> sa.Select[Any]:
    joined, number = joined_to_person(EVENTS)
    first = sa.func.min(EVENTS.c.timestamp).label("first_at")
    query = sa.select(number.label("person_no"), first).select_from(joined).group_by(number)
    query = query.where(EVENTS.c.workspace_id == WORKSPACE)
    return query if include_bots else query.where(sa.not_(EVENTS.c.is_bot))


def join_person_id_text(rows: JoinableRows, person_number: Expression) -> Expression:
    """Joins the text of the person's id and returns it: ``u:<strong id>``, or ``v:<visitor id>`` for anonymous persons."""
    workspace = rows.scope.workspace_id
    names = rows.outer_join_once(
        "names",
        lambda: compiled_source(_id_texts).as_subquery("names", workspace=workspace),
        lambda i: i.c.number == person_number,
    )
    id_text: Expression = names.c.id
    return id_text
