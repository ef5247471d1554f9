"""Pages of persons over a span (contract 3.8, semantics 5).

The page is found first, from one row per person; what a row shows is read for the page alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.deeds import keep_deeds
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.kin import NEAR, THEIR_EVENTS, keep_events, keep_near, keep_theirs
from plugins.events_sql.ledger import MoneyRows
from plugins.events_sql.persona import said, shown_touch
from plugins.events_sql.relations import EventRows, all_time, conversions, needed, used_by
from plugins.events_sql.rows import aware, loads
from plugins.events_sql.statements import built
from plugins.events_sql.stitching import number_of, persons_first_seen
from plugins.events_sql.tables import EVENTS, IDS
from plugins.events_sql.touches import COLUMNS, touches
from service_core.plugin import (
    CHARGE,
    IDENTIFY,
    MOST_OF_A_PERSON,
    NOT_SET,
    PAGE_VIEWS,
    PeoplePage,
    Person,
    Scan,
    Whereabouts,
    text_trait,
    traits,
    uncased,
)

CROWD: Final = sa.table("crowd", sa.column("person_no", sa.BigInteger), sa.column("sort"))
"""Everyone who is asked for, kept as a table of the question."""

SHOWN: Final = sa.table(
    "shown", *(sa.column(name, sa.BigInteger) for name in ("person_no", "place")), sa.column("id", sa.Text)
)
"""The page with the names of its persons, likewise."""


def people(plan: PeoplePage, reader: Reader) -> tuple[list[Person], int]:
    """A page of persons with an event in the span, and the number of all."""
    gather(plan, reader)
    total = reader.rows(sa.select(sa.func.count()).select_from(CROWD))[0][0]
    return shown(plan, reader), total


def gather(plan: PeoplePage, reader: Reader) -> None:
    """Keep everyone who is asked for as a table of the question."""
    if plan.person is not None:
        _keep(plan, number_of(plan.scan.workspace_id, plan.person), reader)
    reader.keep(CROWD.name, built(_crowd, replace(plan, limit=0, offset=0)))  # the same for every page


def shown(plan: PeoplePage, reader: Reader) -> list[Person]:
    """The page of those who were gathered."""
    reader.keep(SHOWN.name, built(_page, plan.limit, plan.offset))
    if plan.person is None:
        _keep(plan, sa.select(SHOWN.c.person_no.label("no")), reader)
    keep_near(plan.scan.workspace_id, reader)
    keep_deeds(plan.scan, used_by(plan.scan), reader)
    return in_span(plan.scan, lasting(plan.scan, reader), reader)


Part: TypeAlias = Callable[[Scan], sa.Select[Any]]
"""A part of what rows show, as a statement; its first column is the person."""

Told: TypeAlias = dict[str, dict[int, tuple[Any, ...]]]
"""What is told of persons: name of the part -> number of the person -> values."""


def lasting(scan: Scan, reader: Reader, touch: Part | None = None) -> Told:
    """What rows of the persons that are shown show of all time.

    Args:
        scan: the workspace.
        reader: of the question.
        touch: how their first touches are found, unless among those of their visitors.
    """
    return _read({"first": _first, "touch": touch or _touch, "said": said}, scan, reader)


def in_span(scan: Scan, told: Told, reader: Reader) -> list[Person]:
    """The persons that are shown, as far as they have an event in the span.

    Args:
        scan: what it sees.
        told: what is told of them of all time.
        reader: of the question.
    """
    told = told | _read({"ids": _ids, "converted": _converted, "money": _shown_money}, scan, reader)
    return [_person(facts, told) for facts in reader.rows(built(_facts, scan))]


def _read(parts: Mapping[str, Part], scan: Scan, reader: Reader) -> Told:
    found = {name: reader.rows(built(part, scan)) for name, part in parts.items()}
    return {name: {row[0]: row[1:] for row in rows} for name, rows in found.items()}


def _keep(plan: PeoplePage, persons: sa.Select[Any], reader: Reader) -> None:
    """Keep some persons and their events."""
    keep_theirs(plan.scan.workspace_id, persons, reader)
    keep_events(plan.scan.workspace_id, needed(used_by(plan.scan) | TOLD), reader)


_LATEST: Final = tuple(f.name for f in fields(Whereabouts))
TOLD: Final = frozenset({"event_data", "is_test", *_LATEST})
"""Columns of an event that a row of the page follows from, beside those that are always needed."""


def _crowd(plan: PeoplePage) -> sa.Select[Any]:
    """Everyone who is asked for, with what sorts them."""
    rows = EventRows(plan.scan, plan.scan.span, EVENTS if plan.person is None else THEIR_EVENTS)
    met = [rows.met(predicate) for predicate in plan.scan.filters]
    number = rows.person_no
    sought = uncased(plan.search or "")
    prefix = sa.literal(sought)
    told = [
        number.label("person_no"),
        sa.func.max(rows.at).label("last_seen"),
        sa.func.count().label("events"),
    ]
    if plan.country is not None:
        latest = fn.Latest(fn.Row(rows.table.c.country), rows.at, rows.table.c.seq)
        told.append(fn.Only(latest).label("country"))
    if plan.search is not None:
        found = fn.Starts(sa.func.lower(rows.table.c.visitor_id), prefix)
        told.append(sa.func.bool_or(found).label("is_found"))
    seen = (
        sa.select(*told).select_from(rows.source).where(*rows.where, *met).group_by(number).subquery("seen")
    )
    asked = _asked(plan, seen)
    source, sort = _sorting(plan, seen)
    joined, where = _touched(plan, seen, source)
    if plan.identified is not None or plan.search is not None:
        joined = joined.join(IDS, IDS.c.no == seen.c.person_no)
    if plan.search is not None:
        mail = _emails(plan.scan)
        joined = joined.outerjoin(mail, mail.c.person_no == seen.c.person_no)
        known = sa.and_(
            fn.Starts(IDS.c.id, sa.literal("u:")),
            fn.Starts(sa.func.lower(IDS.c.id), sa.literal("u:" + sought)),
        )
        hit = fn.Starts(sa.func.lower(fn.JsonText(mail.c.email)), prefix)
        where.append(sa.or_(seen.c.is_found, known, sa.func.coalesce(hit, sa.false())))
    return sa.select(seen.c.person_no, sort.label("sort")).select_from(joined).where(*asked, *where)


def _asked(plan: PeoplePage, seen: Any) -> list[Expression]:
    known = fn.Starts(IDS.c.id, sa.literal("u:"))
    asked = []
    if plan.identified is not None:
        asked.append(known if plan.identified else sa.not_(known))
    if plan.country is not None:
        asked.append(sa.func.coalesce(seen.c.country, NOT_SET) == plan.country)
    return asked


def _sorting(plan: PeoplePage, seen: Any) -> tuple[Any, Expression]:
    """What the page is sorted by, joined when it is no fact of the span's events."""
    if plan.sort == "first_seen":
        first = persons_first_seen(plan.scan)
        return seen.join(first, first.c.person_no == seen.c.person_no), first.c.first_at
    if plan.sort == "revenue":
        paid = _money(plan.scan).subquery("paid")
        return seen.outerjoin(paid, paid.c.person_no == seen.c.person_no), sa.func.coalesce(paid.c.revenue, 0)
    return seen, seen.c[plan.sort]


