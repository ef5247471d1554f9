"""Reads one person with sessions, and conversions with their touch paths, all computed in the engine.

The positions of the newest rows are found first; full rows are read only for these.
"""

from collections import defaultdict
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.touch_paths import referenced_ctes, reported_touches_in_window
from plugins.events_sql.attribution.touches import TOUCH_VALUE_COLUMNS, all_touches
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.identity_resolution import is_in_table
from plugins.events_sql.identity.related_visitors import (
    RELATED_VISITORS,
    SELECTED_EVENTS,
    SELECTED_PERSONS,
    create_related_visitors,
)
from plugins.events_sql.reads.event_queries import EVENT_COLUMNS, NEWEST_FIRST, events_at_positions
from plugins.events_sql.reads.people.people_list import (
    PERSON_EVENT_COLUMNS,
    PERSON_PAGE,
    all_time_values,
    read_persons,
)
from plugins.events_sql.reads.people.person_profile import (
    PROFILE_COLUMNS,
    person_event_source,
    read_profile,
    row_to_touch,
)
from plugins.events_sql.relations.charges_and_refunds import PaymentRows
from plugins.events_sql.relations.order_events import create_order_events
from plugins.events_sql.relations.relation_rows import (
    all_time_span,
    conversion_events,
    span_conditions,
)
from plugins.events_sql.schema.row_mapping import row_to_event, to_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import compiled_source
from plugins.events_sql.sql.event_kinds import name_in
from plugins.events_sql.sql.time_buckets import microseconds
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    ConversionPath,
    PersonActivity,
    PersonActivityQuery,
    PersonSession,
    QueryScope,
    TimeRange,
    Touch,
)

_INT: Final = sa.BigInteger
SESSION_PAGE: Final = sa.table(
    "session_page",
    *(sa.column(name, _INT) for name in ("session_no", "first_seq", "pageviews", "events")),
    *(sa.column(name, sa.DateTime) for name in ("first_at", "last_at")),
    sa.column("exit_page", sa.Text),
)
"""Temporary table of the sessions that are returned."""

CONVERSION_PAGE: Final = sa.table(
    "conversion_page",
    *(sa.column(name, _INT) for name in ("unit", "seq", "person_no", "session_no")),
    sa.column("timestamp", sa.DateTime),
)
"""Temporary table of the conversions that are returned."""

OWN_TOUCHES: Final = sa.table(
    "own_touches",
    *(sa.column(name, _INT) for name in ("person_no", "seq", "place")),
    sa.column("at", sa.DateTime),
    *(sa.column(name, sa.Text) for name in TOUCH_VALUE_COLUMNS),
    sa.column("is_direct", sa.Boolean),
)
"""Temporary table of the person's touches with their rank in time."""


def read_journey(plan: PersonActivityQuery, reader: StatementRunner) -> PersonActivity:
    """Returns a person with profile, and their newest sessions and conversions in a span."""
    scan, ever = plan.scope, replace(plan.scope, span=TimeRange(all_time_span().start, plan.scope.span.end))
    source, where = person_event_source(
        scan, plan.person, PERSON_EVENT_COLUMNS | PROFILE_COLUMNS | {"page_path"}, reader
    )
    reader.create_temp_table(PERSON_PAGE.name, _single_person_page(plan.person))
    create_related_visitors(scan.workspace_id, reader)
    reader.create_temp_table(OWN_TOUCHES.name, _ranked_touches(scan))
    create_order_events(ever, frozenset(), reader)
    told = all_time_values(scan, reader, _first_own_touch)
    reader.create_temp_table(SESSION_PAGE.name, _newest_sessions(plan.max_items, source, where))
    reader.create_temp_table(CONVERSION_PAGE.name, _newest_conversions(plan))
    return PersonActivity(
        in_range=next(iter(read_persons(scan, told, reader)), None),
        lifetime=next(iter(read_persons(ever, told, reader)), None),
        profile=read_profile(scan.workspace_id, reader),
        last_touch=next((row_to_touch(row) for row in reader.fetch_rows(_last_own_touch(ever))), None),
        sessions=tuple(_read_sessions(scan, reader)),
        conversions=tuple(_read_conversions(plan, reader)),
    )


