"""The SELECTs that define each derived table, for all events or for one batch.

A source is any FROM clause with the columns of ``events``: the new batch, ``events`` itself or a part of it.
Append and rebuild use the same statements, so their results cannot differ.
"""

from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.schema.tables import (
    EMAIL_DIGESTS,
    EVENTS,
    ID_NUMBERS,
    MAX_INSTANT,
    MIN_INSTANT,
    REPORTED_TOUCHES,
    REVOKED_LINKS,
    SESSIONS,
    TOUCH_CANDIDATES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    WEAK_LINKS,
)
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from plugins.events_sql.writes.session_rows import session_rows
from service_core.plugin import (
    CAMPAIGN_COLUMNS,
    IDENTIFY_EVENT,
    REPORTED_TOUCH_COLUMNS,
    TOUCH_POSITIONS,
    TRACKED_SOURCES,
)

SECONDARY_ID_COLUMNS: Final = ("sent_visitor_id", "distinct_id")
"""Columns that may hold another weak id of an event besides its visitor id."""


def is_linked_secondary_weak_id(event_columns: Any, weak_id_column: str) -> Expression:
    """Returns whether a column of `SECONDARY_ID_COLUMNS` holds a weak id that the event links to its strong id."""
    weak_id, strong = event_columns[weak_id_column], event_columns.strong_id
    return sa.and_(
        sa.not_(event_columns.is_bot),
        strong.is_not(None),
        weak_id != strong,
        weak_id != event_columns.visitor_id,
    )


def weak_link_rows(source: sa.FromClause) -> sa.CompoundSelect[Any]:
    """Selects the links of secondary weak ids and of lone distinct ids, with the columns of ``weak_links``."""
    return sa.union(secondary_weak_link_rows(source), lone_distinct_id_links(source))


def secondary_weak_link_rows(source: sa.FromClause, id_numbers: Any = ID_NUMBERS) -> sa.CompoundSelect[Any]:
    """Selects the links of secondary weak ids to strong ids, with the columns of ``weak_links``.

    Args:
        source: events.
        id_numbers: the numbers of their ids; a part of ``id_numbers`` where the events are few.
    """
    c = source.c
    parts = []
    for name in SECONDARY_ID_COLUMNS:
        has_id = sa.and_(
            id_numbers.c.workspace_id == c.workspace_id,
            id_numbers.c.id == sa.literal_column("'v:'", sa.Text) + c[name],
        )
        columns = (
            c.workspace_id,
            c.event_id,
            id_numbers.c.number.label("visitor_no"),
            c.strong_no,
            c.timestamp,
            c.seq,
        )
        parts.append(
            sa.select(*columns)
            .select_from(source.join(id_numbers, has_id))
            .where(is_linked_secondary_weak_id(c, name))
        )
    return sa.union(*parts)


def lone_distinct_id_links(source: sa.FromClause, id_numbers: Any = ID_NUMBERS) -> sa.Select[Any]:
    """Selects links of visitors whose distinct id was sent alone to the strong id of this name, where there is one."""
    c, ids = source.c, id_numbers.c
    strong_id = sa.literal_column("'u:'", sa.Text) + c.distinct_id
    has_id = sa.and_(ids.workspace_id == c.workspace_id, ids.id == strong_id)
    columns = (c.workspace_id, c.event_id, c.visitor_no, ids.number.label("strong_no"), c.timestamp, c.seq)
    return sa.select(*columns).select_from(source.join(id_numbers, has_id)).where(is_lone_distinct_id(c))


def is_lone_distinct_id(columns: Any) -> Expression:
    """Returns whether a person's event carries a distinct id and no other id."""
    alone = (columns.strong_id.is_(None), columns.anonymous_id.is_(None))
    return sa.and_(sa.not_(columns.is_bot), *alone, columns.visitor_id == columns.distinct_id)


def visitor_id_pair_rows(events: sa.FromClause, weak_link_table: sa.FromClause) -> sa.CompoundSelect[Any]:
    """Selects the pairs of visitor and strong id that occur in events and in links of secondary weak ids."""
    queries = (
        sa.select(*(table.c[column.name] for column in VISITOR_ID_PAIRS.columns)).where(
            table.c.strong_no.is_not(None)
        )
        for table in (events, weak_link_table)
    )
    return sa.union(*queries)


