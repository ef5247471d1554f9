"""The statements of an append, each built once when this module is imported.

They read temporary tables of the writer's session: ``batch`` and tables computed from it step by step.
"""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.identity.identity_links import WEB_ATTRIBUTION_MATCHED
from plugins.events_sql.schema.tables import (
    BATCH,
    EMAIL_DIGESTS,
    EVENTS,
    ID_NUMBERS,
    REPORTED_TOUCHES,
    SESSIONS,
    TOUCH_CANDIDATES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    WEAK_LINKS,
)
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.time_buckets import microseconds
from plugins.events_sql.writes import derived_tables, session_rows
from service_core.plugin import COLUMNS, ORDER_DEDUP_WINDOW, WEB

_INT, _TEXT = sa.BigInteger, sa.Text
NEW_EVENTS: Final = sa.table("new_events", *(sa.column(c.name, c.type) for c in BATCH.columns))
"""The events of the batch that are not stored yet."""
_BATCH_IDS: Final = sa.table(
    "batch_ids",
    sa.column("workspace_id", sa.Uuid),
    sa.column("id", _TEXT),
    sa.column("number", _INT),
    sa.column("is_new", sa.Boolean),
)
_BATCH_SESSIONS: Final = sa.table(
    "batch_sessions",
    sa.column("visitor_no", _INT),
    sa.column("session_id", _TEXT),
    sa.column("session_no", _INT),
)
_EVENT_NUMBERS: Final = sa.table(
    "event_numbers",
    sa.column("row_no", _INT),
    sa.column("workspace_id", sa.Uuid),
    *(sa.column(name, _INT) for name in ("visitor_no", "strong_no", "session_no")),
    sa.column("is_link", sa.Boolean),
)
_BATCH_SESSION_ROWS: Final = sa.table(
    "batch_session_rows", *(sa.column(c.name, c.type) for c in SESSIONS.columns)
)
_STORED_SESSION_ROWS: Final = sa.table(
    "stored_session_rows", *(sa.column(c.name, c.type) for c in SESSIONS.columns)
)
_MERGED_SESSION_ROWS: Final = sa.table(
    "merged_session_rows", *(sa.column(c.name, c.type) for c in SESSIONS.columns)
)
_SESSIONS_WITHOUT_ENTRY: Final = sa.select(_MERGED_SESSION_ROWS.c.session_no).where(
    session_rows.is_without_entry_event(_MERGED_SESSION_ROWS.c)
)
_CHANGED_VISITORS: Final = sa.table("changed_visitors", sa.column("visitor_no", _INT))
_CHANGED_VISITOR_NUMBERS: Final = sa.select(_CHANGED_VISITORS.c.visitor_no)
_NEW_WEAK_LINKS: Final = sa.table("new_weak_links", *(sa.column(c.name, c.type) for c in WEAK_LINKS.columns))
"""Links of secondary weak ids that the batch adds."""
_NEW_STRONG_VISITORS: Final = sa.table("new_strong_visitors", sa.column("number", _INT))
"""Stored visitors whose id becomes a strong id by the batch."""
_NEW_EMAIL_DIGESTS: Final = sa.table(
    "new_email_digests", *(sa.column(c.name, c.type) for c in EMAIL_DIGESTS.columns)
)
_VISITOR_LINKS: Final = sa.table("visitor_links", *(sa.column(c.name, c.type) for c in WEAK_LINKS.columns))
_NEW_EVENT_COLUMNS: Final = (
    *("row_no", "workspace_id", "event_id", "received_at", "visitor_id", "session_id"),
    *(
        "strong_id",
        *derived_tables.SECONDARY_ID_COLUMNS,
        "is_bot",
        "previous_id",
        "web_visitor_id",
        "carries",
    ),
)


def insert_rows(table: sa.Table, query: sa.SelectBase) -> sa.Insert:
    """Returns an INSERT of a query whose columns are in the order of the table's columns."""
    return sa.insert(table).from_select([c.name for c in table.columns], query)