def _single_person_page(person: str) -> sa.Select[Any]:
    """Selects the person as a page with one row."""
    place, name = sa.literal_column("1", _INT).label("place"), sa.literal(person).label("id")
    return sa.select(SELECTED_PERSONS.c.number.label("person_no"), place, name)


def _first_own_touch(_: QueryScope) -> sa.Select[Any]:
    return sa.select(OWN_TOUCHES.c.person_no, *_touch_columns()).where(OWN_TOUCHES.c.place == 1)


def _last_own_touch(scan: QueryScope) -> sa.Select[Any]:
    """Selects the latest touch in a span."""
    latest = (OWN_TOUCHES.c["at"].desc(), OWN_TOUCHES.c.seq.desc())
    return (
        sa.select(*_touch_columns())
        .where(*span_conditions(OWN_TOUCHES.c["at"], scan.span))
        .order_by(*latest)
        .limit(1)
    )


def _touch_columns() -> list[Any]:
    return [OWN_TOUCHES.c[name] for name in ("at", *TOUCH_VALUE_COLUMNS)]


def _newest_sessions(most: int, source: Any, where: list[Any]) -> sa.Select[Any]:
    c = SELECTED_EVENTS.c
    viewed = name_in(c.event_name, PAGE_VIEWS)
    first = (sa.func.min(c.timestamp).label("first_at"), fn.EarliestBy(c.seq, c.timestamp, c.seq))
    last_view = fn.LatestBy(fn.TupleKey(c.page_path), c.timestamp, c.seq, viewed)
    facts = sa.select(
        c.session_no,
        first[0],
        sa.cast(first[1], _INT).label("first_seq"),
        sa.func.max(c.timestamp).label("last_at"),
        sa.func.count().filter(viewed).label("pageviews"),
        sa.func.count().label("events"),
        fn.SingleElement(last_view).label("exit_page"),
    )
    found = facts.select_from(source).where(*where).group_by(c.session_no).subquery("session_rows")
    newest = (found.c.first_at.desc(), found.c.first_seq.desc())
    return sa.select(*(found.c[column.name] for column in SESSION_PAGE.c)).order_by(*newest).limit(most)


def _read_sessions(scan: QueryScope, reader: StatementRunner) -> list[PersonSession]:
    first, where = events_at_positions(SESSION_PAGE, "first_at", "first_seq", scan.workspace_id)
    facts = (
        SESSION_PAGE.c.session_no,
        SESSION_PAGE.c.last_at,
        SESSION_PAGE.c.pageviews,
        SESSION_PAGE.c.events,
        SESSION_PAGE.c.exit_page,
    )
    newest = (SESSION_PAGE.c.first_at.desc(), SESSION_PAGE.c.first_seq.desc())
    shown = sa.select(*facts, *EVENT_COLUMNS).select_from(first).where(*where).order_by(*newest)
    paid = {row[0]: row[1:] for row in reader.fetch_rows(_revenue_by_session(scan))}
    return [
        PersonSession(
            row_to_event(row), to_utc(last_at), views, count, page, *_revenue_or_zero(paid.get(session))
        )
        for session, last_at, views, count, page, *row in reader.fetch_rows(shown)
    ]


def _revenue_or_zero(told: tuple[Any, ...] | None) -> tuple[int, bool]:
    return (int(told[0]), bool(told[1])) if told else (0, False)


def _revenue_by_session(scan: QueryScope) -> sa.Select[Any]:
    """Selects the charges of sessions: amount, and whether some is foreign."""
    rows = PaymentRows(scan, scan.span, selected_only=True)
    c = rows.table.c
    revenue = sa.func.coalesce(sa.func.sum(rows.amount).filter(sa.not_(rows.has_no_rate)), 0)
    foreign = sa.func.count().filter(sa.and_(rows.has_no_rate, rows.amount != 0)) > 0
    shown = c.session_no.in_(sa.select(SESSION_PAGE.c.session_no))
    found = sa.select(c.session_no, revenue, foreign).select_from(rows.source)
    return found.where(*rows.where, c.kind == CHARGE, shown, c.person_no.is_not(None)).group_by(c.session_no)


