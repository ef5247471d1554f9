"""What an append does, as statements over a batch: each is built once, when this module is loaded.

Their tables are of the writer's session: ``batch``, and what follows from it step by step.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import caches
from plugins.events_sql import functions as fn
from plugins.events_sql.links import MATCHED
from plugins.events_sql.periods import micros_of
from plugins.events_sql.tables import BATCH, EVENTS, IDS, KIN, MAILS, META, OWNERS, SESSIONS, TOLD, WEAK_LINKS
from service_core.plugin import COLUMNS, REPEAT

_INT, _TEXT = sa.BigInteger, sa.Text
FRESH: Final = sa.table("fresh", *(sa.column(c.name, c.type) for c in BATCH.columns))
"""The batch without what is stored already."""
_IDS: Final = sa.table(
    "batch_ids",
    sa.column("workspace_id", sa.Uuid),
    sa.column("id", _TEXT),
    sa.column("no", _INT),
    sa.column("is_new", sa.Boolean),
)
_VISITS: Final = sa.table(
    "visits", sa.column("visitor_no", _INT), sa.column("session_id", _TEXT), sa.column("session_no", _INT)
)
_NUMBERS: Final = sa.table(
    "numbers",
    sa.column("row_no", _INT),
    sa.column("workspace_id", sa.Uuid),
    *(sa.column(name, _INT) for name in ("visitor_no", "strong_no", "session_no")),
    sa.column("is_link", sa.Boolean),
)
_PARTS: Final = sa.table("parts", *(sa.column(c.name, c.type) for c in SESSIONS.columns))
_BEFORE: Final = sa.table("before", *(sa.column(c.name, c.type) for c in SESSIONS.columns))
_RELINKED: Final = sa.table("relinked", sa.column("visitor_no", _INT))
_WHO: Final = sa.select(_RELINKED.c.visitor_no)
_WEAK: Final = sa.table("weak", *(sa.column(c.name, c.type) for c in WEAK_LINKS.columns))
"""Links of further weak ids that the batch makes."""
_NEW_MAILS: Final = sa.table("new_mails", *(sa.column(c.name, c.type) for c in MAILS.columns))
_LINKED: Final = sa.table("links", *(sa.column(c.name, c.type) for c in WEAK_LINKS.columns))
_KEPT_OF_FRESH: Final = (
    *("row_no", "workspace_id", "event_id", "received_at", "visitor_id", "session_id"),
    *("strong_id", *caches.SECOND_IDS, "is_bot", "previous_id", "web_visitor_id", "carries"),
)


def into(table: sa.Table, found: sa.SelectBase) -> sa.Insert:
    """Add rows, given in the order of the table's columns."""
    return sa.insert(table).from_select([c.name for c in table.columns], found)


def known(since: Any, until: Any) -> sa.Delete:
    """Take away what is stored already, received less than 7 days apart."""
    e = (
        sa.select(EVENTS.c.workspace_id, EVENTS.c.event_id, EVENTS.c.received_at)
        .where(EVENTS.c.received_at > sa.literal(since), EVENTS.c.received_at < sa.literal(until))
        .subquery("e")
    )
    apart = fn.Micros(e.c.received_at) - fn.Micros(FRESH.c.received_at)
    week = sa.literal(micros_of(REPEAT))
    same = (e.c.workspace_id == FRESH.c.workspace_id, e.c.event_id == FRESH.c.event_id)
    stored = sa.select(FRESH.c.row_no).join_from(FRESH, e, sa.and_(*same, apart > -week, apart < week))
    return sa.delete(FRESH).where(FRESH.c.row_no.in_(stored))


def _next(sequence: str) -> sa.ColumnElement[int]:
    return sa.literal_column(f"nextval('{sequence}')", _INT)


def _spelled(prefix: str, column: Any) -> Any:
    return sa.literal_column(f"'{prefix}'", _TEXT) + column


def _ids() -> sa.Select[Any]:
    named = [("v:", "visitor_id"), ("u:", "strong_id"), ("u:", "previous_id"), ("v:", "web_visitor_id")]
    parts = [
        sa.select(FRESH.c.workspace_id, _spelled(prefix, FRESH.c[name]).label("id")).where(
            FRESH.c[name].is_not(None)
        )
        for prefix, name in named
    ]
    parts += [
        sa.select(FRESH.c.workspace_id, _spelled("v:", FRESH.c[name]).label("id")).where(
            caches.is_second(FRESH.c, name)
        )
        for name in caches.SECOND_IDS
    ]
    w = sa.union(*parts).subquery("w")
    known = w.outerjoin(IDS, sa.and_(IDS.c.workspace_id == w.c.workspace_id, IDS.c.id == w.c.id))
    number = sa.func.coalesce(IDS.c.no, _next("id_no")).label("no")
    return sa.select(w.c.workspace_id, w.c.id, number, IDS.c.no.is_(None).label("is_new")).select_from(known)