def _touched(plan: PeoplePage, seen: Any, source: Any) -> tuple[Any, list[Expression]]:
    if plan.utm_source is None and plan.utm_campaign is None:
        return source, []
    touch = first_touches(plan.scan).subquery("came")
    wanted = ((touch.c.utm_source, plan.utm_source), (touch.c.utm_campaign, plan.utm_campaign))
    joined = source.outerjoin(touch, touch.c.person_no == seen.c.person_no)
    return joined, [
        sa.func.coalesce(column, NOT_SET) == asked for column, asked in wanted if asked is not None
    ]


def _emails(scan: Scan) -> sa.Subquery:
    """The latest e-mail a person said of themselves."""
    rows = EventRows(scan, all_time())
    number = rows.person_no
    mail = fn.SaidMail(EVENTS.c.event_data)
    statement = sa.select(number.label("person_no"), fn.Latest(mail, rows.at, EVENTS.c.seq).label("email"))
    found = statement.select_from(rows.source).where(
        *rows.where, EVENTS.c.event_name == IDENTIFY, mail.is_not(None)
    )
    return found.group_by(number).subquery("mail")


def _page(limit: int, offset: int) -> sa.Select[Any]:
    """The page; names are looked up only of who may be on it, for those of one rank stand by name."""
    first = sa.select(CROWD.c.sort).order_by(CROWD.c.sort.desc()).limit(offset + limit).subquery("first")
    least = sa.select(sa.func.min(first.c.sort)).scalar_subquery()
    order = (CROWD.c.sort.desc(), IDS.c.id.asc())
    place = sa.func.row_number().over(order_by=order).label("place")
    named = sa.select(CROWD.c.person_no, place, IDS.c.id).join(IDS, IDS.c.no == CROWD.c.person_no)
    numbered = named.where(CROWD.c.sort >= least).subquery()
    return sa.select(numbered).where(numbered.c.place > offset, numbered.c.place <= offset + limit)


