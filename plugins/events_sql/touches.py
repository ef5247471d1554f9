"""Touches at query time: which candidates are a visit from somewhere, and from where (`insight.touches`)."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.stitching import person_of
from plugins.events_sql.tables import CANDIDATES, TOUCH_COLUMNS
from service_core.plugin import CAMPAIGN_COLUMNS, Scan

DIRECT: Final = "direct"
_DIRECT: Final = {"attribution_source": "(direct)", "attribution_medium": "(none)", "channel": DIRECT}
CLASSIFIED: Final = {"attribution_source": "source", "attribution_medium": "medium", "channel": "channel"}
"""Columns of the classification, and what each side's name of them ends in."""

_SAME: Final = (
    *("channel", "attribution_source", "attribution_medium"),
    *("utm_campaign", "utm_content", "utm_term", "click_id", "lyr"),
)
_OF_EVENT: Final = ("referrer", "referrer_host", "landing_page", "country")
COLUMNS: Final = (*CLASSIFIED, *CAMPAIGN_COLUMNS, *_OF_EVENT)
"""Columns of a touch, beside ``person_no``, ``at``, ``seq`` and ``is_direct``."""


def touches(scan: Scan, near: sa.TableClause | None = None, persons: sa.Select[Any] | None = None) -> sa.CTE:
    """Every touch of a workspace with its person.

    Args:
        scan: the workspace.
        near: visitors to look at, all of them (`kin.NEAR`).
        persons: whose touches are asked for, by number; the answer may hold others.
    """
    classified = _classified(_told(scan, near, persons))
    c = classified.c
    among = sa.func.count().over(partition_by=c.session_no).label("among")
    found = sa.select(c.person_no, c.session_no, c.at, c.seq, *_values(c), among).where(c.by.is_not(None))
    visit = found.cte("visit")
    columns = [visit.c[name] for name in ("person_no", "at", "seq", *COLUMNS)]
    direct = (visit.c.channel == DIRECT).label("is_direct")
    only = sa.select(*columns, direct).where(visit.c.among == 1)
    same = fn.Row(*(visit.c[column] for column in _SAME))
    before = sa.func.lag(same).over(partition_by=visit.c.session_no, order_by=(visit.c.at, visit.c.seq))
    several = sa.select(*columns, direct, same.is_distinct_from(before).label("differs"))
    compared = several.where(visit.c.among > 1).subquery("compared")
    changes = sa.select(*(column for column in compared.c if column.name != "differs")).where(
        compared.c.differs
    )
    return sa.union_all(only, changes).cte("touches")


def _classified(told: sa.CTE) -> sa.Subquery:
    """Candidates with what classifies them: ``own``, ``referral``, ``nothing``, or NULL for no touch.

    Only a candidate with campaign values can carry those of another; a plain one was kept for being
    the first of its session.
    """
    campaign = fn.Row(*(told.c[column] for column in CAMPAIGN_COLUMNS))
    in_time = (told.c.at, told.c.seq)
    latest = sa.func.lag(campaign).over(partition_by=told.c.person_no, order_by=in_time)
    same = (latest == campaign).label("same")
    seen = sa.select(told, same).where(told.c.marked).subquery()
    carried = sa.and_(seen.c.same, sa.not_(seen.c.campaign_in_url))
    by_referral = sa.case((seen.c.referral_channel.is_not(None), sa.literal("referral")))
    by_own = sa.case((seen.c.own_channel.is_not(None), sa.literal("own")))
    marked = sa.select(
        *(seen.c[column.name] for column in told.c), sa.case((carried, by_referral), else_=by_own).label("by")
    )
    by_nothing = sa.case((told.c.own_channel.is_not(None), sa.literal("own")), else_=sa.literal("nothing"))
    plain = sa.select(*told.c, by_nothing.label("by")).where(sa.not_(told.c.marked))
    return sa.union_all(marked, plain).subquery("classified")


def _told(scan: Scan, near: sa.TableClause | None, persons: sa.Select[Any] | None) -> sa.CTE:
    """Candidates with their persons, and whether they carry campaign values."""
    c = CANDIDATES.c
    source, person_no = person_of(CANDIDATES, scan)
    marked = sa.func.coalesce(*(c[column] for column in CAMPAIGN_COLUMNS)).is_not(None)
    own = [c.workspace_id == scan.workspace_id]
    if near is not None:
        own.append(c.visitor_no.in_(sa.select(near.c.no)))
    if persons is not None:
        own.append(person_no.in_(_involved(scan, persons)))
    places = (person_no.label("person_no"), c.session_no, c.timestamp.label("at"), c.seq)
    columns = (*places, *(c[column] for column in TOUCH_COLUMNS), marked.label("marked"))
    return sa.select(*columns).select_from(source).where(*own).cte("told")


def _involved(scan: Scan, persons: sa.Select[Any]) -> sa.Select[Any]:
    """Everyone with a candidate in a session of some persons: together they decide what is a touch there."""
    c = CANDIDATES.c
    source, person_no = person_of(CANDIDATES, scan)
    columns = (person_no.label("person_no"), c.session_no)
    places = sa.select(*columns).select_from(source).where(c.workspace_id == scan.workspace_id).cte("places")
    theirs = sa.select(places.c.session_no).where(places.c.person_no.in_(persons))
    return sa.select(places.c.person_no).where(places.c.session_no.in_(theirs))


def _values(columns: Any) -> list[Expression]:
    """The columns of a touch, by what classifies it."""
    own, referral = columns.by == "own", columns.by == "referral"
    classified = [
        sa.case(
            (own, columns[f"own_{side}"]),
            (referral, columns[f"referral_{side}"]),
            else_=sa.literal(_DIRECT[column]),
        ).label(column)
        for column, side in CLASSIFIED.items()
    ]
    sent = [sa.case((own, columns[column])).label(column) for column in CAMPAIGN_COLUMNS]
    return [*classified, *sent, *(columns[column] for column in _OF_EVENT)]