def _named(ids: Any, prefix: str, column: Any) -> sa.ColumnElement[bool]:
    return sa.and_(ids.c.workspace_id == FRESH.c.workspace_id, ids.c.id == _spelled(prefix, column))


def _visits() -> sa.Select[Any]:
    came = (
        sa.select(_IDS.c.no.label("visitor_no"), FRESH.c.session_id)
        .join_from(FRESH, _IDS, _named(_IDS, "v:", FRESH.c.visitor_id))
        .distinct()
        .subquery("came")
    )
    c = SESSIONS.c
    stored = (
        sa.select(c.visitor_no, c.session_id, sa.func.max(c.session_no).label("session_no"))
        .where(c.visitor_no.in_(sa.select(_IDS.c.no)))
        .group_by(c.visitor_no, c.session_id)
        .subquery("stored")
    )
    same = sa.and_(stored.c.visitor_no == came.c.visitor_no, stored.c.session_id == came.c.session_id)
    number = sa.func.coalesce(stored.c.session_no, _next("session_no")).label("session_no")
    return sa.select(came.c.visitor_no, came.c.session_id, number).select_from(came.outerjoin(stored, same))


def _numbers() -> sa.Select[Any]:
    visitor, strong = _IDS.alias("visitor"), _IDS.alias("strong")
    joined = (
        FRESH.join(visitor, _named(visitor, "v:", FRESH.c.visitor_id))
        .outerjoin(strong, _named(strong, "u:", FRESH.c.strong_id))
        .join(
            _VISITS,
            sa.and_(_VISITS.c.visitor_no == visitor.c.no, _VISITS.c.session_id == FRESH.c.session_id),
        )
    )
    is_link = sa.and_(sa.not_(FRESH.c.is_bot), FRESH.c.strong_id != FRESH.c.visitor_id)
    return sa.select(
        FRESH.c.row_no,
        FRESH.c.workspace_id,
        visitor.c.no.label("visitor_no"),
        strong.c.no.label("strong_no"),
        _VISITS.c.session_no,
        is_link.label("is_link"),
    ).select_from(joined)


def _relinked() -> sa.Select[Any]:
    """Visitors with a link in the batch that is not one more to the only person they ever had."""
    told, o = _told(), OWNERS.c
    lowest, highest = sa.func.min(told.c.strong_no), sa.func.max(told.c.strong_no)
    linked = (
        sa.select(told.c.visitor_no, lowest.label("low"), highest.label("high"))
        .group_by(told.c.visitor_no)
        .subquery("linked")
    )
    settled = (
        sa.select(o.visitor_no, sa.func.min(o.strong_no).label("only"))
        .where(o.visitor_no.in_(sa.select(told.c.visitor_no)))
        .group_by(o.visitor_no)
        .having(sa.func.min(o.strong_no) == sa.func.max(o.strong_no))
        .subquery("settled")
    )
    joined = linked.outerjoin(settled, settled.c.visitor_no == linked.c.visitor_no)
    new = sa.or_(linked.c.low != linked.c.high, settled.c.only.is_distinct_from(linked.c.low))
    return sa.select(linked.c.visitor_no).select_from(joined).where(new)


def _kin() -> sa.CompoundSelect[Any]:
    """Visitors and strong ids of the batch that never met before."""
    told = caches.kin_of(_NUMBERS, _WEAK)
    known = KIN.c.visitor_no.in_(sa.select(told.subquery("told").c.visitor_no))
    return sa.except_(told, sa.select(*KIN.c).where(known))


def _mails() -> sa.CompoundSelect[Any]:
    """E-mails of the batch that somebody has, or seeks by, who did not before."""
    told = caches.mails_of(NUMBERED)
    known = MAILS.c.no.in_(sa.select(told.subquery("told").c.no))
    return sa.except_(told, sa.select(*MAILS.c).where(known))


def _mailed() -> sa.Select[Any]:
    """Workspaces where such an e-mail may change who is part of whom: somebody has it and somebody seeks by it."""
    new, other = _NEW_MAILS.c, MAILS.c
    same = (other.workspace_id == new.workspace_id, other.digest == new.digest)
    both = sa.exists().where(*same, (other.source == "") != (new.source == ""))
    return sa.select(new.workspace_id).where(both).distinct()