def _newest_conversions(plan: PersonActivityQuery) -> sa.Select[Any]:
    c = conversion_events(plan.scope, plan.scope.span, selected_columns=frozenset()).c
    columns = {
        column.name: c["seq" if column.name == "unit" else column.name] for column in CONVERSION_PAGE.c
    }
    mine = (c.person_no.is_not(None), *span_conditions(c.timestamp, plan.scope.span))
    found = sa.select(*(column.label(name) for name, column in columns.items()))
    return found.where(*mine).order_by(c.timestamp.desc(), c.seq.desc()).limit(plan.max_items)


def _read_conversions(plan: PersonActivityQuery, reader: StatementRunner) -> list[ConversionPath]:
    if not reader.fetch_rows(sa.select(CONVERSION_PAGE.c.unit).limit(1)):
        return []
    found, where = events_at_positions(CONVERSION_PAGE, "timestamp", "seq", plan.scope.workspace_id)
    shown = sa.select(*EVENT_COLUMNS).select_from(found).where(*where).order_by(*NEWEST_FIRST)
    events = [row_to_event(row) for row in reader.fetch_rows(shown)]
    paths: defaultdict[int, list[Touch]] = defaultdict(list)
    length: dict[int, int] = {}
    for unit, among_all, *touch in reader.fetch_rows(_touches_per_conversion(plan)):
        paths[unit].append(row_to_touch(tuple(touch)))
        length[unit] = among_all
    return [
        ConversionPath(one, tuple(paths[one.seq]), is_truncated=length.get(one.seq, 0) > plan.max_items)
        for one in events
    ]


def _touches_per_conversion(plan: PersonActivityQuery) -> sa.Select[Any]:
    """Selects the newest touches of each conversion, oldest first, and the number of touches, at most one over the limit.

    Touches are found by their rank among the person's touches, so that a long window costs no more.
    """
    values = {"workspace": plan.scope.workspace_id, "within": microseconds(plan.window)}
    told = compiled_source(reported_touches_in_window, CONVERSION_PAGE.name, TOUCH_VALUE_COLUMNS).as_subquery(
        "told", *referenced_ctes(CONVERSION_PAGE, OWN_TOUCHES), **values
    )
    met = sa.union_all(_newest_own_touches(plan), sa.select(told)).subquery("met")
    together: Any = {"partition_by": met.c.unit}
    place = sa.func.row_number().over(**together, order_by=(met.c.touch_at.desc(), met.c.touch_seq.desc()))
    numbered = sa.select(
        met, place.label("place"), sa.func.count().over(**together).label("among_all")
    ).subquery("numbered")
    columns = [numbered.c[f"touch_{name}"] for name in ("at", *TOUCH_VALUE_COLUMNS)]
    found = sa.select(numbered.c.unit, numbered.c.among_all, *columns)
    return found.where(numbered.c.place <= plan.max_items).order_by(numbered.c.unit, numbered.c.place.desc())


def _ranked_touches(scan: QueryScope) -> sa.Select[Any]:
    touch = all_touches(scan, RELATED_VISITORS)
    by_time: Any = {"partition_by": touch.c.person_no, "order_by": (touch.c.at, touch.c.seq)}
    columns = {**{c.name: c for c in touch.c}, "place": sa.func.row_number().over(**by_time)}
    listed = [columns[c.name].label(c.name) for c in OWN_TOUCHES.c]
    return sa.select(*listed).where(is_in_table(SELECTED_PERSONS.name, touch.c.person_no))


def _newest_own_touches(plan: PersonActivityQuery) -> sa.Select[Any]:
    """Selects the newest touches in the window of each conversion, and one more."""
    own, upto = OWN_TOUCHES, _touch_counts()
    numbers = sa.literal(list(range(plan.max_items + 1)), sa.ARRAY(_INT))
    back = sa.select(fn.Unnest(numbers).label("n")).subquery("back")
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
    waited = fn.EpochMicroseconds(wanted.c.until) - fn.EpochMicroseconds(own.c["at"])
    columns = [own.c[name].label(f"touch_{name}") for name in ("at", "seq", *TOUCH_VALUE_COLUMNS)]
    found = sa.select(wanted.c.unit, *columns, waited.label("waited"), own.c.is_direct)
    return found.select_from(wanted.join(own, same)).where(waited <= sa.literal(microseconds(plan.window)))


def _touch_counts() -> sa.Subquery:
    """Returns how many touches the person has up to each conversion, that instant included."""
    unit, own = CONVERSION_PAGE, OWN_TOUCHES
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
