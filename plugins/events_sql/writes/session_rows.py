"""The SELECTs of the session table: of all events, of one batch, and of a batch merged with stored rows."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.schema.tables import ENTRY_COLUMNS, ENTRY_PREFIX, SESSIONS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import is_custom_event, name_in
from plugins.events_sql.sql.time_buckets import microseconds
from service_core.plugin import (
    ADD_TO_CART_EVENTS,
    CAMPAIGN_COLUMNS,
    ENTRY_VIEW_WINDOW,
    HOSTNAME_PATTERN,
    PAGE_VIEWS,
    PAID_EVENTS,
    PURCHASE_EVENTS,
    REFUND_EVENTS,
    SCREEN_CLASSES,
)

_TOUCH_VALUES: Final = ("attribution_source", "attribution_medium", "channel")
SESSION_KEY: Final = ("session_no", "is_bot", "from_device")
_SESSION_EVENT_COLUMNS: Final = (
    *("session_no", "is_bot", "from_device", "timestamp", "seq", "event_name", "is_test", "revenue"),
    *("interactive", "page_path", "touchable", *_TOUCH_VALUES, *CAMPAIGN_COLUMNS),
)


def session_rows(source: sa.FromClause) -> sa.Select[Any]:
    """Selects one row per `SESSION_KEY` of a source, with the columns of ``sessions``."""
    facts, entry = _facts_with_entry_position(source), source.alias("e")
    at_entry = (entry.c.timestamp == facts.c.entry_at, entry.c.seq == facts.c.entry_seq)
    same = (entry.c[name] == facts.c[name] for name in ("session_no", "is_bot"))
    joined = facts.join(entry, sa.and_(*same, *at_entry))
    copied = {
        ENTRY_PREFIX + name: entry.c[name].label(ENTRY_PREFIX + name)
        for name in ENTRY_COLUMNS
        if name in entry.c
    }
    copied["entry_landing_page"] = sa.case(
        (_entry_is_first_view(facts.c), entry.c.page_path), else_=entry.c.landing_page
    ).label("entry_landing_page")
    copied |= {name: value.label(name) for name, value in _computed_entry_columns(entry.c).items()}
    columns = {**{c.name: c for c in entry.c}, **{c.name: c for c in facts.c}, **copied}
    return sa.select(*(columns[c.name] for c in SESSIONS.columns)).select_from(joined)


def _computed_entry_columns(event_columns: Any) -> dict[str, Expression]:
    """Returns the host of the page and the class of the screen, as `Event.hostname` and `Event.screen_class` do."""
    width = event_columns.screen_width
    bounded = [(width < below, name) for name, below in SCREEN_CLASSES if below is not None]
    return {
        "entry_hostname": fn.UrlHostname(event_columns.page_url, sa.literal(HOSTNAME_PATTERN)),
        "entry_screen_class": sa.case(
            (sa.func.coalesce(width, 0) < 1, sa.null()), *bounded, else_=SCREEN_CLASSES[-1][0]
        ),
    }


def _entry_is_first_view(session_columns: Any) -> Expression:
    """Returns whether the first page view describes how a session began, as `entry_event_with_page_view_over_system_event` does in the core."""
    c = session_columns
    waited = fn.EpochMicroseconds(c.view_at) - fn.EpochMicroseconds(c.first_at)
    in_time = sa.func.coalesce(waited <= sa.literal(microseconds(ENTRY_VIEW_WINDOW)), sa.false())
    return sa.and_(c.began_with_system_event, in_time)


def entry_position(session_columns: Any) -> tuple[Expression, Expression]:
    """Returns timestamp and sequence number of the event that describes how a session began."""
    c, by_view = session_columns, _entry_is_first_view(session_columns)
    return sa.case((by_view, c.view_at), else_=c.first_at), sa.case((by_view, c.view_seq), else_=c.first_seq)


def _facts_with_entry_position(source: sa.FromClause) -> sa.Subquery:
    facts = _facts_per_session_key(source)
    at, seq = entry_position(facts.c)
    return sa.select(facts, at.label("entry_at"), seq.label("entry_seq")).subquery("placed")


def _facts_per_session_key(source: sa.FromClause) -> sa.Subquery:
    c = _events_with_flags(source).c
    place = (c.timestamp, c.seq)
    position = fn.EventPosition(*place)
    campaign = [c[name] for name in CAMPAIGN_COLUMNS]
    return (
        sa.select(
            *(c[name] for name in SESSION_KEY),
            sa.func.min(c.timestamp).label("first_at"),
            sa.cast(fn.EarliestBy(c.seq, *place), sa.BigInteger).label("first_seq"),
            sa.type_coerce(fn.EarliestBy(c.is_system, *place), sa.Boolean).label("began_with_system_event"),
            sa.func.min(c.timestamp).filter(c.is_view).label("view_at"),
            sa.cast(fn.EarliestBy(c.seq, *place, c.is_view), sa.BigInteger).label("view_seq"),
            sa.func.max(c.timestamp).label("last_at"),
            sa.func.count().label("events"),
            sa.func.count().filter(c.is_view).label("pageviews"),
            sa.func.count().filter(c.is_other).label("others"),
            sa.func.bool_or(c.is_cart).label("has_cart"),
            sa.func.bool_or(c.is_purchase).label("has_purchase"),
            sa.func.bool_or(c.is_paid).label("has_revenue"),
            fn.SortedArrayAgg(c.event_name, sa.not_(c.is_test)).label("names"),
            fn.LatestBy(fn.TupleKey(*(c[name] for name in _TOUCH_VALUES)), *place, c.touchable).label(
                "touch"
            ),
            sa.func.max(position).filter(c.touchable).label("touch_at"),
            fn.LatestBy(fn.TupleKey(*campaign), *place, c.has_campaign).label("campaign"),
            sa.func.max(position).filter(c.has_campaign).label("campaign_at"),
            fn.SingleElement(fn.LatestBy(fn.TupleKey(c.page_path), *place, c.is_view)).label("exit_page"),
            sa.func.max(position).filter(c.is_view).label("exit_at"),
        )
        .group_by(*(c[name] for name in SESSION_KEY))
        .subquery("f")
    )


def _events_with_flags(source: sa.FromClause) -> sa.Subquery:
    """Returns the events with what each one is, so that the aggregates name a column instead of repeating conditions.

    The engine plans this statement for every append; without the flags that took longer than running it.
    """
    c = source.c
    viewed, refund = name_in(c.event_name, PAGE_VIEWS), name_in(c.event_name, REFUND_EVENTS)
    has_system_name = fn.TextStartsWith(c.event_name, sa.literal("$"))
    moves_money = sa.or_(name_in(c.event_name, PAID_EVENTS - REFUND_EVENTS), is_custom_event(c.event_name))
    paid = sa.and_(sa.func.coalesce(c.revenue, 0) > 0, sa.not_(c.is_test), sa.not_(refund), moves_money)
    flags = {
        "is_view": viewed,
        "is_system": sa.and_(has_system_name, sa.not_(viewed)),
        "is_other": sa.and_(c.interactive, sa.not_(has_system_name), sa.not_(viewed)),
        "is_cart": name_in(c.event_name, ADD_TO_CART_EVENTS),
        "is_purchase": name_in(c.event_name, PURCHASE_EVENTS),
        "is_paid": paid,
        "has_campaign": sa.func.coalesce(*(c[name] for name in CAMPAIGN_COLUMNS)).is_not(None),
    }
    return sa.select(
        *(c[name] for name in _SESSION_EVENT_COLUMNS), *(flag.label(name) for name, flag in flags.items())
    ).subquery("visited")


def merge_session_rows(batch_rows: sa.FromClause, stored_rows: sa.FromClause) -> sa.Select[Any]:
    """Selects the session rows of a batch merged with the stored rows of the same sessions.

    A merged row has the entry columns of one of them; see `is_without_entry_event`.
    """
    first = _joined_sessions_with_first_and_view(batch_rows, stored_rows).subquery("begun")
    at, seq = entry_position(first.c)
    in_batch = sa.or_(
        first.c.stored_entry_at.is_(None), sa.and_(first.c.entry_at == at, first.c.entry_seq == seq)
    )
    chosen = sa.select(first, in_batch.label("entry_in_batch")).subquery("p")
    p, b = chosen.c, stored_rows.c
    later_touch, later_campaign, later_exit = (
        sa.func.coalesce(b[name] > p[name], p[name].is_(None))
        for name in ("touch_at", "campaign_at", "exit_at")
    )
    is_stored = b.session_no.is_not(None)
    merged: dict[str, Expression] = {
        **{name: p[name] for name in (*SESSION_KEY, *_FIRST_COLUMNS, *_VIEW_COLUMNS)},
        **{name: p[name] for name in ("workspace_id", "visitor_no", "visitor_id", "session_id")},
        "last_at": sa.func.greatest(p.last_at, b.last_at),
        **{name: p[name] + sa.func.coalesce(b[name], 0) for name in ("events", "pageviews", "others")},
        **{
            name: sa.or_(p[name], sa.func.coalesce(b[name], sa.false()))
            for name in ("has_cart", "has_purchase", "has_revenue")
        },
        "names": sa.case(
            (sa.or_(sa.not_(is_stored), b.names == p.names), p.names),
            else_=fn.SortedArrayUnion(p.names, b.names),
        ),
        "touch": sa.case((later_touch, b.touch), else_=p.touch),
        "touch_at": sa.func.greatest(p.touch_at, b.touch_at),
        "campaign": sa.case((later_campaign, b.campaign), else_=p.campaign),
        "campaign_at": sa.func.greatest(p.campaign_at, b.campaign_at),
        "exit_page": sa.case((later_exit, b.exit_page), else_=p.exit_page),
        "exit_at": sa.func.greatest(p.exit_at, b.exit_at),
    }
    columns = [
        merged.get(c.name, sa.case((p.entry_in_batch, p[c.name]), else_=b[c.name])).label(c.name)
        for c in SESSIONS.columns
    ]
    same = sa.and_(*(b[name] == p[name] for name in SESSION_KEY))
    return sa.select(*columns).select_from(chosen.outerjoin(stored_rows, same))


_FIRST_COLUMNS: Final = ("first_at", "first_seq", "began_with_system_event")
_VIEW_COLUMNS: Final = ("view_at", "view_seq")


def _joined_sessions_with_first_and_view(
    batch_rows: sa.FromClause, stored_rows: sa.FromClause
) -> sa.Select[Any]:
    """Selects the rows of a batch with the first event and first page view of both, and the stored entry position."""
    p, b = batch_rows.c, stored_rows.c

    def is_earlier(at: str, seq: str) -> Expression:
        """Returns whether the batch has the earlier one; also where nothing is stored."""
        before = sa.or_(p[at] < b[at], sa.and_(p[at] == b[at], p[seq] < b[seq]))
        return sa.or_(b[at].is_(None), sa.func.coalesce(before, sa.false()))

    earlier = dict.fromkeys(_FIRST_COLUMNS, is_earlier("first_at", "first_seq")) | dict.fromkeys(
        _VIEW_COLUMNS, is_earlier("view_at", "view_seq")
    )
    columns = (
        sa.case((earlier[c.name], p[c.name]), else_=b[c.name]).label(c.name)
        if c.name in earlier
        else p[c.name]
        for c in SESSIONS.columns
    )
    same = sa.and_(*(b[name] == p[name] for name in SESSION_KEY))
    return sa.select(*columns, b.entry_at.label("stored_entry_at")).select_from(
        batch_rows.outerjoin(stored_rows, same)
    )


def is_without_entry_event(session_columns: Any) -> Expression:
    """Returns whether a merged row has the columns of an event that no longer is its entry event.

    Such a session is recomputed from its events: an earlier event or page view arrived later.
    """
    at, seq = entry_position(session_columns)
    c = session_columns
    return sa.or_(c.entry_at != at, c.entry_seq != seq)