def delete_events_stored_within_week(received_since: Any, received_until: Any) -> sa.Delete:
    """Returns the DELETE of events that are already stored, received less than 7 days apart."""
    e = (
        sa.select(EVENTS.c.workspace_id, EVENTS.c.event_id, EVENTS.c.received_at)
        .where(
            EVENTS.c.received_at > sa.literal(received_since),
            EVENTS.c.received_at < sa.literal(received_until),
        )
        .subquery("e")
    )
    apart = fn.EpochMicroseconds(e.c.received_at) - fn.EpochMicroseconds(NEW_EVENTS.c.received_at)
    week = sa.literal(microseconds(ORDER_DEDUP_WINDOW))
    same = (e.c.workspace_id == NEW_EVENTS.c.workspace_id, e.c.event_id == NEW_EVENTS.c.event_id)
    stored = sa.select(NEW_EVENTS.c.row_no).join_from(
        NEW_EVENTS, e, sa.and_(*same, apart > -week, apart < week)
    )
    return sa.delete(NEW_EVENTS).where(NEW_EVENTS.c.row_no.in_(stored))


NEWLY_SUPERSEDED: Final = sa.table(
    "newly_superseded",
    sa.column("workspace_id", sa.Uuid),
    *(sa.column(name, _INT) for name in ("seq", "visitor_no", "strong_no", "session_no", "superseded_by")),
)
"""Stored events of senders without a key that an event of the batch, ``superseded_by``, supersedes by its id."""


def select_superseded_events(received_since: Any, received_until: Any) -> sa.Select[Any]:
    """Selects the stored events with the columns of `NEWLY_SUPERSEDED`."""
    e, b = EVENTS.c, BATCH.c
    apart = fn.EpochMicroseconds(e.received_at) - fn.EpochMicroseconds(b.received_at)
    week = sa.literal(microseconds(ORDER_DEDUP_WINDOW))
    numbers = [e[name] for name in ("workspace_id", "seq", "visitor_no", "strong_no", "session_no")]
    return (
        sa.select(*numbers, sa.func.min(b.seq).label("superseded_by"))
        .join_from(EVENTS, BATCH, sa.and_(e.workspace_id == b.workspace_id, e.event_id == b.event_id))
        .where(
            e.received_at > sa.literal(received_since),
            e.received_at < sa.literal(received_until),
            apart > -week,
            apart < week,
            e.source == WEB,
            b.source != WEB,
        )
        .group_by(*numbers)
    )


def select_stored_keyed_events_of_batch(received_since: Any, received_until: Any) -> sa.Select[Any]:
    """Selects the workspaces and numbers of those events of the batch, sent with a key, that are stored themselves."""
    e, b = EVENTS.c, BATCH.c
    same = sa.and_(e.workspace_id == b.workspace_id, e.event_id == b.event_id, e.seq == b.seq)
    return (
        sa.select(e.workspace_id, e.seq)
        .join_from(EVENTS, BATCH, same)
        .where(
            e.received_at > sa.literal(received_since),
            e.received_at < sa.literal(received_until),
            b.source != WEB,
        )
    )


def _next_value(sequence: str) -> sa.ColumnElement[int]:
    return sa.literal_column(f"nextval('{sequence}')", _INT)


def _prefixed_id(prefix: str, column: Any) -> Any:
    return sa.literal_column(f"'{prefix}'", _TEXT) + column


