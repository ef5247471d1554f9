"""One person: who an id leads to, what they said, did and came from (semantics 5, 8)."""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import ASKED, NEAR, THEIR_EVENTS, THEIRS, keep_events, keep_near, keep_theirs
from plugins.events_sql.log import NEWEST, ROW, standing
from plugins.events_sql.prepared import WORKSPACE, source
from plugins.events_sql.relations import EventRows, all_time, between, needed, used_by
from plugins.events_sql.rows import aware, event, loads
from plugins.events_sql.stitching import among_few, number_of, on_visits_of, person_of
from plugins.events_sql.tables import END, EVENTS, IDS, KIN, OWNERS, PERSONS, Number
from plugins.events_sql.touches import COLUMNS, touches
from service_core.plugin import IDENTIFY, MOST_OF_A_PERSON, ConversionSet, Event, Profile, Scan, Touch, traits

HAD: Final = sa.table(
    "had",
    *(sa.column(name, kind) for name, kind in (("weak_id", sa.Text), ("timestamp", sa.DateTime))),
    *(sa.column(name, sa.BigInteger) for name in ("seq", "person_no")),
)
"""Events of some visitors with a weak id of theirs and their person, kept as a table of the question."""


def lasting(workspace_id: UUID) -> Scan:
    """A scan of all time, in which nothing converts."""
    return Scan(workspace_id, all_time(), "", "UTC", ConversionSet(frozenset(), any_revenue=False))


def resolve(workspace_id: UUID, any_id: str, reader: Reader) -> str | None:
    """The person of a strong id, else of the latest event with this visitor id, else anonymous id.

    A weak id that only ever stood beside others leads to the person it was linked to last.
    """
    known = _known_by(workspace_id, "u:" + any_id, reader)
    if known is not None:
        return _name(workspace_id, known, reader)
    for column in ("visitor_id", "anonymous_id"):
        reader.keep(THEIRS.name, _who_had(workspace_id, column, any_id))
        keep_had(workspace_id, column, reader)
        had = sa.select(HAD.c.person_no).where(HAD.c.weak_id == any_id)
        if found := reader.rows(had.order_by(HAD.c.timestamp.desc(), HAD.c.seq.desc()).limit(1)):
            return _name(workspace_id, found[0][0], reader)
    linked = reader.rows(_linked_to(workspace_id, "v:" + any_id))
    return str(linked[0][0]) if linked else None


def keep_had(workspace_id: UUID, column: str, reader: Reader) -> None:
    """Keep whose every event of `THEIRS` is, or the engine seeks their weak ids among all events."""
    own = source(_of_theirs, column).under("own", workspace=workspace_id)
    reader.keep(HAD.name, sa.select(*own.c))


def _linked_to(workspace_id: UUID, weak_id: str) -> sa.Select[Any]:
    """The person a weak id was linked to last."""
    own, name, part = IDS.alias("own"), IDS.alias("name"), PERSONS.alias("part")
    same = sa.and_(own.c.no == OWNERS.c.visitor_no, own.c.workspace_id == OWNERS.c.workspace_id)
    is_part = sa.and_(part.c.no == OWNERS.c.strong_no, part.c.workspace_id == OWNERS.c.workspace_id)
    number = sa.func.coalesce(part.c.person_no, OWNERS.c.strong_no)
    joined = OWNERS.join(own, same).outerjoin(part, is_part).join(name, name.c.no == number)
    last = OWNERS.c.until == sa.literal(END)
    return (
        sa.select(name.c.id)
        .select_from(joined)
        .where(fn.Beside(own.c.workspace_id == workspace_id, own.c.id), own.c.id == weak_id, last)
    )


def _known_by(workspace_id: UUID, strong_id: str, reader: Reader) -> int | None:
    """The number of the person a strong id is, or is part of; none when it was only ever mentioned."""
    part = PERSONS.alias("part")
    joined = IDS.outerjoin(part, sa.and_(part.c.no == IDS.c.no, part.c.workspace_id == IDS.c.workspace_id))
    named = (fn.Beside(IDS.c.workspace_id == workspace_id, IDS.c.id), IDS.c.id == strong_id)
    for own, person in reader.rows(sa.select(IDS.c.no, part.c.person_no).select_from(joined).where(*named)):
        if person is not None:
            return int(person)
        if any(reader.rows(found) for found in _lived(workspace_id, own)):
            return int(own)
    return None


def _lived(workspace_id: UUID, number: int) -> Iterator[sa.Select[Any]]:
    """Where a strong id is found that is a person."""
    for column in (PERSONS.c.person_no, KIN.c.strong_no):
        own = (column.table.c.workspace_id == workspace_id, column == sa.literal(number, Number()))
        yield sa.select(column).where(*own).limit(1)


