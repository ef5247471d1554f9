"""One person: who an id leads to, what they said, did and came from (semantics 5, 8)."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import NEAR, THEIRS, keep_near, keep_theirs, keep_visitors
from plugins.events_sql.log import NEWEST, ROW
from plugins.events_sql.relations import EventRows, all_time, between
from plugins.events_sql.rows import aware, event, loads
from plugins.events_sql.tables import END, EVENTS, IDS, OWNERS, PERSONS, Number
from plugins.events_sql.touches import COLUMNS, touches
from service_core.plugin import IDENTIFY, MOST_OF_A_PERSON, ConversionSet, Event, Profile, Scan, Touch, traits


def _lasting(workspace_id: UUID, *, include_bots: bool = False) -> Scan:
    """A scan of all time, in which nothing converts."""
    return Scan(
        workspace_id, all_time(), "", "UTC", ConversionSet(frozenset(), any_revenue=False), (), include_bots
    )


def resolve(workspace_id: UUID, any_id: str, reader: Reader) -> str | None:
    """The person of a strong id, else of the latest event with this visitor id, else anonymous id.

    A weak id that only ever stood beside others leads to the person it was linked to last.
    """
    known = _known_by(workspace_id, "u:" + any_id, reader)
    if known is not None:
        return _name(workspace_id, known, reader)
    for column in ("visitor_id", "anonymous_id"):
        keep_visitors(workspace_id, _who_had(workspace_id, column, any_id), reader)
        rows = EventRows(_lasting(workspace_id, include_bots=True), all_time())
        rows.of_few(THEIRS)
        latest = (rows.at.desc(), EVENTS.c.seq.desc())
        named = sa.select(rows.person_no).select_from(rows.source).where(*rows.where)
        found = reader.rows(named.where(EVENTS.c[column] == any_id).order_by(*latest).limit(1))
        if found:
            return _name(workspace_id, found[0][0], reader)
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


def _known_by(workspace_id: UUID, strong_id: str, reader: Reader) -> int | None:
    """The number of the person a strong id is, or is part of; none when it was only ever mentioned."""
    part = PERSONS.alias("part")
    source = IDS.outerjoin(part, sa.and_(part.c.no == IDS.c.no, part.c.workspace_id == IDS.c.workspace_id))
    named = (IDS.c.workspace_id == workspace_id, IDS.c.id == strong_id)
    for own, person in reader.rows(sa.select(IDS.c.no, part.c.person_no).select_from(source).where(*named)):
        if person is not None:
            return int(person)
        if any(reader.rows(found) for found in _lived(workspace_id, own)):
            return int(own)
    return None


def _lived(workspace_id: UUID, number: int) -> Iterator[sa.Select[Any]]:
    """Where a strong id is found that is a person; events are looked through for want of anything else."""
    for column in (PERSONS.c.person_no, OWNERS.c.strong_no, EVENTS.c.strong_no):
        own = (column.table.c.workspace_id == workspace_id, column == sa.literal(number, Number()))
        yield sa.select(column).where(*own).limit(1)


def _who_had(workspace_id: UUID, column: str, weak_id: str) -> sa.Select[Any]:
    """Numbers of the visitors with a weak id in some column of their events."""
    if column == "visitor_id":
        return sa.select(IDS.c.no).where(IDS.c.workspace_id == workspace_id, IDS.c.id == "v:" + weak_id)
    had = (EVENTS.c.workspace_id == workspace_id, EVENTS.c[column] == weak_id)
    return sa.select(EVENTS.c.visitor_no.label("no")).where(*had).distinct()


def _name(workspace_id: UUID, number: int, reader: Reader) -> str:
    own = (IDS.c.workspace_id == workspace_id, IDS.c.no == sa.literal(number, Number()))
    return str(reader.rows(sa.select(IDS.c.id).where(*own))[0][0])


def _number(workspace_id: UUID, person: str, reader: Reader) -> int | None:
    found = reader.rows(sa.select(IDS.c.no).where(IDS.c.workspace_id == workspace_id, IDS.c.id == person))
    return found[0][0] if found else None


def own_events(scan: Scan, person: str, reader: Reader) -> tuple[int, Any, list[Any]] | None:
    """The number of a person, and the events that a scan sees: where from, and under which conditions."""
    number = _number(scan.workspace_id, person, reader)
    if number is None:
        return None
    keep_theirs(scan.workspace_id, sa.select(sa.literal(number, Number())), reader)
    rows = EventRows(scan, scan.span)
    rows.of_few(THEIRS)
    met = [rows.met(predicate) for predicate in scan.filters]
    where = [*rows.where, *met, rows.person_no == number]
    return number, rows, where


def history(scan: Scan, person: str, limit: int, reader: Reader) -> list[Event]:
    """The latest events of a person in the span, oldest first."""
    own = own_events(scan, person, reader)
    if own is None:
        return []
    _, rows, where = own
    statement = sa.select(*ROW).select_from(rows.source).where(*where).order_by(*NEWEST).limit(limit)
    return [event(row) for row in reader.rows(statement)][::-1]


def person_touches(scan: Scan, person: str, limit: int, reader: Reader) -> list[Touch]:
    """The person's latest touches in the span, oldest first."""
    number = _number(scan.workspace_id, person, reader)
    if number is None:
        return []
    keep_theirs(scan.workspace_id, sa.select(sa.literal(number, Number())), reader)
    keep_near(scan.workspace_id, reader)
    touch = touches(scan, NEAR)
    columns = [touch.c[name] for name in ("at", *COLUMNS)]
    own = sa.select(*columns).where(touch.c.person_no == number, *between(touch.c.at, scan.span))
    latest = own.order_by(touch.c.at.desc(), touch.c.seq.desc()).limit(limit)
    return [shown_touch(row) for row in reader.rows(latest)][::-1]