def _batch_ids_with_stored_or_new_number() -> sa.Select[Any]:
    prefixed_columns = [
        ("v:", "visitor_id"),
        ("u:", "strong_id"),
        ("u:", "previous_id"),
        ("v:", "web_visitor_id"),
    ]
    parts = [
        sa.select(NEW_EVENTS.c.workspace_id, _prefixed_id(prefix, NEW_EVENTS.c[name]).label("id")).where(
            NEW_EVENTS.c[name].is_not(None)
        )
        for prefix, name in prefixed_columns
    ]
    parts += [
        sa.select(NEW_EVENTS.c.workspace_id, _prefixed_id("v:", NEW_EVENTS.c[name]).label("id")).where(
            derived_tables.is_linked_secondary_weak_id(NEW_EVENTS.c, name)
        )
        for name in derived_tables.SECONDARY_ID_COLUMNS
    ]
    w = sa.union(*parts).subquery("w")
    joined = w.outerjoin(
        ID_NUMBERS, sa.and_(ID_NUMBERS.c.workspace_id == w.c.workspace_id, ID_NUMBERS.c.id == w.c.id)
    )
    number = sa.func.coalesce(ID_NUMBERS.c.number, _next_value("id_no")).label("number")
    return sa.select(
        w.c.workspace_id, w.c.id, number, ID_NUMBERS.c.number.is_(None).label("is_new")
    ).select_from(joined)


def _has_id(ids: Any, prefix: str, column: Any) -> sa.ColumnElement[bool]:
    return sa.and_(ids.c.workspace_id == NEW_EVENTS.c.workspace_id, ids.c.id == _prefixed_id(prefix, column))


def _batch_sessions_with_stored_or_new_number() -> sa.Select[Any]:
    batch_pairs = (
        sa.select(_BATCH_IDS.c.number.label("visitor_no"), NEW_EVENTS.c.session_id)
        .join_from(NEW_EVENTS, _BATCH_IDS, _has_id(_BATCH_IDS, "v:", NEW_EVENTS.c.visitor_id))
        .distinct()
        .subquery("came")
    )
    c = SESSIONS.c
    stored = (
        sa.select(c.visitor_no, c.session_id, sa.func.max(c.session_no).label("session_no"))
        .where(c.visitor_no.in_(sa.select(_BATCH_IDS.c.number)))
        .group_by(c.visitor_no, c.session_id)
        .subquery("stored")
    )
    same = sa.and_(
        stored.c.visitor_no == batch_pairs.c.visitor_no, stored.c.session_id == batch_pairs.c.session_id
    )
    number = sa.func.coalesce(stored.c.session_no, _next_value("session_no")).label("session_no")
    return sa.select(batch_pairs.c.visitor_no, batch_pairs.c.session_id, number).select_from(
        batch_pairs.outerjoin(stored, same)
    )


def _id_and_session_numbers_of_new_events() -> sa.Select[Any]:
    visitor, strong = _BATCH_IDS.alias("visitor"), _BATCH_IDS.alias("strong")
    joined = (
        NEW_EVENTS.join(visitor, _has_id(visitor, "v:", NEW_EVENTS.c.visitor_id))
        .outerjoin(strong, _has_id(strong, "u:", NEW_EVENTS.c.strong_id))
        .join(
            _BATCH_SESSIONS,
            sa.and_(
                _BATCH_SESSIONS.c.visitor_no == visitor.c.number,
                _BATCH_SESSIONS.c.session_id == NEW_EVENTS.c.session_id,
            ),
        )
    )
    is_link = sa.and_(sa.not_(NEW_EVENTS.c.is_bot), NEW_EVENTS.c.strong_id != NEW_EVENTS.c.visitor_id)
    return sa.select(
        NEW_EVENTS.c.row_no,
        NEW_EVENTS.c.workspace_id,
        visitor.c.number.label("visitor_no"),
        strong.c.number.label("strong_no"),
        _BATCH_SESSIONS.c.session_no,
        is_link.label("is_link"),
    ).select_from(joined)


def _visitors_whose_owner_may_change() -> sa.Select[Any]:
    """Selects visitors with a link in the batch other than a repeated link to their only person."""
    links, o = _all_visitor_and_weak_id_links_of_batch(), VISITOR_OWNERS.c
    lowest, highest = sa.func.min(links.c.strong_no), sa.func.max(links.c.strong_no)
    linked = (
        sa.select(links.c.visitor_no, lowest.label("low"), highest.label("high"))
        .group_by(links.c.visitor_no)
        .subquery("linked")
    )
    settled = (
        sa.select(o.visitor_no, sa.func.min(o.strong_no).label("only"))
        .where(o.visitor_no.in_(sa.select(links.c.visitor_no)))
        .group_by(o.visitor_no)
        .having(sa.func.min(o.strong_no) == sa.func.max(o.strong_no))
        .subquery("settled")
    )
    joined = linked.outerjoin(settled, settled.c.visitor_no == linked.c.visitor_no)
    new = sa.or_(linked.c.low != linked.c.high, settled.c.only.is_distinct_from(linked.c.low))
    return sa.select(linked.c.visitor_no).select_from(joined).where(new)