def email_owner_and_seeker_rows(source: sa.FromClause) -> sa.CompoundSelect[Any]:
    """Selects who owns which e-mail, and which visitors of revenue providers seek a person by e-mail."""
    c = source.c
    email = fn.JsonText(fn.IdentifyEmail(c.event_data))
    sought_email = fn.JsonString(c.event_data, sa.literal("email"))
    nobody = sa.literal("")
    strong = (c.event_name == IDENTIFY_EVENT, email != "")
    user = (c.strong_id.like("%@%"),)
    seeks = (c.strong_no.is_(None), sa.not_(name_in(c.source, TRACKED_SOURCES)), sought_email != "")
    is_own_visitor = fn.TextStartsWith(c.visitor_id, c.source + sa.literal(":"))
    parts = (
        (email, sa.func.coalesce(c.strong_no, c.visitor_no), nobody, strong),
        (c.strong_id, c.strong_no, nobody, user),
        (sought_email, c.visitor_no, c.source, (*seeks, is_own_visitor)),
    )
    return sa.union(
        *(
            sa.select(
                c.workspace_id,
                fn.EmailDigest(mail).label("digest"),
                number.label("number"),
                source_column.label("source"),
            ).where(sa.not_(c.is_bot), *where)
            for mail, number, source_column, where in parts
        )
    )


def identity_link_rows(
    events: sa.FromClause, weak_link_table: sa.FromClause, only_visitors: sa.Select[Any] | None = None
) -> sa.CompoundSelect[Any]:
    """Selects all identity links of events: those of their visitor ids and those of secondary weak ids.

    Args:
        events: with the columns of ``events``.
        weak_link_table: with the columns of ``weak_links``.
        only_visitors: numbers of the visitors to include; None for all.
    """
    c = events.c
    event_links = sa.select(*(c[column.name] for column in WEAK_LINKS.columns)).where(
        c.strong_no.is_not(None), c.strong_id != c.visitor_id, sa.not_(c.is_bot)
    )
    weak_links = sa.select(*(weak_link_table.c[column.name] for column in WEAK_LINKS.columns))
    if only_visitors is not None:
        event_links, weak_links = (
            event_links.where(c.visitor_no.in_(only_visitors)),
            weak_links.where(weak_link_table.c.visitor_no.in_(only_visitors)),
        )
    return sa.union_all(event_links, weak_links)


def visitor_owner_periods(identity_links: sa.FromClause) -> sa.Select[Any]:
    """Selects the owner of each visitor's events by time, computed from identity links.

    The first link also covers all events before it; a link to another person ends the previous ownership.
    """
    c = identity_links.c
    event = sa.tuple_(c.workspace_id, c.event_id)
    revoked = sa.select(REVOKED_LINKS.c.workspace_id, REVOKED_LINKS.c.event_id)
    links = (
        sa.select(
            *(c[name] for name in ("workspace_id", "visitor_no", "strong_no", "timestamp", "seq")),
            sa.func.lag(c.strong_no).over(**_window_by_visitor(c)).label("before"),
        )
        .where(event.not_in(revoked))
        .subquery("links")
    )
    changes = sa.select(links).where(links.c.strong_no.is_distinct_from(links.c.before)).subquery("changes")
    link, window = changes.c, _window_by_visitor(changes.c)
    is_first = sa.func.lag(link.seq).over(**window).is_(None)
    since, since_seq = link.timestamp, link.seq
    return sa.select(
        *(link[name] for name in ("workspace_id", "visitor_no", "strong_no")),
        sa.case((is_first, sa.literal(MIN_INSTANT)), else_=since).label("since"),
        sa.case((is_first, 0), else_=since_seq).label("since_seq"),
        sa.func.coalesce(sa.func.lead(since).over(**window), sa.literal(MAX_INSTANT)).label("until"),
        sa.func.coalesce(sa.func.lead(since_seq).over(**window), 0).label("until_seq"),
    )


def _window_by_visitor(columns: Any) -> Any:
    return {"partition_by": columns.visitor_no, "order_by": (columns.timestamp, columns.seq)}


def touch_candidate_rows(source: sa.FromClause) -> sa.Select[Any]:
    """Selects events that may be touches: those with attribution values, and the first of each session.

    A later event without attribution values is never a touch, so most page views are left out.
    """
    c = source.c
    columns = [c[column.name] for column in TOUCH_CANDIDATES.columns]
    touchable = (
        sa.select(*columns, _rank_in_session(c).label("place"))
        .where(c.touchable, sa.not_(c.is_bot))
        .subquery("marked")
    )
    is_candidate = sa.or_(touchable.c.place == 1, sa.not_(_has_no_source(touchable.c)))
    return sa.select(*(touchable.c[column.name] for column in TOUCH_CANDIDATES.columns)).where(is_candidate)


