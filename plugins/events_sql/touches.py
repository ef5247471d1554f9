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
_CLASSIFIED: Final = {"attribution_source": "source", "attribution_medium": "medium", "channel": "channel"}
_SAME: Final = (
    *("channel", "attribution_source", "attribution_medium"),
    *("utm_campaign", "utm_content", "utm_term", "click_id", "lyr"),
)
_OF_EVENT: Final = ("referrer", "referrer_host", "landing_page", "country")
COLUMNS: Final = (*_CLASSIFIED, *CAMPAIGN_COLUMNS, *_OF_EVENT)
"""Columns of a touch, beside ``person_no``, ``at``, ``seq`` and ``is_direct``."""


def touches(scan: Scan, visitors: list[int] | None = None) -> sa.Subquery:
    """Every touch of a workspace with its person, or of some visitors that make whole persons."""
    classified = _classified(scan, visitors)
    kinds = sa.select(classified).where(classified.c.by.is_not(None)).subquery()
    visit = sa.select(
        kinds.c.person_no, kinds.c.session_no, kinds.c.at, kinds.c.seq, *_values(kinds.c)
    ).subquery()
    same = fn.Row(*(visit.c[column] for column in _SAME))
    before = sa.func.lag(same).over(partition_by=visit.c.session_no, order_by=(visit.c.at, visit.c.seq))
    compared = sa.select(visit, same.is_distinct_from(before).label("differs")).subquery()
    return (
        sa.select(
            compared.c.person_no,
            compared.c.at,
            compared.c.seq,
            *(compared.c[column] for column in COLUMNS),
            (compared.c.channel == DIRECT).label("is_direct"),
        )
        .where(compared.c.differs)
        .subquery("touches")
    )


def _classified(scan: Scan, visitors: list[int] | None) -> sa.Subquery:
    """Candidates with what classifies them: ``own``, ``referral``, ``nothing``, or NULL for no touch."""
    c = CANDIDATES.c
    source, person_no = person_of(CANDIDATES, scan)
    campaign = fn.Row(*(c[column] for column in CAMPAIGN_COLUMNS))
    marked = sa.func.coalesce(*(c[column] for column in CAMPAIGN_COLUMNS)).is_not(None)
    few = [] if visitors is None else [fn.Listed(c.visitor_no, sa.literal(visitors, sa.ARRAY(sa.BigInteger)))]
    told = (
        sa.select(
            person_no.label("person_no"),
            c.session_no,
            c.timestamp.label("at"),
            c.seq,
            *(c[column] for column in TOUCH_COLUMNS),
            marked.label("marked"),
            campaign.label("campaign"),
        )
        .select_from(source)
        .where(c.workspace_id == scan.workspace_id, *few)
        .subquery()
    )
    in_time = (told.c.at, told.c.seq)
    latest = sa.func.lag(told.c.campaign).over(
        partition_by=(told.c.person_no, told.c.marked), order_by=in_time
    )
    place = sa.func.row_number().over(partition_by=told.c.session_no, order_by=in_time)
    seen = sa.select(told, latest.label("latest"), place.label("place")).subquery()
    carried = sa.and_(seen.c.marked, seen.c.latest == seen.c.campaign, sa.not_(seen.c.campaign_in_url))
    by = sa.case(
        (carried, sa.case((seen.c.referral_channel.is_not(None), sa.literal("referral")))),
        (seen.c.own_channel.is_not(None), sa.literal("own")),
        (seen.c.place == 1, sa.literal("nothing")),
    )
    return sa.select(seen, by.label("by")).subquery()


def _values(columns: Any) -> list[Expression]:
    """The columns of a touch, by what classifies it."""
    own, referral = columns.by == "own", columns.by == "referral"
    classified = [
        sa.case(
            (own, columns[f"own_{side}"]),
            (referral, columns[f"referral_{side}"]),
            else_=sa.literal(_DIRECT[column]),
        ).label(column)
        for column, side in _CLASSIFIED.items()
    ]
    sent = [sa.case((own, columns[column])).label(column) for column in CAMPAIGN_COLUMNS]
    return [*classified, *sent, *(columns[column] for column in _OF_EVENT)]