def _new_id_pairs() -> sa.CompoundSelect[Any]:
    """Selects pairs of visitor and strong id in the batch that are not stored yet."""
    pairs = derived_tables.visitor_id_pair_rows(_EVENT_NUMBERS, _NEW_WEAK_LINKS)
    is_stored = VISITOR_ID_PAIRS.c.visitor_no.in_(sa.select(pairs.subquery("batch_pairs").c.visitor_no))
    return sa.except_(pairs, sa.select(*VISITOR_ID_PAIRS.c).where(is_stored))


def _visitors_with_new_strong_id() -> sa.Select[Any]:
    """Selects the numbers of stored visitors whose id becomes a strong id by this batch."""
    strong, visitor, new = _BATCH_IDS.alias("strong"), ID_NUMBERS.alias("visitor"), _BATCH_IDS.alias("new")
    is_strong = sa.and_(strong.c.is_new, fn.TextStartsWith(strong.c.id, sa.literal("u:")))
    visitor_id = _prefixed_id("v:", sa.func.substr(strong.c.id, 3))
    same = sa.and_(visitor.c.workspace_id == strong.c.workspace_id, visitor.c.id == visitor_id)
    is_new = sa.and_(new.c.number == visitor.c.number, new.c.is_new)
    joined = strong.join(visitor, same).outerjoin(new, is_new)
    return sa.select(visitor.c.number).select_from(joined).where(is_strong, new.c.number.is_(None))


def _new_secondary_links_and_links_of_lone_distinct_ids() -> sa.CompoundSelect[Any]:
    """Selects the new weak links and those of distinct ids sent alone, in the batch or before their strong id was known."""
    visitors = sa.select(_NEW_STRONG_VISITORS.c.number)
    stored = sa.select(EVENTS).where(EVENTS.c.visitor_no.in_(visitors)).subquery("stored")
    return sa.union(
        derived_tables.secondary_weak_link_rows(NUMBERED_EVENTS, _BATCH_IDS),
        derived_tables.lone_distinct_id_links(NUMBERED_EVENTS),
        derived_tables.lone_distinct_id_links(stored),
    )


def _new_email_digests() -> sa.CompoundSelect[Any]:
    """Selects e-mail digests in the batch that are not stored yet."""
    digests = derived_tables.email_owner_and_seeker_rows(NUMBERED_EVENTS)
    is_stored = EMAIL_DIGESTS.c.number.in_(sa.select(digests.subquery("batch_digests").c.number))
    return sa.except_(digests, sa.select(*EMAIL_DIGESTS.c).where(is_stored))


def _workspaces_with_new_email_match() -> sa.Select[Any]:
    """Selects workspaces where a new digest may merge persons: one id owns the e-mail and another seeks it."""
    new, other = _NEW_EMAIL_DIGESTS.c, EMAIL_DIGESTS.c
    same = (other.workspace_id == new.workspace_id, other.digest == new.digest)
    both = sa.exists().where(*same, (other.source == "") != (new.source == ""))
    return sa.select(new.workspace_id).where(both).distinct()


def _all_visitor_and_weak_id_links_of_batch() -> sa.CTE:
    """Returns the CTE of all identity links of the batch."""
    visitor_links = sa.select(_EVENT_NUMBERS.c.visitor_no, _EVENT_NUMBERS.c.strong_no).where(
        _EVENT_NUMBERS.c.is_link
    )
    return sa.union_all(
        visitor_links, sa.select(_NEW_WEAK_LINKS.c.visitor_no, _NEW_WEAK_LINKS.c.strong_no)
    ).cte("batch_links")


