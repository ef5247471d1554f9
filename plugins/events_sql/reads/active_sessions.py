"""Computes the buckets in which each person was active, from sessions where possible and else from events.

Nearly all visitors belong to one person throughout, so their sessions do too, with activity at their start
and end. Visitors shared by several persons are read event by event.
"""

from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.identity_resolution import (
    is_session_of_visitors,
    joined_to_person,
    permanent_owners,
    single_owner_visitors_joined_to_person,
)
from plugins.events_sql.relations.relation_rows import span_conditions
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import EVENTS, SESSIONS, VISITOR_ID_PAIRS, IdNumber
from plugins.events_sql.sql.compiled_sources import END, START, WORKSPACE, bind_parameters, compiled_source
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.time_buckets import bucket_index
from plugins.events_sql.sql.time_spans import all_time_span
from service_core.plugin import CohortReaderQuery, TimeRange

SESSION_INTERVALS: Final = sa.table(
    "session_intervals",
    *(sa.column(name, IdNumber()) for name in ("person_no", "session_no")),
    *(sa.column(name, sa.DateTime()) for name in ("first_at", "last_at")),
)
"""Sessions of persons, or single events of shared visitors, with their first and last instant of activity."""

_SHARED_VISITORS: Final = sa.table("shared_visitors", sa.column("number", IdNumber()))
"""Visitors seen with a strong id that is not their permanent owner: their events may belong to several persons."""

_MULTI_BUCKET_SESSIONS: Final = sa.table(
    "multi_bucket_sessions", *(sa.column(name, IdNumber()) for name in ("person_no", "session_no"))
)
"""Sessions that span a whole bucket; their events decide in which buckets they were active."""


def create_session_interval_tables(
    plan: CohortReaderQuery, runner: StatementRunner, *, all_sessions: bool
) -> None:
    """Creates the tables of session intervals and of sessions that span whole buckets.

    Args:
        plan: the workspace and the buckets of activity.
        runner: runs the statements of the read.
        all_sessions: include all sessions, or only those that overlap the buckets.
    """
    runner.create_temp_table(_SHARED_VISITORS.name, deferred_statement(_shared_visitors, plan))
    runner.create_temp_table(
        SESSION_INTERVALS.name, deferred_statement(_session_intervals, plan, all_sessions)
    )
    runner.create_temp_table(
        _MULTI_BUCKET_SESSIONS.name, deferred_statement(_sessions_spanning_a_whole_bucket, plan)
    )


def active_buckets_per_person(plan: CohortReaderQuery) -> sa.CompoundSelect[Any]:
    """Selects persons with the buckets they were active in, from the tables of `create_session_interval_tables`."""
    c, e, series = SESSION_INTERVALS.c, EVENTS.c, plan.activity.runs_of_equal_length()
    first, last = bucket_index(c.first_at, series), bucket_index(c.last_at, series)
    activity_span = TimeRange(plan.activity.starts[0], plan.activity.end)
    bots = [] if plan.scope.include_bots else [sa.not_(e.is_bot)]
    began = sa.select(c.person_no, first.label("bucket")).where(*span_conditions(c.first_at, activity_span))
    before = c.first_at < sa.literal(to_naive_utc(activity_span.start))
    ended = sa.select(c.person_no, last.label("bucket")).where(
        *span_conditions(c.last_at, activity_span), sa.or_(before, first != last)
    )
    meanwhile = (
        sa.select(_MULTI_BUCKET_SESSIONS.c.person_no, bucket_index(e.timestamp, series).label("bucket"))
        .join_from(_MULTI_BUCKET_SESSIONS, EVENTS, e.session_no == _MULTI_BUCKET_SESSIONS.c.session_no)
        .where(e.workspace_id == plan.scope.workspace_id, *span_conditions(e.timestamp, activity_span), *bots)
    )
    return sa.union(began, ended, meanwhile)


def _shared_visitors(plan: CohortReaderQuery) -> sa.Select[Any]:
    shared = compiled_source(_visitors_seen_with_other_than_owner).as_subquery(
        "source_rows", workspace=plan.scope.workspace_id
    )
    return sa.select(shared.c.number)


def _visitors_seen_with_other_than_owner() -> sa.Select[Any]:
    owner = permanent_owners()
    same = sa.and_(
        owner.c.visitor_no == VISITOR_ID_PAIRS.c.visitor_no, owner.c.strong_no == VISITOR_ID_PAIRS.c.strong_no
    )
    query = sa.select(VISITOR_ID_PAIRS.c.visitor_no.label("number")).select_from(
        VISITOR_ID_PAIRS.outerjoin(owner, same)
    )
    return query.where(VISITOR_ID_PAIRS.c.workspace_id == WORKSPACE, owner.c.visitor_no.is_(None))


def _session_intervals(plan: CohortReaderQuery, all_sessions: bool) -> sa.Select[Any]:
    span = all_time_span() if all_sessions else TimeRange(plan.activity.starts[0], plan.activity.end)
    intervals = compiled_source(
        _session_intervals_or_events_of_shared_visitors, plan.scope.include_bots
    ).as_subquery("source_rows", **bind_parameters(plan.scope, span))
    return sa.select(*(intervals.c[column.name] for column in SESSION_INTERVALS.c))


def _session_intervals_or_events_of_shared_visitors(include_bots: bool) -> sa.CompoundSelect[Any]:
    s, e = SESSIONS.c, EVENTS.c
    joined, person = single_owner_visitors_joined_to_person(SESSIONS)
    settled = (
        sa.select(person.label("person_no"), s.session_no, s.first_at, s.last_at)
        .select_from(joined.outerjoin(_SHARED_VISITORS, _SHARED_VISITORS.c.number == s.visitor_no))
        .where(
            s.workspace_id == WORKSPACE,
            s.first_at < END,
            s.last_at >= START,
            _SHARED_VISITORS.c.number.is_(None),
        )
    )
    joined, person = joined_to_person(EVENTS, _SHARED_VISITORS.name)
    single_events = (
        sa.select(person, e.session_no, e.timestamp, e.timestamp)
        .select_from(joined)
        .where(e.workspace_id == WORKSPACE, e.timestamp >= START, e.timestamp < END)
        .where(is_session_of_visitors(_SHARED_VISITORS.name, e.session_no))
    )
    if include_bots:
        return sa.union_all(settled, single_events)
    return sa.union_all(settled.where(sa.not_(s.is_bot)), single_events.where(sa.not_(e.is_bot)))


def _sessions_spanning_a_whole_bucket(plan: CohortReaderQuery) -> sa.Select[Any]:
    c, series = SESSION_INTERVALS.c, plan.activity.runs_of_equal_length()
    start, end = (
        sa.literal(to_naive_utc(plan.activity.starts[0])),
        sa.literal(to_naive_utc(plan.activity.end)),
    )
    beyond = bucket_index(sa.literal(to_naive_utc(plan.activity.end - timedelta.resolution)), series) + 1
    first: Expression = sa.case((c.first_at < start, -1), else_=bucket_index(c.first_at, series))
    last = sa.case((c.last_at >= end, beyond), else_=bucket_index(c.last_at, series))
    conditions = (c.first_at < end, c.last_at >= start, last - first > 1)
    return sa.select(c.person_no, c.session_no).where(*conditions)
