"""Who one person is and what they did: sessions, and conversions with the touches before them, counted in the engine.

Where the newest ones stand is found first, narrow; what is shown of them is read for these alone.
"""

from collections import defaultdict
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.deeds import keep_deeds
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.kin import ASKED, NEAR, THEIR_EVENTS, keep_near
from plugins.events_sql.ledger import MoneyRows
from plugins.events_sql.log import NEWEST, ROW, standing
from plugins.events_sql.people import SHOWN, TOLD, in_span, lasting
from plugins.events_sql.periods import micros_of
from plugins.events_sql.persona import OF_PROFILE, own_events, profile, shown_touch
from plugins.events_sql.prepared import source
from plugins.events_sql.reach import by_told, read_by
from plugins.events_sql.relations import all_time, between, conversions
from plugins.events_sql.rows import aware, event
from plugins.events_sql.stitching import among_few
from plugins.events_sql.touches import COLUMNS, touches
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    Converted,
    Journey,
    JourneyPlan,
    PersonSession,
    Scan,
    Span,
    Touch,
)

_INT: Final = sa.BigInteger
STAYS: Final = sa.table(
    "stays",
    *(sa.column(name, _INT) for name in ("session_no", "first_seq", "pageviews", "events")),
    *(sa.column(name, sa.DateTime) for name in ("first_at", "last_at")),
    sa.column("exit_page", sa.Text),
)
"""The sessions that are shown, kept as a table of the question."""

REACHED: Final = sa.table(
    "conversions_shown",
    *(sa.column(name, _INT) for name in ("unit", "seq", "person_no", "session_no")),
    sa.column("timestamp", sa.DateTime),
)
"""The conversions that are shown, likewise."""

OWN: Final = sa.table(
    "own_touches",
    *(sa.column(name, _INT) for name in ("person_no", "seq", "place")),
    sa.column("at", sa.DateTime),
    *(sa.column(name, sa.Text) for name in COLUMNS),
    sa.column("is_direct", sa.Boolean),
)
"""Every touch of the person, with its place in time, likewise."""


def journey(plan: JourneyPlan, reader: Reader) -> Journey:
    """Who a person is, and the newest sessions and conversions of theirs in a span."""
    scan, ever = plan.scan, replace(plan.scan, span=Span(all_time().start, plan.scan.span.end))
    source, where = own_events(scan, plan.person, TOLD | OF_PROFILE | {"page_path"}, reader)
    reader.keep(SHOWN.name, _alone(plan.person))
    keep_near(scan.workspace_id, reader)
    reader.keep(OWN.name, _own_touches(scan))
    keep_deeds(ever, frozenset(), reader)
    told = lasting(scan, reader, _first_touch)
    reader.keep(STAYS.name, _stays(plan.most, source, where))
    reader.keep(REACHED.name, _conversions(plan))
    return Journey(
        now=next(iter(in_span(scan, told, reader)), None),
        ever=next(iter(in_span(ever, told, reader)), None),
        profile=profile(scan.workspace_id, reader),
        last_touch=next((shown_touch(row) for row in reader.rows(_last_touch(ever))), None),
        sessions=tuple(_sessions(scan, reader)),
        conversions=tuple(_converted(plan, reader)),
    )


def _alone(person: str) -> sa.Select[Any]:
    """The person as a page of one."""
    place, name = sa.literal_column("1", _INT).label("place"), sa.literal(person).label("id")
    return sa.select(ASKED.c.no.label("person_no"), place, name)


def _first_touch(_: Scan) -> sa.Select[Any]:
    return sa.select(OWN.c.person_no, *_of_touch()).where(OWN.c.place == 1)


def _last_touch(scan: Scan) -> sa.Select[Any]:
    """The latest touch in a span."""
    latest = (OWN.c["at"].desc(), OWN.c.seq.desc())
    return sa.select(*_of_touch()).where(*between(OWN.c["at"], scan.span)).order_by(*latest).limit(1)


