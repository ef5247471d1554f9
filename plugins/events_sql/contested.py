"""External ids that several persons carry and that join none of them (semantics 5.6).

Where an id does link, its events are one person's: so those of several persons are what was not linked.
"""

from itertools import groupby
from typing import Any
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


def _told(workspace: UUID, limit: int) -> sa.Select[Any]:
    """The first ids in their order, a row for each of the first persons that carry one."""
    named = _named(workspace).subquery("named")
    users = sa.func.sum(sa.case((fn.Starts(named.c.name, sa.literal("u:")), 1), else_=0))
    own = (named.c.key, named.c.value)
    claim = sa.func.row_number().over(partition_by=own, order_by=named.c.name).label("claim")
    counted = sa.select(named, users.over(partition_by=own).label("users"), claim).subquery("counted")
    c = counted.c
    place = sa.func.dense_rank().over(order_by=(c.users.desc(), c.last.desc(), c.key)).label("place")
    placed = sa.select(counted, place).subquery("placed")
    total = sa.func.max(placed.c.place).over().label("total")
    every = sa.select(placed, total).subquery("every")
    names = (*("total", "place", "key", "value", "users", "persons"), *("name", "events", "event_id", "at"))
    first = (every.c.place <= limit, every.c.claim <= MOST_CLAIMS)
    return sa.select(*(every.c[n] for n in names)).where(*first).order_by(every.c.place, every.c.claim)


def _named(workspace: UUID) -> sa.Select[Any]:
    """Whoever carries an id that somebody else carries too."""
    claims = _claims(workspace).cte("claims")
    c = claims.c
    persons, last = sa.func.count().label("persons"), sa.func.max(fn.Position(c.at, c.seq)).label("last")
    by_id = sa.select(c.key, c.value, persons, last).group_by(c.key, c.value)
    shared = by_id.having(sa.func.count() > 1).subquery("shared")
    same = sa.and_(shared.c.key == c.key, shared.c.value == c.value)
    theirs = sa.select(claims, shared.c.persons, shared.c.last).join_from(claims, shared, same).cte("theirs")
    numbers = sa.select(theirs.c.person_no)
    known = sa.select(IDS.c.no, IDS.c.id.label("name"))
    names = known.where(IDS.c.workspace_id == workspace, IDS.c.no.in_(numbers)).subquery("names")
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