def _who_had(workspace_id: UUID, column: str, weak_id: str) -> sa.Select[Any]:
    """Numbers of the visitors with a weak id in some column of their events."""
    if column == "visitor_id":
        return number_of(workspace_id, "v:" + weak_id)
    had = (EVENTS.c.workspace_id == workspace_id, EVENTS.c[column] == weak_id)
    return sa.select(EVENTS.c.visitor_no.label("no")).where(*had).distinct()


def _of_theirs(column: str) -> sa.Select[Any]:
    """Events of `THEIRS` with a column and their person."""
    joined, person = person_of(EVENTS, THEIRS.name)
    c = EVENTS.c
    own = (fn.Implied(c.workspace_id == WORKSPACE), on_visits_of(THEIRS.name, c.session_no))
    columns = (c[column].label("weak_id"), c.timestamp, c.seq, person.label("person_no"))
    return sa.select(*columns).select_from(joined).where(*own)


def _name(workspace_id: UUID, number: int, reader: Reader) -> str:
    own = (IDS.c.workspace_id == workspace_id, IDS.c.no == sa.literal(number, Number()))
    return str(reader.rows(sa.select(IDS.c.id).where(*own))[0][0])


def _keep(workspace_id: UUID, person: str, reader: Reader) -> None:
    """Keep one person, as they are called, and their visitors."""
    keep_theirs(workspace_id, number_of(workspace_id, person), reader)


def own_events(scan: Scan, person: str, used: frozenset[str], reader: Reader) -> tuple[Any, list[Any]]:
    """The events of a person that a scan sees: where from, and under which conditions.

    Args:
        scan: the workspace, and what it sees.
        person: as they are called.
        used: columns of an event that are asked for.
        reader: of the question.
    """
    _keep(scan.workspace_id, person, reader)
    keep_events(scan.workspace_id, needed(used_by(scan) | used), reader)
    rows = EventRows(scan, scan.span, THEIR_EVENTS)
    met = [rows.met(predicate) for predicate in scan.filters]
    return rows.source, [*rows.where, *met]


def history(scan: Scan, person: str, limit: int, reader: Reader) -> list[Event]:
    """The latest events of a person in the span, oldest first."""
    found, where = own_events(scan, person, frozenset(), reader)
    c = THEIR_EVENTS.c
    newest = sa.select(c.timestamp, c.seq, c.session_no).select_from(found).where(*where)
    place = newest.order_by(c.timestamp.desc(), c.seq.desc()).limit(limit).subquery("place")
    shown, where = standing(place, "timestamp", "seq", scan.workspace_id)
    rows = sa.select(*ROW).select_from(shown).where(*where).order_by(*NEWEST)
    return [event(row) for row in reader.rows(rows)][::-1]


def person_touches(scan: Scan, person: str, limit: int, reader: Reader) -> list[Touch]:
    """The person's latest touches in the span, oldest first."""
    _keep(scan.workspace_id, person, reader)
    keep_near(scan.workspace_id, reader)
    touch = touches(scan, NEAR)
    columns = [touch.c[name] for name in ("at", *COLUMNS)]
    own = sa.select(*columns).where(among_few(ASKED.name, touch.c.person_no), *between(touch.c.at, scan.span))
    latest = own.order_by(touch.c.at.desc(), touch.c.seq.desc()).limit(limit)
    return [shown_touch(row) for row in reader.rows(latest)][::-1]


OF_PROFILE: Final = frozenset({"anonymous_id", "external_ids", "event_data"})
"""Columns of an event that a profile follows from."""


def profile(workspace_id: UUID, reader: Reader) -> Profile:
    """Ids and traits over all time of the person whose events are kept."""
    rows = EventRows(lasting(workspace_id), all_time(), THEIR_EVENTS)
    found, where, c = rows.source, rows.where, THEIR_EVENTS.c

    def said(column: Any, *of: Expression) -> list[Any]:
        """The latest different values of a column, oldest first."""
        last = sa.func.max(fn.Position(c.timestamp, c.seq)).label("last")
        different = sa.select(column, last).select_from(found).where(*where, column.is_not(None), *of)
        latest = different.group_by(column).order_by(sa.desc("last")).limit(MOST_OF_A_PERSON)
        return [loads(row[0]) for row in reader.rows(latest)][::-1]

    anonymous = sa.select(c.anonymous_id).select_from(found).where(*where, c.anonymous_id != "")
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
    rows = EventRows(scan, all_time(), THEIR_EVENTS)
    number = rows.person_no
    c = THEIR_EVENTS.c
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
