"""One person: who an id leads to, what they said, did and came from (semantics 5, 8)."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import NEAR, THEIRS, keep_near, keep_theirs, of
from plugins.events_sql.log import ROW
from plugins.events_sql.relations import EventRows, all_time, between
from plugins.events_sql.rows import aware, event, loads
from plugins.events_sql.tables import END, EVENTS, IDS, OWNERS, PERSONS
from plugins.events_sql.touches import COLUMNS, touches
from service_core.plugin import IDENTIFY, ConversionSet, Event, Profile, Scan, Touch, traits


def _lasting(workspace_id: UUID, *, include_bots: bool = False) -> Scan:
    """A scan of all time, in which nothing converts."""
    return Scan(
        workspace_id, all_time(), "", "UTC", ConversionSet(frozenset(), any_revenue=False), (), include_bots
    )


def resolve(workspace_id: UUID, any_id: str, reader: Reader) -> str | None:
    """The person of a strong id, else of the latest event with this visitor id, else anonymous id.

    A weak id that only ever stood beside others leads to the person it was linked to last.
    """
    if known := reader.rows(_known_by(workspace_id, "u:" + any_id)):
        return str(known[0][0])
    for column in ("visitor_id", "anonymous_id"):
        rows = EventRows(_lasting(workspace_id, include_bots=True), all_time())
        latest = (rows.at.desc(), EVENTS.c.seq.desc())
        named = sa.select(rows.column("person")).select_from(rows.source).where(*rows.where)
        found = reader.rows(named.where(EVENTS.c[column] == any_id).order_by(*latest).limit(1))
        if found:
            return str(found[0][0])
    linked = reader.rows(_linked_to(workspace_id, "v:" + any_id))
    return str(linked[0][0]) if linked else None


def _linked_to(workspace_id: UUID, weak_id: str) -> sa.Select[Any]:
    """The person a weak id was linked to last."""
    own, name, part = IDS.alias("own"), IDS.alias("name"), PERSONS.alias("part")
    same = sa.and_(own.c.no == OWNERS.c.visitor_no, own.c.workspace_id == OWNERS.c.workspace_id)
    is_part = sa.and_(part.c.no == OWNERS.c.strong_no, part.c.workspace_id == OWNERS.c.workspace_id)
    number = sa.func.coalesce(part.c.person_no, OWNERS.c.strong_no)
    source = OWNERS.join(own, same).outerjoin(part, is_part).join(name, name.c.no == number)
    last = OWNERS.c.until == sa.literal(END)
    return (
        sa.select(name.c.id)
        .select_from(source)
        .where(own.c.workspace_id == workspace_id, own.c.id == weak_id, last)
    )


def _known_by(workspace_id: UUID, strong_id: str) -> sa.Select[Any]:
    """The person a strong id is, or is part of; none when it was only ever mentioned."""
    own, name, part = IDS.alias("own"), IDS.alias("name"), PERSONS.alias("part")
    source = own.outerjoin(part, sa.and_(part.c.no == own.c.no, part.c.workspace_id == own.c.workspace_id))
    source = source.outerjoin(name, name.c.no == part.c.person_no)
    persons = sa.select(PERSONS.c.person_no).where(PERSONS.c.workspace_id == workspace_id)
    lived = sa.select(EVENTS.c.strong_no).where(
        EVENTS.c.workspace_id == workspace_id, EVENTS.c.strong_id == strong_id.removeprefix("u:")
    )
    is_one = sa.or_(part.c.no.is_not(None), own.c.no.in_(persons), own.c.no.in_(lived))
    named = sa.select(sa.func.coalesce(name.c.id, own.c.id)).select_from(source)
    return named.where(own.c.workspace_id == workspace_id, own.c.id == strong_id, is_one)


def _number(workspace_id: UUID, person: str, reader: Reader) -> int | None:
    found = reader.rows(sa.select(IDS.c.no).where(IDS.c.workspace_id == workspace_id, IDS.c.id == person))
    return found[0][0] if found else None


def _own(scan: Scan, person: str, reader: Reader) -> tuple[Any, list[Any]] | None:
    """The events of a person that a scan sees: where from, and under which conditions."""
    number = _number(scan.workspace_id, person, reader)
    if number is None:
        return None
    keep_theirs(scan.workspace_id, sa.select(sa.literal(number)), reader)
    rows = EventRows(scan, scan.span)
    met = [rows.met(predicate) for predicate in scan.filters]
    return rows, [*rows.where, *met, of(THEIRS, EVENTS.c.visitor_no), rows.person_no() == number]


def history(scan: Scan, person: str, reader: Reader) -> list[Event]:
    """Every event of a person in the span, oldest first."""
    own = _own(scan, person, reader)
    if own is None:
        return []
    rows, where = own
    statement = sa.select(*ROW).select_from(rows.source).where(*where)
    return [event(row) for row in reader.rows(statement.order_by(EVENTS.c.timestamp, EVENTS.c.seq))]


def person_touches(scan: Scan, person: str, reader: Reader) -> list[Touch]:
    """The person's touches in the span, oldest first."""
    number = _number(scan.workspace_id, person, reader)
    if number is None:
        return []
    keep_theirs(scan.workspace_id, sa.select(sa.literal(number)), reader)
    keep_near(scan.workspace_id, reader)
    touch = touches(scan, NEAR)
    columns = [touch.c[name] for name in ("at", *COLUMNS)]
    own = sa.select(*columns).where(touch.c.person_no == number, *between(touch.c.at, scan.span))
    return [shown_touch(row) for row in reader.rows(own.order_by(touch.c.at, touch.c.seq))]