def _workspaces_with_new_identity_ids() -> sa.Select[Any]:
    """Selects workspaces where the batch may change person merges, by an alias or an external id."""
    has_identity_ids = sa.or_(NEW_EVENTS.c.previous_id.is_not(None), NEW_EVENTS.c.carries)
    return sa.select(NEW_EVENTS.c.workspace_id).where(has_identity_ids).distinct()


def _workspaces_whose_merges_may_change() -> sa.CompoundSelect[Any]:
    """Selects these workspaces, and those where a changed owner may change merges; reads all their identity events."""
    changed = sa.union(
        *(
            sa.select(table.c.workspace_id).where(table.c.visitor_no.in_(_CHANGED_VISITOR_NUMBERS))
            for table in (_EVENT_NUMBERS, _NEW_WEAK_LINKS)
        )
    )
    matched = sa.or_(EVENTS.c.external_ids.is_not(None), EVENTS.c.event_name == WEB_ATTRIBUTION_MATCHED)
    with_identity_events = sa.select(EVENTS.c.workspace_id).where(EVENTS.c.workspace_id.in_(changed), matched)
    seeking = sa.select(EMAIL_DIGESTS.c.workspace_id).where(
        EMAIL_DIGESTS.c.workspace_id.in_(changed), EMAIL_DIGESTS.c.source != ""
    )
    return sa.union(_workspaces_with_new_identity_ids(), with_identity_events, seeking)


def _stored_rows_of_batch_sessions() -> sa.Select[Any]:
    """Selects the stored rows of the batch's sessions; a condition on one column uses the index, a pair does not."""
    numbers = sa.select(_BATCH_SESSION_ROWS.c.session_no)
    return sa.select(SESSIONS).where(
        SESSIONS.c.session_no.in_(numbers), sa.exists().where(_is_same_session(_BATCH_SESSION_ROWS))
    )


def _is_same_session(table: Any) -> sa.ColumnElement[bool]:
    return sa.and_(*(SESSIONS.c[name] == table.c[name] for name in session_rows.SESSION_KEY))


def select_numbered_events(recorded_at: datetime) -> sa.Select[Any]:
    """Selects the new events with their numbers and the naive UTC at which they become visible."""
    columns = (BATCH.c[f.name] for f in COLUMNS)
    numbers = (_EVENT_NUMBERS.c[name] for name in ("visitor_no", "strong_no", "session_no"))
    return sa.select(*columns, *numbers, sa.literal(recorded_at).label("recorded_at")).join_from(
        BATCH, _EVENT_NUMBERS, _EVENT_NUMBERS.c.row_no == BATCH.c.row_no
    )


NUMBERED_EVENTS: Final = sa.table("numbered_events", *(sa.column(c.name, c.type) for c in EVENTS.columns))
"""The new events with their numbers. A table, because planners misestimate a join against array results."""