def _first(scan: Scan) -> sa.Select[Any]:
    rows = EventRows(scan, all_time(), THEIR_EVENTS)
    return sa.select(rows.person_no, sa.func.min(rows.at)).where(*rows.where).group_by(rows.person_no)


def _touch(scan: Scan) -> sa.Select[Any]:
    touch = first_touches(scan, NEAR).subquery("touch")
    return sa.select(touch).join(SHOWN, SHOWN.c.person_no == touch.c.person_no)


def _of_page(scan: Scan, table: Any = THEIR_EVENTS) -> tuple[Any, Any, list[Expression]]:
    """The events of the page's persons that the scan sees, the person first."""
    rows = EventRows(scan, scan.span, table)
    met = [rows.met(predicate) for predicate in scan.filters]
    source = rows.source.join(SHOWN, SHOWN.c.person_no == rows.person_no)
    return source, SHOWN.c.person_no, [*rows.where, *met]


def _facts(scan: Scan) -> sa.Select[Any]:
    """The page in its order: every person with their name, what they did in the span, and their last event there."""
    source, number, where = _of_page(scan)
    c = THEIR_EVENTS.c
    facts = (
        sa.func.count(c.session_no.distinct()).label("sessions"),
        sa.func.count().filter(among(c.event_name, PAGE_VIEWS)).label("pageviews"),
        sa.func.count().label("events"),
        sa.func.max(c.timestamp).label("last_seen"),
    )
    last_seq = sa.cast(fn.Latest(c.seq, c.timestamp, c.seq), sa.BigInteger).label("last_seq")
    did = sa.select(number, *facts, last_seq).select_from(source).where(*where)
    seen = did.group_by(number).subquery("seen")
    same = sa.and_(c.timestamp == seen.c.last_seen, c.seq == seen.c.last_seq)
    joined = SHOWN.join(seen, seen.c.person_no == SHOWN.c.person_no).join(THEIR_EVENTS, same)
    told = (*(seen.c[fact.name] for fact in facts), c.visitor_id, *(c[name] for name in _LATEST))
    return sa.select(SHOWN.c.person_no, SHOWN.c.id, *told).select_from(joined).order_by(SHOWN.c.place)