def _told() -> sa.CTE:
    """Every link of the batch."""
    own = sa.select(_NUMBERS.c.visitor_no, _NUMBERS.c.strong_no).where(_NUMBERS.c.is_link)
    return sa.union_all(own, sa.select(_WEAK.c.visitor_no, _WEAK.c.strong_no)).cte("told")


def _telling() -> sa.Select[Any]:
    """Workspaces where the batch may change who is part of whom: by an alias or an external id."""
    told = sa.or_(FRESH.c.previous_id.is_not(None), FRESH.c.carries)
    return sa.select(FRESH.c.workspace_id).where(told).distinct()


def _restitched() -> sa.CompoundSelect[Any]:
    """Those, and where a link among some that exist may change it too; looks through all their events."""
    changed = sa.union(
        *(sa.select(table.c.workspace_id).where(table.c.visitor_no.in_(_WHO)) for table in (_NUMBERS, _WEAK))
    )
    matched = sa.or_(EVENTS.c.external_ids.is_not(None), EVENTS.c.event_name == MATCHED)
    found = sa.select(EVENTS.c.workspace_id).where(EVENTS.c.workspace_id.in_(changed), matched)
    seeking = sa.select(MAILS.c.workspace_id).where(MAILS.c.workspace_id.in_(changed), MAILS.c.source != "")
    return sa.union(_telling(), found, seeking)


def _before() -> sa.Select[Any]:
    """What is known of the sessions of the batch. They are sought by one number: by a pair, every row is read."""
    numbers = sa.select(_PARTS.c.session_no)
    return sa.select(SESSIONS).where(
        SESSIONS.c.session_no.in_(numbers), sa.exists().where(_same_session(_PARTS))
    )


def _same_session(table: Any) -> sa.ColumnElement[bool]:
    return sa.and_(SESSIONS.c.session_no == table.c.session_no, SESSIONS.c.is_bot == table.c.is_bot)


def _numbered() -> sa.Select[Any]:
    own = (BATCH.c[f.name] for f in COLUMNS)
    numbers = (_NUMBERS.c[name] for name in ("visitor_no", "strong_no", "session_no"))
    return sa.select(*own, *numbers).join_from(BATCH, _NUMBERS, _NUMBERS.c.row_no == BATCH.c.row_no)


NUMBERED: Final = sa.table("numbered", *(sa.column(c.name, c.type) for c in EVENTS.columns))
"""The new rows of the batch, with their numbers: a table, as a planner misjudges a join to what is told of groups."""

KEEP_FRESH: Final = sa.select(*(BATCH.c[name] for name in _KEPT_OF_FRESH))
COUNT_FRESH: Final = sa.select(sa.func.count()).select_from(FRESH)
KEEP_IDS: Final = _ids()
ADD_IDS: Final = into(IDS, sa.select(_IDS.c.workspace_id, _IDS.c.id, _IDS.c.no).where(_IDS.c.is_new))
KEEP_VISITS: Final = _visits()
KEEP_NUMBERS: Final = _numbers()
KEEP_NUMBERED: Final = _numbered()
ADD_EVENTS: Final = into(EVENTS, sa.select(*(NUMBERED.c[c.name] for c in EVENTS.columns)))
KEEP_PARTS: Final = caches.sessions_of(NUMBERED)
KEEP_BEFORE: Final = _before()
TAKE_BEFORE: Final = sa.delete(SESSIONS).where(sa.exists().where(_same_session(_BEFORE)))
ADD_SESSIONS: Final = into(SESSIONS, caches.merged_sessions(_PARTS, _BEFORE))
ADD_CANDIDATES: Final = into(META.tables["candidates"], caches.candidates_of(NUMBERED))
TAKE_CANDIDATES: Final = caches.no_longer_first(sa.select(_NUMBERS.c.session_no))
ADD_TOLD: Final = into(TOLD, caches.told_of(NUMBERED))
KEEP_WEAK: Final = caches.weak_links_of(NUMBERED, _IDS)
ADD_WEAK: Final = into(WEAK_LINKS, sa.select(_WEAK))
ADD_KIN: Final = into(KIN, _kin())
KEEP_MAILS: Final = _mails()
ADD_MAILS: Final = into(MAILS, sa.select(_NEW_MAILS))
MAILED: Final = _mailed()
KEEP_RELINKED: Final = _relinked()
ANY_RELINKED: Final = sa.select(_RELINKED.c.visitor_no).limit(1)
KEEP_LINKS: Final = caches.links_of(EVENTS, WEAK_LINKS, _WHO)
TAKE_OWNERS: Final = sa.delete(OWNERS).where(OWNERS.c.visitor_no.in_(_WHO))
ADD_OWNERS: Final = into(OWNERS, caches.owners_of(_LINKED))
TELLING: Final = _telling()
RESTITCHED: Final = _restitched()