SELECT_NEW_EVENTS: Final = sa.select(*(BATCH.c[name] for name in _NEW_EVENT_COLUMNS))
COUNT_NEW_EVENTS: Final = sa.select(sa.func.count()).select_from(NEW_EVENTS)
SELECT_BATCH_IDS: Final = _batch_ids_with_stored_or_new_number()
INSERT_IDS: Final = insert_rows(
    ID_NUMBERS,
    sa.select(_BATCH_IDS.c.workspace_id, _BATCH_IDS.c.id, _BATCH_IDS.c.number).where(_BATCH_IDS.c.is_new),
)
SELECT_BATCH_SESSIONS: Final = _batch_sessions_with_stored_or_new_number()
SELECT_EVENT_NUMBERS: Final = _id_and_session_numbers_of_new_events()
INSERT_EVENTS: Final = insert_rows(EVENTS, sa.select(*(NUMBERED_EVENTS.c[c.name] for c in EVENTS.columns)))
SELECT_BATCH_SESSION_ROWS: Final = session_rows.session_rows(NUMBERED_EVENTS)
SELECT_STORED_SESSION_ROWS: Final = _stored_rows_of_batch_sessions()
DELETE_STORED_SESSION_ROWS: Final = sa.delete(SESSIONS).where(
    sa.exists().where(_is_same_session(_STORED_SESSION_ROWS))
)
SELECT_MERGED_SESSION_ROWS: Final = session_rows.merge_session_rows(_BATCH_SESSION_ROWS, _STORED_SESSION_ROWS)
INSERT_SESSIONS: Final = insert_rows(SESSIONS, sa.select(*_MERGED_SESSION_ROWS.c))
SELECT_ANY_SESSION_WITHOUT_ENTRY: Final = _SESSIONS_WITHOUT_ENTRY.limit(1)
DELETE_SESSIONS_WITHOUT_ENTRY: Final = sa.delete(SESSIONS).where(
    SESSIONS.c.session_no.in_(_SESSIONS_WITHOUT_ENTRY)
)
RECOMPUTE_SESSIONS_WITHOUT_ENTRY: Final = insert_rows(
    SESSIONS,
    session_rows.session_rows(
        sa.select(EVENTS).where(EVENTS.c.session_no.in_(_SESSIONS_WITHOUT_ENTRY)).subquery("of_sessions")
    ),
)
INSERT_TOUCH_CANDIDATES: Final = insert_rows(
    TOUCH_CANDIDATES, derived_tables.touch_candidate_rows(NUMBERED_EVENTS)
)
DELETE_OUTDATED_CANDIDATES: Final = derived_tables.delete_overtaken_plain_candidates(
    sa.select(_EVENT_NUMBERS.c.session_no)
)
INSERT_REPORTED_TOUCHES: Final = insert_rows(
    REPORTED_TOUCHES, derived_tables.reported_touch_rows(NUMBERED_EVENTS)
)
SELECT_NEW_WEAK_LINKS: Final = derived_tables.secondary_weak_link_rows(NUMBERED_EVENTS, _BATCH_IDS)
SELECT_NEW_STRONG_VISITORS: Final = _visitors_with_new_strong_id()
SELECT_ANY_NEW_STRONG_VISITOR: Final = sa.select(_NEW_STRONG_VISITORS.c.number).limit(1)
SELECT_WEAK_LINKS_WITH_LONE_IDS: Final = _new_secondary_links_and_links_of_lone_distinct_ids()
INSERT_WEAK_LINKS: Final = insert_rows(WEAK_LINKS, sa.select(_NEW_WEAK_LINKS))
INSERT_ID_PAIRS: Final = insert_rows(VISITOR_ID_PAIRS, _new_id_pairs())
SELECT_NEW_EMAIL_DIGESTS: Final = _new_email_digests()
INSERT_EMAIL_DIGESTS: Final = insert_rows(EMAIL_DIGESTS, sa.select(_NEW_EMAIL_DIGESTS))
SELECT_WORKSPACES_WITH_EMAIL_MATCH: Final = _workspaces_with_new_email_match()
SELECT_CHANGED_VISITORS: Final = _visitors_whose_owner_may_change()
SELECT_ANY_CHANGED_VISITOR: Final = sa.select(_CHANGED_VISITORS.c.visitor_no).limit(1)
SELECT_VISITOR_LINKS: Final = derived_tables.identity_link_rows(EVENTS, WEAK_LINKS, _CHANGED_VISITOR_NUMBERS)
DELETE_OWNERS: Final = sa.delete(VISITOR_OWNERS).where(
    VISITOR_OWNERS.c.visitor_no.in_(_CHANGED_VISITOR_NUMBERS)
)
INSERT_OWNERS: Final = insert_rows(VISITOR_OWNERS, derived_tables.visitor_owner_periods(_VISITOR_LINKS))
SELECT_WORKSPACES_WITH_IDENTITY_IDS: Final = _workspaces_with_new_identity_ids()
SELECT_WORKSPACES_TO_MERGE: Final = _workspaces_whose_merges_may_change()
