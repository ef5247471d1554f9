"""Ids that are part of another person: by `$alias` (semantics 5.5) and by external ids (5.6).

What `insight.stitch` says of events is worked out here on numbers, once per change and workspace,
so that a question only looks the result up.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.links import ALIAS, MATCHED
from plugins.events_sql.mails import Whole, mailed
from plugins.events_sql.stitching import held
from plugins.events_sql.tables import EVENTS, IDS, OWNERS, PERSONS, REVOKED, Number


def names(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Strong id -> the one that names its person, from (old, new) pairs in order of time.

    The new id of the latest pair names the whole person; a repeated or circular pair is harmless.
    """
    together: dict[int, set[int]] = {}
    named: dict[int, int] = {}
    for old, new in pairs:
        group = together.get(old, {old}) | together.get(new, {new})
        together |= dict.fromkeys(group, group)
        named |= dict.fromkeys(group, new)
    return named


def joined(carriers: Mapping[Any, set[int]], texts: Mapping[int, str]) -> dict[int, int]:
    """Person -> the person it is a part of, by the external ids they carry.

    Args:
        carriers: external id -> persons that carry it.
        texts: person -> ``u:..`` or ``v:..``. An id that two known ones carry joins nobody, and
            persons that hang together with two known ones among them join nobody.
    """

    def known_of(persons: Iterable[int]) -> list[int]:
        return [person for person in persons if texts[person].startswith("u:")]

    groups: dict[int, set[int]] = {}
    for persons in carriers.values():
        if len(known_of(persons)) > 1:
            continue
        group = set().union(*(groups.get(person, {person}) for person in persons))
        groups |= dict.fromkeys(group, group)
    parts: dict[int, int] = {}
    for group in {id(group): group for group in groups.values()}.values():
        known = known_of(group)
        if len(known) <= 1:
            parts |= dict.fromkeys(group, known[0] if known else min(group, key=texts.__getitem__))
    return parts


def refresh_persons(writer: Reader, workspaces: Iterable[UUID]) -> None:
    """Work out anew which ids are part of which person in some workspaces."""
    for workspace in workspaces:
        writer.rows(sa.delete(PERSONS).where(PERSONS.c.workspace_id == workspace))
        if found := parts_of(writer, workspace):
            writer.rows(_listed(workspace, found))


def parts_of(reader: Reader, workspace: UUID) -> dict[int, int]:
    """Which ids of a workspace are part of which other person."""
    named = names((old, new) for old, new, *_ in reader.rows(_pairs(workspace)))
    carriers, texts = _carried(reader, workspace, named)
    parts = joined(carriers, texts)
    parts |= mailed(reader, workspace, Whole(named, parts, texts))
    found = {one: parts.get(name, name) for one, name in named.items()}
    return {one: person for one, person in (parts | found).items() if one != person}


def _listed(workspace: UUID, parts: Mapping[int, int]) -> sa.Insert:
    numbers = sa.ARRAY(sa.BigInteger)
    places = sa.select(fn.Each(sa.literal(list(range(1, len(parts) + 1)), numbers)).label("place")).subquery()
    columns = (fn.At(sa.literal(list(each), numbers), places.c.place) for each in (parts, parts.values()))
    return sa.insert(PERSONS).from_select(
        [c.name for c in PERSONS.columns], sa.select(sa.literal(workspace, sa.Uuid), *columns)
    )


def linking(workspace: UUID) -> list[Expression]:
    """Events whose ids count: of people, and not taken back."""
    c = EVENTS.c
    revoked = sa.select(REVOKED.c.event_id).where(REVOKED.c.workspace_id == workspace)
    return [c.workspace_id == workspace, sa.not_(c.is_bot), c.event_id.not_in(revoked)]


def found_first(name: str, *columns: Any, where: list[Expression]) -> sa.CTE:
    """Some events, found before anything is joined to them: else every id and owner is hashed for them."""
    return sa.select(*columns).where(*where).cte(name).prefix_with("MATERIALIZED", dialect="duckdb")


def _told(prefix: str, key: str) -> Any:
    """The id that an event tells at a key of its data."""
    return sa.literal_column(f"'{prefix}'", sa.Text) + fn.JsonString(EVENTS.c.event_data, sa.literal(key))