def reported_touch_rows(source: sa.FromClause) -> sa.CompoundSelect[Any]:
    """Selects the touches that clients reported, with the columns of ``reported_touches``."""
    return sa.union_all(
        *(_reported_touches_at_position(source.c, place, side) for place, side in enumerate(TOUCH_POSITIONS))
    )


def _reported_touches_at_position(
    event_columns: Any, position_index: int, position_name: str
) -> sa.Select[Any]:
    def reported_value(name: str) -> Expression:
        return fn.JsonString(event_columns.reported_touches, sa.literal(f"{position_name}_{name}"))

    at = reported_value("timestamp")
    keys = (
        event_columns.workspace_id,
        event_columns.visitor_no,
        event_columns.strong_no,
        event_columns.timestamp,
        event_columns.seq,
        sa.literal(position_index, sa.BigInteger),
    )
    columns = (
        *keys,
        sa.cast(at, sa.DateTime),
        *map(reported_value, REPORTED_TOUCH_COLUMNS),
        event_columns.country,
    )
    return sa.select(*columns).where(
        event_columns.reported_touches.is_not(None), sa.not_(event_columns.is_bot), at.is_not(None)
    )


def delete_overtaken_plain_candidates(session_numbers: sa.Select[Any]) -> sa.Delete:
    """Returns the DELETE of candidates without attribution values that are no longer first in their session.

    Args:
        session_numbers: the numbers of the sessions to check.
    """
    key = [TOUCH_CANDIDATES.c[name] for name in ("session_no", "timestamp", "seq")]
    of_sessions = TOUCH_CANDIDATES.c.session_no.in_(session_numbers)
    listed = sa.select(
        *key,
        _has_no_source(TOUCH_CANDIDATES.c).label("plain"),
        _rank_in_session(TOUCH_CANDIDATES.c).label("place"),
    )
    placed = listed.where(of_sessions).subquery("placed")
    overtaken = sa.select(*(placed.c[c.name] for c in key)).where(placed.c.plain, placed.c.place > 1)
    return sa.delete(TOUCH_CANDIDATES).where(sa.tuple_(*key).in_(overtaken))


def _rank_in_session(columns: Any) -> Expression:
    return sa.func.row_number().over(
        partition_by=columns.session_no, order_by=(columns.timestamp, columns.seq)
    )


def _has_no_source(columns: Any) -> Expression:
    marks = [columns[name] for name in ("own_channel", "referral_channel", *CAMPAIGN_COLUMNS)]
    return sa.func.coalesce(*marks).is_(None)


def rebuild_queries(events: sa.FromClause, weak: sa.FromClause) -> dict[sa.Table, Any]:
    """Returns each derived table except ``person_merges`` with the query of its rows; later ones read earlier ones.

    Args:
        events: with the columns of ``events``.
        weak: with the columns of ``weak_links``.
    """
    return {
        SESSIONS: session_rows(events),
        TOUCH_CANDIDATES: touch_candidate_rows(events),
        REPORTED_TOUCHES: reported_touch_rows(events),
        WEAK_LINKS: weak_link_rows(events),
        VISITOR_ID_PAIRS: visitor_id_pair_rows(events, weak),
        EMAIL_DIGESTS: email_owner_and_seeker_rows(events),
        VISITOR_OWNERS: visitor_owner_periods(
            identity_link_rows(events, weak).subquery("identity_link_rows")
        ),
    }


def workspace_rebuild_queries(workspace_id: UUID) -> dict[sa.Table, Any]:
    """Returns each derived table except ``person_merges`` with the query of its rows in one workspace."""
    return rebuild_queries(workspace_rows(EVENTS, workspace_id), workspace_rows(WEAK_LINKS, workspace_id))


def workspace_rows(table: sa.Table, workspace_id: UUID) -> sa.Subquery:
    """Selects the rows of one workspace."""
    return sa.select(table).where(table.c.workspace_id == workspace_id).subquery(f"own_{table.name}")


REBUILD_QUERIES: Final = rebuild_queries(EVENTS, WEAK_LINKS)
"""Each derived table except ``person_merges`` with the query of its rows; later ones read earlier ones."""
