"""Reads one person with sessions, and conversions with their touch paths, all computed in the engine.

The positions of the newest rows are found first; full rows are read only for these.
"""

from collections import defaultdict
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.touch_paths import (
    conversions_without_own_touch,
    latest_reported_touches_in_window_query,
)
from plugins.events_sql.attribution.touches import TOUCH_VALUE_COLUMNS, all_touches_with_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.identity_resolution import is_in_table
from plugins.events_sql.identity.related_visitors import (
    RELATED_VISITORS,
    SELECTED_EVENTS,
    SELECTED_PERSONS,
    create_related_visitors_table,
)
from plugins.events_sql.reads.event_queries import EVENT_COLUMNS, NEWEST_FIRST, events_at_positions
from plugins.events_sql.reads.people.people_list import (
    PERSON_EVENT_COLUMNS,
    PERSON_PAGE,
    all_time_values_of_page,
    read_page_persons_seen_in_span,
)
from plugins.events_sql.reads.people.person_profile import (
    PROFILE_COLUMNS,
    create_person_tables_and_event_source,
    read_profile_of_selected_person,
    row_to_touch,
)
from plugins.events_sql.relations.charges_and_refunds import PaymentRows
from plugins.events_sql.relations.order_events import create_order_events_table
from plugins.events_sql.relations.relation_rows import conversions_once_per_order, span_conditions
from plugins.events_sql.schema.row_mapping import row_to_event, to_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import compiled_source
from plugins.events_sql.sql.event_kinds import name_in
from plugins.events_sql.sql.time_buckets import microseconds
from plugins.events_sql.sql.time_spans import all_time_span
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


def read_person_activity(plan: PersonActivityQuery, runner: StatementRunner) -> PersonActivity:
    """Returns a person with profile, and their newest sessions and conversions in a span."""
    scope, all_time_scope = (
        plan.scope,
        replace(plan.scope, span=TimeRange(all_time_span().start, plan.scope.span.end)),
    )
    source, where = create_person_tables_and_event_source(
        scope, plan.person, PERSON_EVENT_COLUMNS | PROFILE_COLUMNS | {"page_path"}, runner
    )
    runner.create_temp_table(PERSON_PAGE.name, _single_person_page(plan.person))
    create_related_visitors_table(scope.workspace_id, runner)
    runner.create_temp_table(OWN_TOUCHES.name, _touches_of_person_ranked_by_time(scope))
    create_order_events_table(all_time_scope, frozenset(), runner)
    all_time = all_time_values_of_page(scope, runner, _first_own_touch)
    runner.create_temp_table(SESSION_PAGE.name, _newest_sessions(plan.max_items, source, where))
    runner.create_temp_table(CONVERSION_PAGE.name, _newest_conversions_in_span(plan))
    return PersonActivity(
        in_range=next(iter(read_page_persons_seen_in_span(scope, all_time, runner)), None),
        lifetime=next(iter(read_page_persons_seen_in_span(all_time_scope, all_time, runner)), None),
        profile=read_profile_of_selected_person(scope.workspace_id, runner),
        last_touch=next(
            (row_to_touch(row) for row in runner.fetch_rows(_last_touch_in_span(all_time_scope))), None
        ),
        sessions=tuple(_read_sessions_with_revenue(scope, runner)),
        conversions=tuple(_read_conversions_with_touch_paths(plan, runner)),
    )


def _single_person_page(person: str) -> sa.Select[Any]:
    """Selects the person as a page with one row."""
    place, name = sa.literal_column("1", _INT).label("place"), sa.literal(person).label("id")
    return sa.select(SELECTED_PERSONS.c.number.label("person_no"), place, name)


def _first_own_touch(_: QueryScope) -> sa.Select[Any]:
    return sa.select(OWN_TOUCHES.c.person_no, *_touch_columns()).where(OWN_TOUCHES.c.place == 1)


def _last_touch_in_span(scope: QueryScope) -> sa.Select[Any]:
    """Selects the latest touch in a span."""
    latest = (OWN_TOUCHES.c["at"].desc(), OWN_TOUCHES.c.seq.desc())
    return (
        sa.select(*_touch_columns())
        .where(*span_conditions(OWN_TOUCHES.c["at"], scope.span))
        .order_by(*latest)
        .limit(1)
    )