def _pairs(workspace: UUID) -> sa.Select[Any]:
    """Old and new id of every `$alias`, in order of time."""
    c = EVENTS.c
    columns = (c.workspace_id, c.strong_no, c.timestamp, c.seq, _told("u:", "previous_id").label("old"))
    where = [*linking(workspace), c.event_name == ALIAS, c.strong_no.is_not(None)]
    alias = found_first("alias", *columns, where=where)
    named = sa.and_(IDS.c.workspace_id == alias.c.workspace_id, IDS.c.id == alias.c.old)
    pairs = sa.select(IDS.c.no, alias.c.strong_no, alias.c.timestamp, alias.c.seq)
    other = pairs.select_from(alias.join(IDS, named)).where(IDS.c.no != alias.c.strong_no)
    return other.order_by(alias.c.timestamp, alias.c.seq)


OWN: Final = tuple(EVENTS.c[name] for name in ("workspace_id", "visitor_no", "strong_no", "timestamp", "seq"))


def owned(events: sa.CTE) -> tuple[sa.FromClause, Expression]:
    """Events with their owner at the time, and the number of who they belong to before anything is joined."""
    theirs = OWNERS.c.visitor_no.in_(sa.select(events.c.visitor_no))
    holder = sa.select(OWNERS).where(theirs).subquery("holder")
    number = sa.func.coalesce(events.c.strong_no, holder.c.strong_no, events.c.visitor_no)
    return events.outerjoin(holder, held(events, holder)), number


def _carriers(workspace: UUID) -> sa.Select[Any]:
    """External ids that more than one carries, with all who do; most have one carrier, who joins nobody by it."""
    ids = EVENTS.c.external_ids
    events = found_first("carrying", *OWN, ids, where=[*linking(workspace), ids.is_not(None)])
    source, number = owned(events)
    told = sa.select(events.c.external_ids, number.label("person_no")).select_from(source).distinct()
    c = each_id(told).c
    shared = sa.func.min(c.person_no) != sa.func.max(c.person_no)
    found = sa.select(c.key, c.value, fn.List(c.person_no))
    return found.group_by(c.key, c.value).having(shared)


def each_id(told: sa.Select[Any]) -> sa.Subquery:
    """The external ids of rows that have some, one row each: all else of the row, ``key`` and ``value`` as JSON."""
    rows = told.subquery("told").c
    keys = sa.select(*rows, fn.JsonKeys(rows.external_ids).label("key")).subquery("keys").c
    others = (column for column in keys if column.name != "external_ids")
    return sa.select(*others, fn.JsonMember(keys.external_ids, keys.key).label("value")).subquery("each")


def _matches(workspace: UUID) -> sa.Select[Any]:
    """E-mail matches: the event, who it belongs to, the visitor it names and everyone who ever owned that."""
    c = EVENTS.c
    by_mail = fn.JsonString(c.event_data, sa.literal("match_method")) == "email"
    columns = (*OWN, c.event_id, _told("v:", "web_visitor_id").label("web"))
    events = found_first("matched", *columns, where=[*linking(workspace), c.event_name == MATCHED, by_mail])
    source, number = owned(events)
    ever = OWNERS.alias("ever")
    named = sa.and_(IDS.c.workspace_id == events.c.workspace_id, IDS.c.id == events.c.web)
    source = source.outerjoin(IDS, named).outerjoin(ever, ever.c.visitor_no == IDS.c.no)
    found = sa.select(events.c.event_id, number.label("person_no"), IDS.c.no, ever.c.strong_no)
    return found.select_from(source).distinct()


def _carried(
    reader: Reader, workspace: UUID, named: Mapping[int, int]
) -> tuple[dict[Any, set[int]], dict[int, str]]:
    """Who shares which external id or match, and how they are called."""
    carriers: defaultdict[Any, set[int]] = defaultdict(set)
    for key, value, together in reader.rows(_carriers(workspace)):
        carriers[key, value] |= {named.get(own, own) for own in together}
    everyone: defaultdict[Any, set[int]] = defaultdict(set)
    for event_id, own, web, owned in reader.rows(_matches(workspace)):
        everyone[event_id] |= {named.get(own, own)}
        everyone[event_id] |= {named.get(owned, owned)} if owned is not None else {web} - {None}
    for event_id, together in everyone.items():
        carriers[event_id] |= together
    persons = sorted(set().union(*carriers.values())) if carriers else []
    listed = fn.Listed(IDS.c.no, sa.literal(persons, sa.ARRAY(Number)))
    texts = sa.select(IDS.c.no, IDS.c.id).where(IDS.c.workspace_id == workspace, listed)
    return carriers, dict(map(tuple, reader.rows(texts))) if persons else {}
