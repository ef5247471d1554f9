"""The touches that can lie in the attribution windows of a read, as temporary tables of that read.

Only the time of these windows is read, with what decides there: the earlier candidates of the same sessions, because
a touch must differ from the previous one of its session, and the earlier campaigns of persons whose events carry a
campaign that is not in the URL, because they may repeat the latest one.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.credited_conversions import CREDITED_CONVERSIONS
from plugins.events_sql.attribution.touch_paths import UNTOUCHED, conversions_without_own_touch
from plugins.events_sql.attribution.touches import (
    all_touches_with_person,
    candidates_with_person,
    touches_of_candidates_query,
    touches_table,
)
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.identity_resolution import joined_to_person
from plugins.events_sql.schema.tables import REPORTED_TOUCHES, SESSIONS, TOUCH_CANDIDATES, IdNumber
from plugins.events_sql.sql.compiled_sources import END, START, WORKSPACE, bind_parameters, compiled_source
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import QueryScope, TimeRange

PATH_TOUCHES: Final = touches_table("path_touches")
"""Temporary table of touches; those before the windows may be incomplete."""

_SESSIONS: Final = sa.table("path_sessions", sa.column("session_no", IdNumber()))
"""Temporary table of the sessions with a candidate in the windows."""

_CANDIDATES: Final = "path_candidates"
_EARLIER_CANDIDATES: Final = "earlier_path_candidates"
_REPEATERS: Final = sa.table("campaign_repeaters", sa.column("person_no", IdNumber()))
"""Temporary table of persons with an event whose campaign is not in its URL."""

_REPORTING: Final = sa.table(
    "conversions_with_reports",
    *(
        sa.column(name, CREDITED_CONVERSIONS.c[name].type)
        for name in ("unit", "timestamp", "seq", "person_no")
    ),
)
"""Temporary table of the conversions of persons whose client reported touches."""


def create_touch_tables_of_conversions(scope: QueryScope, window: timedelta, runner: StatementRunner) -> None:
    """Creates `PATH_TOUCHES` for the persons in `CREDITED_CONVERSIONS`, and `touch_paths.UNTOUCHED`."""
    first, last = _first_and_last_conversion(runner) or (_EPOCH, _EPOCH)
    span = TimeRange(first - window, last + timedelta.resolution)
    _create_path_touches_table(scope, span, runner, only_of_conversions=True)
    _create_untouched_table(scope, runner)


def create_touch_tables_of_all_persons(scope: QueryScope, window: timedelta, runner: StatementRunner) -> None:
    """Creates the tables of `create_touch_tables_of_conversions`, with the touches of all persons since the window before the span."""
    first, _ = _first_and_last_conversion(runner) or (scope.span.start, None)
    span = TimeRange(min(first, scope.span.start) - window, scope.span.end)
    _create_path_touches_table(scope, span, runner, only_of_conversions=False)
    _create_untouched_table(scope, runner)


def _create_untouched_table(scope: QueryScope, runner: StatementRunner) -> None:
    runner.create_temp_table(_REPORTING.name, deferred_statement(_conversions_of_reporting_persons, scope))
    if runner.fetch_rows(deferred_statement(_any_conversion_of_reporting_person)):
        untouched = deferred_statement(_reporting_conversions_without_own_touch, scope)
    else:
        untouched = deferred_statement(_reporting_conversions)
    runner.create_temp_table(UNTOUCHED.name, untouched)


def _first_and_last_conversion(runner: StatementRunner) -> tuple[datetime, datetime] | None:
    """Returns the instants of the first and last unit with a path; None without units."""
    rows = runner.fetch_rows(deferred_statement(_first_and_last_conversion_query))
    if not rows or rows[0][0] is None:
        return None
    first, last = rows[0]
    return first.replace(tzinfo=UTC), last.replace(tzinfo=UTC)


def _first_and_last_conversion_query() -> sa.Select[Any]:
    c = CREDITED_CONVERSIONS.c
    return sa.select(sa.func.min(c.timestamp), sa.func.max(c.timestamp)).where(c.has_path)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _create_path_touches_table(
    scope: QueryScope, span: TimeRange, runner: StatementRunner, *, only_of_conversions: bool
) -> None:
    in_span = replace(scope, span=span, rates=None, filters=())
    runner.create_temp_table(
        _SESSIONS.name, deferred_statement(_sessions_with_candidate_in_span, in_span, only_of_conversions)
    )
    since_sessions_began = replace(
        in_span, span=TimeRange(_first_instant_of_sessions(in_span, runner), span.end)
    )
    runner.create_temp_table(_CANDIDATES, deferred_statement(_candidates_of_sessions, since_sessions_began))
    runner.create_temp_table(_REPEATERS.name, deferred_statement(_persons_with_campaign_outside_url))
    may_repeat = bool(runner.fetch_rows(deferred_statement(_any_repeater)))
    if may_repeat:
        earlier = deferred_statement(_other_marked_candidates_of_repeaters, since_sessions_began)
        runner.create_temp_table(_EARLIER_CANDIDATES, earlier)
    touches = _path_touches_with_earlier_campaigns if may_repeat else _path_touches_without_repeats
    runner.create_temp_table(PATH_TOUCHES.name, deferred_statement(touches))


def _path_touches_without_repeats() -> sa.Select[Any]:
    return touches_of_candidates_query(_CANDIDATES, may_repeat_campaigns=False)


def _path_touches_with_earlier_campaigns() -> sa.Select[Any]:
    return touches_of_candidates_query(_CANDIDATES, _EARLIER_CANDIDATES, may_repeat_campaigns=True)


def _first_instant_of_sessions(scope: QueryScope, runner: StatementRunner) -> datetime:
    rows = runner.fetch_rows(deferred_statement(_first_instant_of_path_sessions, scope))
    first: datetime | None = rows[0][0] if rows else None
    return scope.span.start if first is None else first.replace(tzinfo=UTC)


def _first_instant_of_path_sessions(scope: QueryScope) -> sa.Select[Any]:
    c = SESSIONS.c
    return sa.select(sa.func.min(c.first_at)).where(
        c.workspace_id == scope.workspace_id, c.session_no.in_(sa.select(_SESSIONS.c.session_no))
    )


def _sessions_with_candidate_in_span(scope: QueryScope, only_of_conversions: bool) -> sa.Select[Any]:
    source = compiled_source(_candidate_sessions_in_span, only_of_conversions)
    return sa.select(source.as_subquery("source_rows", **bind_parameters(scope, scope.span)).c.session_no)


def _candidate_sessions_in_span(only_of_conversions: bool) -> sa.Select[Any]:
    c = TOUCH_CANDIDATES.c
    in_span = (c.workspace_id == WORKSPACE, c.timestamp >= START, c.timestamp < END)
    if not only_of_conversions:
        return sa.select(c.session_no).where(*in_span).distinct()
    joined, person_no = joined_to_person(TOUCH_CANDIDATES)
    of_conversions = person_no.in_(sa.select(CREDITED_CONVERSIONS.c.person_no))
    return sa.select(c.session_no).select_from(joined).where(*in_span, of_conversions).distinct()


def _candidates_of_sessions(scope: QueryScope) -> sa.Select[Any]:
    source = compiled_source(_candidates_in_path_sessions)
    candidates = source.as_subquery("source_rows", **bind_parameters(scope, scope.span))
    return sa.select(*candidates.c)


def _candidates_in_path_sessions() -> sa.Select[Any]:
    c = TOUCH_CANDIDATES.c
    return candidates_with_person(
        c.workspace_id == WORKSPACE,
        c.timestamp >= START,
        c.timestamp < END,
        c.session_no.in_(sa.select(_SESSIONS.c.session_no)),
    )


def _persons_with_campaign_outside_url() -> sa.Select[Any]:
    c = sa.table(
        _CANDIDATES,
        sa.column("person_no", IdNumber()),
        *(sa.column(name, sa.Boolean()) for name in ("marked", "campaign_in_url")),
    ).c
    return sa.select(c.person_no).where(c.marked, sa.not_(c.campaign_in_url)).distinct()


def _any_repeater() -> sa.Select[Any]:
    return sa.select(_REPEATERS.c.person_no).limit(1)


def _other_marked_candidates_of_repeaters(scope: QueryScope) -> sa.Select[Any]:
    source = compiled_source(_marked_candidates_of_repeaters_elsewhere)
    candidates = source.as_subquery("source_rows", **bind_parameters(scope, scope.span))
    return sa.select(*candidates.c)


def _marked_candidates_of_repeaters_elsewhere() -> sa.Select[Any]:
    """Selects the candidates with a campaign of `_REPEATERS` that are not in the table of candidates."""
    c = TOUCH_CANDIDATES.c
    elsewhere: Expression = sa.or_(
        c.timestamp < START, c.session_no.not_in(sa.select(_SESSIONS.c.session_no))
    )
    return candidates_with_person(
        c.workspace_id == WORKSPACE,
        c.timestamp < END,
        elsewhere,
        only_marked=True,
        only_persons=sa.select(_REPEATERS.c.person_no),
    )


def _conversions_of_reporting_persons(scope: QueryScope) -> sa.Select[Any]:
    reporting = compiled_source(_persons_with_reported_touch).as_subquery(
        "reporting", workspace=scope.workspace_id
    )
    c = CREDITED_CONVERSIONS.c
    columns = (c[column.name] for column in _REPORTING.c)
    return sa.select(*columns).where(c.person_no.in_(sa.select(reporting.c.person_no)))


def _persons_with_reported_touch() -> sa.Select[Any]:
    joined, person_no = joined_to_person(REPORTED_TOUCHES)
    query = sa.select(person_no.label("person_no")).select_from(joined)
    return query.where(REPORTED_TOUCHES.c.workspace_id == WORKSPACE)


def _any_conversion_of_reporting_person() -> sa.Select[Any]:
    return sa.select(_REPORTING.c.unit).limit(1)


def _reporting_conversions() -> sa.Select[Any]:
    return sa.select(*(_REPORTING.c[column.name] for column in UNTOUCHED.c))


def _reporting_conversions_without_own_touch(scope: QueryScope) -> sa.Select[Any]:
    """Selects the conversions of `_REPORTING` before any touch of their person; touches of all time count."""
    touch = all_touches_with_person(scope, only_persons_of=_REPORTING)
    untouched = conversions_without_own_touch(_REPORTING, touch)
    return sa.select(*(untouched.c[column.name] for column in UNTOUCHED.c))
