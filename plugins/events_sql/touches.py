"""Touches at query time: which candidates are a visit from somewhere, and from where (`insight.touches`)."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.prepared import WORKSPACE, source
from plugins.events_sql.stitching import on_visits_of, person_of
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


def touches(scan: Scan, near: sa.TableClause | None = None, of: sa.CTE | None = None) -> sa.CTE:
    """Every touch of a workspace with its person.

    Args:
        scan: the workspace.
        near: visitors to look at, all of them (`kin.NEAR`).
        of: units whose persons are asked for; the answer may hold others.
    """
    workspace = {"workspace": scan.workspace_id}
    shape = near.name if near is not None else None, of.name if of is not None else None
    places = [] if of is None else [of, source(_places).cte("places", **workspace)]
    told = source(_told, *shape).cte("told", *places, **workspace)
    visit = source(_visits).cte("visit", told)
    return source(_touches).cte("touches", visit)


def touches_named(name: str) -> sa.TableClause:
    """Touches as a table of a name that something else keeps."""
    return source(_touches).named(name)


def _touches() -> sa.CompoundSelect[Any]:
    """The visits that differ from the one before them in their session."""
    visit = source(_visits).named("visit")
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
    return sa.union_all(only, changes)


def _visits() -> sa.Select[Any]:
    """Candidates that something classifies, and among how many of their session."""
    classified = _classified(source(_told, None, None).named("told"))
    c = classified.c
    among = sa.func.count().over(partition_by=c.session_no).label("among")
    return sa.select(c.person_no, c.session_no, c.at, c.seq, *_values(c), among).where(c.by.is_not(None))


def _classified(told: sa.TableClause) -> sa.Subquery:
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


def _told(near: str | None, units: str | None) -> sa.Select[Any]:
    """Candidates with their persons, and whether they carry campaign values."""
    c = CANDIDATES.c
    joined, person_no = person_of(CANDIDATES, near)
    marked = sa.func.coalesce(*(c[column] for column in CAMPAIGN_COLUMNS)).is_not(None)
    own = [c.workspace_id == WORKSPACE]
    if near is not None:
        own = [fn.Implied(*own), on_visits_of(near, c.session_no)]
    if units is not None:
        own.append(person_no.in_(_involved(sa.table(units, sa.column("person_no")))))
    places = (person_no.label("person_no"), c.session_no, c.timestamp.label("at"), c.seq)
    columns = (*places, *(c[column] for column in TOUCH_COLUMNS), marked.label("marked"))
    return sa.select(*columns).select_from(joined).where(*own)


def _involved(units: sa.TableClause) -> sa.Select[Any]:
    """Everyone with a candidate in a session of some persons: together they decide what is a touch there."""
    places = source(_places).named("places")
    theirs = sa.select(places.c.session_no).where(places.c.person_no.in_(sa.select(units.c.person_no)))
    return sa.select(places.c.person_no).where(places.c.session_no.in_(theirs))


def _places() -> sa.Select[Any]:
    """Whose candidate stands in which session."""
    joined, person_no = person_of(CANDIDATES)
    columns = (person_no.label("person_no"), CANDIDATES.c.session_no)
    return sa.select(*columns).select_from(joined).where(CANDIDATES.c.workspace_id == WORKSPACE)


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