def _ids(scan: Scan) -> sa.Select[Any]:
    """The first visitor ids of every person: a shared one may have millions."""
    source, number, where = _of_page(scan)
    id_ = THEIR_EVENTS.c.visitor_id
    different = sa.select(number, id_).distinct().select_from(source).where(*where).subquery("different")
    own = different.c.person_no
    place = sa.func.row_number().over(partition_by=own, order_by=different.c.visitor_id).label("place")
    first = sa.select(different, place).subquery("first")
    told = sa.select(first.c.person_no, fn.List(first.c.visitor_id))
    return told.where(first.c.place <= MOST_OF_A_PERSON).group_by(first.c.person_no)


def _converted(scan: Scan) -> sa.Select[Any]:
    source, number, where = _of_page(scan, conversions(scan, scan.span, few=used_by(scan)))
    return sa.select(number, sa.func.count()).select_from(source).where(*where).group_by(number)


def _money(scan: Scan, *, shown: bool = False) -> sa.Select[Any]:
    """Charges of the events the scan sees, by person: how many, how much, and whether some is foreign."""
    rows = MoneyRows(scan, scan.span, few=shown)
    number = rows.person_no
    foreign = sa.func.count().filter(sa.and_(rows.has_no_rate, rows.amount != 0)) > 0
    source = rows.source
    if scan.filters:
        picked = _picked(scan, few=shown)
        same = sa.and_(picked.c.seq == rows.table.c.seq, picked.c.timestamp == rows.table.c.timestamp)
        source = source.join(picked, same)
    if shown:
        source = source.join(SHOWN, SHOWN.c.person_no == number)
    revenue = sa.func.coalesce(sa.func.sum(rows.amount).filter(sa.not_(rows.has_no_rate)), 0).label("revenue")
    columns: tuple[Expression, ...] = (number.label("person_no"), sa.func.count(), revenue, foreign)
    where = (*rows.where, rows.table.c.kind == CHARGE)
    return sa.select(*columns).select_from(source).where(*where).group_by(number)


def _picked(scan: Scan, *, few: bool) -> sa.Subquery:
    """Where the events stand that the scan sees."""
    rows = EventRows(scan, scan.span, THEIR_EVENTS if few else EVENTS)
    met = [rows.met(predicate) for predicate in scan.filters]
    columns = (rows.table.c.seq, rows.table.c.timestamp)
    return sa.select(*columns).select_from(rows.source).where(*rows.where, *met).subquery()


def first_touches(scan: Scan, near: sa.TableClause | None = None) -> sa.Select[Any]:
    """The first touch of every person, or of those near the ones that are kept (`kin`)."""
    touch = touches(scan, near)
    place = sa.func.row_number().over(partition_by=touch.c.person_no, order_by=(touch.c.at, touch.c.seq))
    numbered = sa.select(touch, place.label("place")).subquery()
    columns = [numbered.c[name] for name in ("person_no", "at", *COLUMNS)]
    return sa.select(*columns).where(numbered.c.place == 1)


def _shown_money(scan: Scan) -> sa.Select[Any]:
    return _money(scan, shown=True)


def _person(facts: tuple[Any, ...], told: Told) -> Person:
    number, name, sessions, pageviews, events, last_seen, visitor_id, *latest = facts
    orders, revenue, foreign = told["money"].get(number, (0, 0, False))
    known = traits(map(loads, told["said"].get(number, ([],))[0]))
    touch = told["touch"].get(number)
    return Person(
        person=name,
        user_id=name.removeprefix("u:") if name.startswith("u:") else None,
        visitor_id=visitor_id,
        visitor_ids=tuple(sorted(told["ids"][number][0])),
        email=text_trait(known, "email"),
        name=text_trait(known, "name"),
        first_seen=aware(told["first"][number][0]),
        last_seen=aware(last_seen),
        sessions=sessions,
        pageviews=pageviews,
        events=events,
        conversions=told["converted"].get(number, (0,))[0],
        orders=orders,
        revenue=int(revenue),
        first_touch=shown_touch(touch) if touch else None,
        latest=Whereabouts(*latest),
        foreign_money=bool(foreign),
    )