def _touch_columns() -> list[Any]:
    return [OWN_TOUCHES.c[name] for name in ("at", *TOUCH_VALUE_COLUMNS)]


def _newest_sessions(max_sessions: int, source: Any, where: list[Any]) -> sa.Select[Any]:
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
    visits = facts.select_from(source).where(*where, c.from_device)
    sessions = visits.group_by(c.session_no).subquery("session_rows")
    newest = (sessions.c.first_at.desc(), sessions.c.first_seq.desc())
    return (
        sa.select(*(sessions.c[column.name] for column in SESSION_PAGE.c))
        .order_by(*newest)
        .limit(max_sessions)
    )


def _read_sessions_with_revenue(scope: QueryScope, runner: StatementRunner) -> list[PersonSession]:
    first, where = events_at_positions(SESSION_PAGE, "first_at", "first_seq", scope.workspace_id)
    facts = (
        SESSION_PAGE.c.session_no,
        SESSION_PAGE.c.last_at,
        SESSION_PAGE.c.pageviews,
        SESSION_PAGE.c.events,
        SESSION_PAGE.c.exit_page,
    )
    newest = (SESSION_PAGE.c.first_at.desc(), SESSION_PAGE.c.first_seq.desc())
    query = sa.select(*facts, *EVENT_COLUMNS).select_from(first).where(*where).order_by(*newest)
    paid = {row[0]: row[1:] for row in runner.fetch_rows(_charged_amount_by_shown_session(scope))}
    return [
        PersonSession(
            row_to_event(row), to_utc(last_at), views, count, page, *_revenue_or_zero(paid.get(session))
        )
        for session, last_at, views, count, page, *row in runner.fetch_rows(query)
    ]


def _revenue_or_zero(row: tuple[Any, ...] | None) -> tuple[int, bool]:
    return (int(row[0]), bool(row[1])) if row else (0, False)


def _charged_amount_by_shown_session(scope: QueryScope) -> sa.Select[Any]:
    """Selects the charges of sessions: amount, and whether some is foreign."""
    rows = PaymentRows(scope, scope.span, selected_only=True)
    c = rows.table.c
    revenue, foreign = rows.revenue_and_missing_rate_flag()
    is_shown = c.session_no.in_(sa.select(SESSION_PAGE.c.session_no))
    query = sa.select(c.session_no, revenue, foreign).select_from(rows.source)
    return query.where(*rows.where, c.kind == CHARGE, is_shown, c.person_no.is_not(None)).group_by(
        c.session_no
    )


def _newest_conversions_in_span(plan: PersonActivityQuery) -> sa.Select[Any]:
    c = conversions_once_per_order(plan.scope, plan.scope.span, selected_columns=frozenset()).c
    columns = {
        column.name: c["seq" if column.name == "unit" else column.name] for column in CONVERSION_PAGE.c
    }
    conditions = (c.person_no.is_not(None), *span_conditions(c.timestamp, plan.scope.span))
    query = sa.select(*(column.label(name) for name, column in columns.items()))
    return query.where(*conditions).order_by(c.timestamp.desc(), c.seq.desc()).limit(plan.max_items)


def _read_conversions_with_touch_paths(
    plan: PersonActivityQuery, runner: StatementRunner
) -> list[ConversionPath]:
    if not runner.fetch_rows(sa.select(CONVERSION_PAGE.c.unit).limit(1)):
        return []
    source, where = events_at_positions(CONVERSION_PAGE, "timestamp", "seq", plan.scope.workspace_id)
    query = sa.select(*EVENT_COLUMNS).select_from(source).where(*where).order_by(*NEWEST_FIRST)
    events = [row_to_event(row) for row in runner.fetch_rows(query)]
    paths: defaultdict[int, list[Touch]] = defaultdict(list)
    length: dict[int, int] = {}
    for unit, among_all, *touch in runner.fetch_rows(_newest_touches_per_conversion(plan)):
        paths[unit].append(row_to_touch(tuple(touch)))
        length[unit] = among_all
    return [
        ConversionPath(event, tuple(paths[event.seq]), is_truncated=length.get(event.seq, 0) > plan.max_items)
        for event in events
    ]