def profile(workspace_id: UUID, person: str, reader: Reader) -> Profile:
    """Ids and traits of a person over all time."""
    own = own_events(_lasting(workspace_id), person, reader)
    if own is None:
        return Profile((), {}, {})
    _, rows, where = own
    c = EVENTS.c

    def said(column: Any, *of: Expression) -> list[Any]:
        """The latest different values of a column, oldest first."""
        last = sa.func.max(fn.Position(c.timestamp, c.seq)).label("last")
        different = sa.select(column, last).select_from(rows.source).where(*where, column.is_not(None), *of)
        latest = different.group_by(column).order_by(sa.desc("last")).limit(MOST_OF_A_PERSON)
        return [loads(row[0]) for row in reader.rows(latest)][::-1]

    anonymous = sa.select(c.anonymous_id).select_from(rows.source).where(*where, c.anonymous_id != "")
    anonymous = anonymous.distinct().order_by(c.anonymous_id).limit(MOST_OF_A_PERSON)
    external: dict[str, str] = {}
    for ids in said(c.external_ids):
        external |= ids
    return Profile(
        anonymous_ids=tuple(row[0] for row in reader.rows(anonymous)),
        external_ids=external,
        traits=traits(said(c.event_data, c.event_name == IDENTIFY)),
    )


def said(scan: Scan) -> sa.Select[Any]:
    """The latest different things that the persons of a page said of themselves, oldest first; one row each."""
    shown = sa.table("shown", sa.column("person_no", sa.BigInteger))
    rows = EventRows(scan, all_time())
    rows.of_few(THEIRS)
    number = rows.person_no
    c = EVENTS.c
    last = sa.func.max(fn.Position(c.timestamp, c.seq)).label("last")
    different = (
        sa.select(shown.c.person_no, c.event_data, last)
        .select_from(rows.source.join(shown, shown.c.person_no == number))
        .where(*rows.where, c.event_name == IDENTIFY)
        .group_by(shown.c.person_no, c.event_data)
        .subquery("different")
    )
    d = different.c
    place = sa.func.row_number().over(partition_by=d.person_no, order_by=d.last.desc()).label("place")
    latest = sa.select(different, place).subquery("latest")
    told = fn.InOrder(latest.c.event_data, latest.c.last, latest.c.place)
    kept = sa.select(latest.c.person_no, told).where(latest.c.place <= MOST_OF_A_PERSON)
    return kept.group_by(latest.c.person_no)


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