def _of_touch() -> list[Any]:
    return [OWN.c[name] for name in ("at", *COLUMNS)]


def _stays(most: int, source: Any, where: list[Any]) -> sa.Select[Any]:
    c = THEIR_EVENTS.c
    viewed = among(c.event_name, PAGE_VIEWS)
    first = (sa.func.min(c.timestamp).label("first_at"), fn.Earliest(c.seq, c.timestamp, c.seq))
    last_view = fn.Latest(fn.Row(c.page_path), c.timestamp, c.seq, viewed)
    facts = sa.select(
        c.session_no,
        first[0],
        sa.cast(first[1], _INT).label("first_seq"),
        sa.func.max(c.timestamp).label("last_at"),
        sa.func.count().filter(viewed).label("pageviews"),
        sa.func.count().label("events"),
        fn.Only(last_view).label("exit_page"),
    )
    found = facts.select_from(source).where(*where).group_by(c.session_no).subquery("sessions_of")
    newest = (found.c.first_at.desc(), found.c.first_seq.desc())
    return sa.select(*(found.c[column.name] for column in STAYS.c)).order_by(*newest).limit(most)


def _sessions(scan: Scan, reader: Reader) -> list[PersonSession]:
    first, where = standing(STAYS, "first_at", "first_seq", scan.workspace_id)
    facts = (STAYS.c.session_no, STAYS.c.last_at, STAYS.c.pageviews, STAYS.c.events, STAYS.c.exit_page)
    newest = (STAYS.c.first_at.desc(), STAYS.c.first_seq.desc())
    shown = sa.select(*facts, *ROW).select_from(first).where(*where).order_by(*newest)
    paid = {row[0]: row[1:] for row in reader.rows(_money(scan))}
    return [
        PersonSession(event(row), aware(last_at), views, count, page, *_paid(paid.get(session)))
        for session, last_at, views, count, page, *row in reader.rows(shown)
    ]


def _paid(told: tuple[Any, ...] | None) -> tuple[int, bool]:
    return (int(told[0]), bool(told[1])) if told else (0, False)


def _money(scan: Scan) -> sa.Select[Any]:
    """Charges by session: how much, and whether some is foreign."""
    rows = MoneyRows(scan, scan.span, few=True)
    c = rows.table.c
    revenue = sa.func.coalesce(sa.func.sum(rows.amount).filter(sa.not_(rows.has_no_rate)), 0)
    foreign = sa.func.count().filter(sa.and_(rows.has_no_rate, rows.amount != 0)) > 0
    shown = c.session_no.in_(sa.select(STAYS.c.session_no))
    found = sa.select(c.session_no, revenue, foreign).select_from(rows.source)
    return found.where(*rows.where, c.kind == CHARGE, shown, c.person_no.is_not(None)).group_by(c.session_no)


def _conversions(plan: JourneyPlan) -> sa.Select[Any]:
    c = conversions(plan.scan, plan.scan.span, few=frozenset()).c
    columns = {column.name: c["seq" if column.name == "unit" else column.name] for column in REACHED.c}
    mine = (c.person_no.is_not(None), *between(c.timestamp, plan.scan.span))
    found = sa.select(*(column.label(name) for name, column in columns.items()))
    return found.where(*mine).order_by(c.timestamp.desc(), c.seq.desc()).limit(plan.most)


def _converted(plan: JourneyPlan, reader: Reader) -> list[Converted]:
    if not reader.rows(sa.select(REACHED.c.unit).limit(1)):
        return []
    found, where = standing(REACHED, "timestamp", "seq", plan.scan.workspace_id)
    shown = sa.select(*ROW).select_from(found).where(*where).order_by(*NEWEST)
    events = [event(row) for row in reader.rows(shown)]
    paths: defaultdict[int, list[Touch]] = defaultdict(list)
    length: dict[int, int] = {}
    for unit, among_all, *touch in reader.rows(_paths(plan)):
        paths[unit].append(shown_touch(tuple(touch)))
        length[unit] = among_all
    return [Converted(one, tuple(paths[one.seq]), cut=length.get(one.seq, 0) > plan.most) for one in events]