def _newest_touches_per_conversion(plan: PersonActivityQuery) -> sa.Select[Any]:
    """Selects the newest touches of each conversion, oldest first, and the number of touches, at most one over the limit.

    Touches are found by their rank among the person's touches, so that a long window costs no more.
    """
    values = {"workspace": plan.scope.workspace_id, "within": microseconds(plan.window)}
    reported = compiled_source(
        latest_reported_touches_in_window_query, CONVERSION_PAGE.name, TOUCH_VALUE_COLUMNS
    ).as_subquery("reported", conversions_without_own_touch(CONVERSION_PAGE, OWN_TOUCHES), **values)
    touches = sa.union_all(_newest_own_touches_in_window(plan), sa.select(reported)).subquery("met")
    by_unit: Any = {"partition_by": touches.c.unit}
    place = sa.func.row_number().over(
        **by_unit, order_by=(touches.c.touch_at.desc(), touches.c.touch_seq.desc())
    )
    numbered = sa.select(
        touches, place.label("place"), sa.func.count().over(**by_unit).label("among_all")
    ).subquery("numbered")
    columns = [numbered.c[f"touch_{name}"] for name in ("at", *TOUCH_VALUE_COLUMNS)]
    query = sa.select(numbered.c.unit, numbered.c.among_all, *columns)
    return query.where(numbered.c.place <= plan.max_items).order_by(numbered.c.unit, numbered.c.place.desc())


def _touches_of_person_ranked_by_time(scope: QueryScope) -> sa.Select[Any]:
    touch = all_touches_with_person(scope, RELATED_VISITORS)
    by_time: Any = {"partition_by": touch.c.person_no, "order_by": (touch.c.at, touch.c.seq)}
    columns = {**{c.name: c for c in touch.c}, "place": sa.func.row_number().over(**by_time)}
    listed = [columns[c.name].label(c.name) for c in OWN_TOUCHES.c]
    return sa.select(*listed).where(is_in_table(SELECTED_PERSONS.name, touch.c.person_no))


def _newest_own_touches_in_window(plan: PersonActivityQuery) -> sa.Select[Any]:
    """Selects the newest touches in the window of each conversion, and one more."""
    touches, counts = OWN_TOUCHES, _touch_count_up_to_each_conversion()
    numbers = sa.literal(list(range(plan.max_items + 1)), sa.ARRAY(_INT))
    back = sa.select(fn.Unnest(numbers).label("n")).subquery("back")
    wanted = (
        sa.select(
            counts.c.unit,
            counts.c.person_no,
            counts.c["at"].label("until"),
            (counts.c.place - back.c.n).label("place"),
        )
        .select_from(counts.join(back, sa.true()))
        .subquery("wanted")
    )
    same = sa.and_(touches.c.person_no == wanted.c.person_no, touches.c.place == wanted.c.place)
    waited = fn.EpochMicroseconds(wanted.c.until) - fn.EpochMicroseconds(touches.c["at"])
    columns = [touches.c[name].label(f"touch_{name}") for name in ("at", "seq", *TOUCH_VALUE_COLUMNS)]
    query = sa.select(wanted.c.unit, *columns, waited.label("waited"), touches.c.is_direct)
    return query.select_from(wanted.join(touches, same)).where(
        waited <= sa.literal(microseconds(plan.window))
    )


def _touch_count_up_to_each_conversion() -> sa.Subquery:
    """Returns how many touches the person has up to each conversion, that instant included."""
    unit, touches = CONVERSION_PAGE, OWN_TOUCHES
    nothing, single = sa.literal_column("0", _INT), sa.literal_column("1", _INT)
    nobody = sa.cast(sa.null(), _INT)
    steps = sa.union_all(
        sa.select(unit.c.unit, unit.c.person_no, unit.c.timestamp.label("at"), nothing.label("touched")),
        sa.select(nobody, touches.c.person_no, touches.c["at"], single),
    ).subquery("steps")
    order = (steps.c["at"], steps.c.touched.desc())
    summed = sa.func.sum(steps.c.touched).over(partition_by=steps.c.person_no, order_by=order, rows=(None, 0))
    place = sa.cast(summed, _INT).label("place")
    counted = sa.select(steps.c.unit, steps.c.person_no, steps.c["at"], place).subquery("counted")
    return sa.select(counted).where(counted.c.unit.is_not(None)).subquery("upto")