def profile(workspace_id: UUID, person: str, reader: Reader) -> Profile:
    """Ids and traits of a person over all time."""
    own = _own(_lasting(workspace_id), person, reader)
    if own is None:
        return Profile((), {}, {})
    rows, where = own
    c = EVENTS.c
    identify = sa.case((c.event_name == IDENTIFY, c.event_data))
    told = sa.or_(c.anonymous_id.is_not(None), c.external_ids.is_not(None), identify.is_not(None))
    statement = (
        sa.select(c.anonymous_id, c.external_ids, identify).select_from(rows.source).where(*where, told)
    )
    found = reader.rows(statement.order_by(c.timestamp, c.seq))
    external: dict[str, str] = {}
    for _, ids, _ in found:
        external |= loads(ids) if ids else {}
    return Profile(
        anonymous_ids=tuple(sorted({row[0] for row in found if row[0]})),
        external_ids=external,
        traits=traits(loads(row[2]) for row in found if row[2] is not None),
    )


def said(scan: Scan) -> sa.Select[Any]:
    """What the persons of a page said of themselves, oldest first; one row each."""
    shown = sa.table("shown", sa.column("person_no", sa.BigInteger))
    rows = EventRows(scan, all_time())
    number = rows.person_no()
    c = EVENTS.c
    told = fn.InOrder(c.event_data, c.timestamp, c.seq)
    statement = sa.select(shown.c.person_no, told)
    source = rows.source.join(shown, shown.c.person_no == number)
    return (
        statement.select_from(source)
        .where(*rows.where, of(THEIRS, c.visitor_no), c.event_name == IDENTIFY)
        .group_by(shown.c.person_no)
    )


def shown_touch(row: tuple[Any, ...]) -> Touch:
    """A touch from its instant and its columns."""
    told = dict(zip(COLUMNS, row[1:], strict=True))
    return Touch(
        timestamp=aware(row[0]),
        source=told["attribution_source"],
        medium=told["attribution_medium"],
        campaign=told["utm_campaign"],
        term=told["utm_term"],
        content=told["utm_content"],
        channel=told["channel"],
        click_id=told["click_id"],
        click_id_type=told["click_id_type"],
        referrer=told["referrer"],
        landing_page=told["landing_page"],
        lyr=told["lyr"],
        utm_source=told["utm_source"],
        utm_medium=told["utm_medium"],
    )