def _paths(plan: JourneyPlan) -> sa.Select[Any]:
    """The newest touches of every conversion, oldest first, and how many there are, or one more than asked.

    They are found by their place among the person's touches, so that a long window costs no more.
    """
    values = {"workspace": plan.scan.workspace_id, "within": micros_of(plan.window)}
    told = source(by_told, REACHED.name, COLUMNS).under("told", *read_by(REACHED, OWN), **values)
    met = sa.union_all(_newest(plan), sa.select(told)).subquery("met")
    together: Any = {"partition_by": met.c.unit}
    place = sa.func.row_number().over(**together, order_by=(met.c.touch_at.desc(), met.c.touch_seq.desc()))
    numbered = sa.select(
        met, place.label("place"), sa.func.count().over(**together).label("among_all")
    ).subquery("numbered")
    columns = [numbered.c[f"touch_{name}"] for name in ("at", *COLUMNS)]
    found = sa.select(numbered.c.unit, numbered.c.among_all, *columns)
    return found.where(numbered.c.place <= plan.most).order_by(numbered.c.unit, numbered.c.place.desc())


def _own_touches(scan: Scan) -> sa.Select[Any]:
    touch = touches(scan, NEAR)
    by_time: Any = {"partition_by": touch.c.person_no, "order_by": (touch.c.at, touch.c.seq)}
    columns = {**{c.name: c for c in touch.c}, "place": sa.func.row_number().over(**by_time)}
    listed = [columns[c.name].label(c.name) for c in OWN.c]
    return sa.select(*listed).where(among_few(ASKED.name, touch.c.person_no))


def _newest(plan: JourneyPlan) -> sa.Select[Any]:
    """The touches of their own that units have in the window, the newest and one more."""
    own, upto = OWN, _places()
    numbers = sa.literal(list(range(plan.most + 1)), sa.ARRAY(_INT))
    back = sa.select(fn.Each(numbers).label("n")).subquery("back")
    wanted = (
        sa.select(
            upto.c.unit,
            upto.c.person_no,
            upto.c["at"].label("until"),
            (upto.c.place - back.c.n).label("place"),
        )
        .select_from(upto.join(back, sa.true()))
        .subquery("wanted")
    )
    same = sa.and_(own.c.person_no == wanted.c.person_no, own.c.place == wanted.c.place)
    waited = fn.Micros(wanted.c.until) - fn.Micros(own.c["at"])
    columns = [own.c[name].label(f"touch_{name}") for name in ("at", "seq", *COLUMNS)]
    found = sa.select(wanted.c.unit, *columns, waited.label("waited"), own.c.is_direct)
    return found.select_from(wanted.join(own, same)).where(waited <= sa.literal(micros_of(plan.window)))


def _places() -> sa.Subquery:
    """How many touches every unit has up to its instant, that instant included."""
    unit, own = REACHED, OWN
    nothing, one = sa.literal_column("0", _INT), sa.literal_column("1", _INT)
    nobody = sa.cast(sa.null(), _INT)
    steps = sa.union_all(
        sa.select(unit.c.unit, unit.c.person_no, unit.c.timestamp.label("at"), nothing.label("touched")),
        sa.select(nobody, own.c.person_no, own.c["at"], one),
    ).subquery("steps")
    order = (steps.c["at"], steps.c.touched.desc())
    summed = sa.func.sum(steps.c.touched).over(partition_by=steps.c.person_no, order_by=order, rows=(None, 0))
    place = sa.cast(summed, _INT).label("place")
    counted = sa.select(steps.c.unit, steps.c.person_no, steps.c["at"], place).subquery("counted")
    return sa.select(counted).where(counted.c.unit.is_not(None)).subquery("upto")
