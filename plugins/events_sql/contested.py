"""External ids that several persons carry and that join none of them (semantics 5.6).

Where an id does link, its events are one person's: so those of several persons are what was not linked.
"""

from itertools import groupby
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.persons import OWN, each_id, found_first, linking, owned
from plugins.events_sql.rows import aware, loads
from plugins.events_sql.tables import EVENTS, IDS, PERSONS
from service_core.plugin import MOST_CLAIMS, Claim, Contested


def contested(workspace_id: UUID, limit: int, reader: Reader) -> tuple[list[Contested], int]:
    """External ids that link nobody because several persons carry them, and the number of all."""
    found = reader.rows(_told(workspace_id, limit))
    listed = [list(rows) for _, rows in groupby(found, key=lambda row: row[1])]
    return [_contested(rows) for rows in listed], found[0][0] if found else 0


def _contested(rows: list[tuple[Any, ...]]) -> Contested:
    _, _, namespace, value, users, persons, *_ = rows[0]
    claims = (Claim(name, events, event_id, aware(at)) for *_, name, events, event_id, at in rows)
    return Contested(namespace, loads(value), users, persons, tuple(claims))


_OF_ID: Final = ("total", "place", "key", "value", "users", "persons")
_OF_CLAIM: Final = ("name", "events", "event_id", "at")


def _told(workspace: UUID, limit: int) -> sa.Select[Any]:
    """The first ids in their order, a row for each of the first persons that carry one."""
    named = _named(workspace).cte("named")
    c = named.c
    users = sa.func.sum(sa.case((fn.Starts(c.name, sa.literal("u:")), 1), else_=0)).label("users")
    own = (c.key, c.value, c.persons, c.last)
    ids = sa.select(*own, users).group_by(*own).subquery("ids_of")
    order = (ids.c.users.desc(), ids.c.last.desc(), ids.c.key)
    place = sa.func.row_number().over(order_by=order).label("place")
    placed = sa.select(ids, place, sa.func.count().over().label("total")).subquery("placed")
    first = sa.select(placed).where(placed.c.place <= limit).subquery("first")
    claim = sa.func.row_number().over(partition_by=first.c.place, order_by=c.name).label("claim")
    columns = (*(first.c[n] for n in _OF_ID), *(c[n] for n in _OF_CLAIM))
    told = sa.select(*columns, claim).join_from(named, first, _same_id(c, first.c)).subquery("told_ids")
    shown = sa.select(*(told.c[n] for n in (*_OF_ID, *_OF_CLAIM)))
    return shown.where(told.c.claim <= MOST_CLAIMS).order_by(told.c.place, told.c.claim)


def _same_id(one: Any, other: Any) -> Expression:
    return sa.and_(one.key == other.key, one.value == other.value)


def _named(workspace: UUID) -> sa.Select[Any]:
    """Whoever carries an id that somebody else carries too."""
    claims = _claims(workspace).cte("claims")
    c = claims.c
    persons, last = sa.func.count().label("persons"), sa.func.max(fn.Position(c.at, c.seq)).label("last")
    by_id = sa.select(c.key, c.value, persons, last).group_by(c.key, c.value)
    shared = by_id.having(sa.func.count() > 1).subquery("shared")
    columns = (claims, shared.c.persons, shared.c.last)
    theirs = sa.select(*columns).join_from(claims, shared, _same_id(c, shared.c)).cte("theirs")
    known = (IDS.c.workspace_id == workspace, IDS.c.no.in_(sa.select(theirs.c.person_no)))
    names = sa.select(IDS.c.no, IDS.c.id.label("name")).where(*known).subquery("names")
    return sa.select(theirs, names.c.name).join_from(theirs, names, names.c.no == theirs.c.person_no)


def _claims(workspace: UUID) -> sa.Select[Any]:
    """External ids and the persons whose events carry them: how many events, and the latest."""
    ids = EVENTS.c.external_ids
    where = [*linking(workspace), ids.is_not(None)]
    events = found_first("carrying", *OWN, ids, EVENTS.c.event_id, where=where)
    source, own = owned(events)
    parts = sa.select(PERSONS.c.no, PERSONS.c.person_no).where(PERSONS.c.workspace_id == workspace)
    part = parts.subquery("part")
    number = sa.func.coalesce(part.c.person_no, own).label("person_no")
    told = _latest(events.c, sa.func.count(), events.c.timestamp, by=(events.c.external_ids, number))
    each = each_id(told.select_from(source.outerjoin(part, part.c.no == own))).c
    return _latest(each, sa.func.sum(each.events), each.at, by=(each.key, each.value, each.person_no))


def _latest(c: Any, events: Expression, at: Expression, *, by: tuple[Expression, ...]) -> sa.Select[Any]:
    """How many events there are of each, and which is the latest."""
    seq = sa.cast(fn.Latest(c.seq, at, c.seq), sa.BigInteger).label("seq")
    event_id = fn.Latest(c.event_id, at, c.seq).label("event_id")
    columns = (*by, fn.Whole(events).label("events"), sa.func.max(at).label("at"), seq, event_id)
    return sa.select(*columns).group_by(*by)
