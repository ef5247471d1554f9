"""Computes touches at query time: which candidates are a visit from a source, and from which."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.identity.identity_resolution import is_session_of_visitors, joined_to_person
from plugins.events_sql.schema.tables import TOUCH_CANDIDATES, TOUCH_COLUMNS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WORKSPACE, compiled_source
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import CAMPAIGN_COLUMNS, QueryScope

DIRECT: Final = "direct"
_DIRECT_VALUES: Final = {"attribution_source": "(direct)", "attribution_medium": "(none)", "channel": DIRECT}
CLASSIFICATION_COLUMNS: Final = {
    "attribution_source": "source",
    "attribution_medium": "medium",
    "channel": "channel",
}
"""Columns of the classification -> the suffix of the candidate's columns for each way to classify it."""

_SAME_TOUCH_COLUMNS: Final = (
    *("channel", "attribution_source", "attribution_medium"),
    *("utm_campaign", "utm_content", "utm_term", "click_id", "lyr"),
)
_EVENT_COLUMNS: Final = ("referrer", "referrer_host", "landing_page", "country")
TOUCH_VALUE_COLUMNS: Final = (*CLASSIFICATION_COLUMNS, *CAMPAIGN_COLUMNS, *_EVENT_COLUMNS)
"""Columns of a touch, besides ``person_no``, ``at``, ``seq`` and ``is_direct``."""


def all_touches_with_person(
    scope: QueryScope,
    only_visitors: sa.TableClause | None = None,
    only_persons_of: sa.TableClause | None = None,
) -> sa.CTE:
    """Returns every touch of a workspace with its person.

    Args:
        scope: the workspace.
        only_visitors: table of the visitors to read (`related_visitors.RELATED_VISITORS`); None for all.
        only_persons_of: table of units whose persons are needed; the result may include others.
    """
    workspace = {"workspace": scope.workspace_id}
    shape = (
        only_visitors.name if only_visitors is not None else None,
        only_persons_of.name if only_persons_of is not None else None,
    )
    places = (
        []
        if only_persons_of is None
        else [compiled_source(_person_and_session_per_candidate).as_cte("places", **workspace)]
    )
    candidates = compiled_source(_candidates_with_person, *shape).as_cte("candidates", *places, **workspace)
    visit = compiled_source(_classified_visits, True).as_cte("visit", candidates)
    return compiled_source(_visits_unlike_previous_of_session).as_cte("touches", visit)


def first_touch_per_person(
    scope: QueryScope,
    only_visitors: sa.TableClause | None = None,
    only_persons_of: sa.TableClause | None = None,
) -> sa.Select[Any]:
    """Selects the first touch of every person; arguments as in `all_touches_with_person`."""
    touch = all_touches_with_person(scope, only_visitors, only_persons_of)
    place = sa.func.row_number().over(partition_by=touch.c.person_no, order_by=(touch.c.at, touch.c.seq))
    numbered = sa.select(touch, place.label("place")).subquery()
    columns = [numbered.c[name] for name in ("person_no", "at", *TOUCH_VALUE_COLUMNS)]
    return sa.select(*columns).where(numbered.c.place == 1)


def touches_table(name: str) -> sa.TableClause:
    """Returns a table clause with the columns of `all_touches_with_person`, for a table of another name."""
    return compiled_source(_visits_unlike_previous_of_session).as_table(name)


def touches_of_candidates_query(*candidate_tables: str, may_repeat_campaigns: bool) -> sa.Select[Any]:
    """Selects the touches among the candidates of temporary tables (`candidates_with_person`).

    Args:
        candidate_tables: the names of the tables.
        may_repeat_campaigns: whether a candidate has a campaign that is not in its URL.
    """
    candidates = compiled_source(_candidates_of_tables, *candidate_tables).as_cte("candidates")
    visit = compiled_source(_classified_visits, may_repeat_campaigns).as_cte("visit", candidates)
    touches = compiled_source(_visits_unlike_previous_of_session).as_subquery("touches", visit)
    return sa.select(*touches.c)


def _candidates_of_tables(*names: str) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    tables = [compiled_source(_candidates_with_person, None, None).as_table(name) for name in names]
    queries = [sa.select(*table.c) for table in tables]
    return queries[0] if len(queries) == 1 else sa.union_all(*queries)


def _visits_unlike_previous_of_session() -> sa.CompoundSelect[Any]:
    """Selects the visits that differ from the previous visit of their session; nearly all sessions have one visit."""
    visit = compiled_source(_classified_visits, True).as_table("visit")
    many = (
        sa.select(visit.c.session_no)
        .group_by(visit.c.session_no)
        .having(sa.func.count() > 1)
        .subquery("many")
    )
    columns = [visit.c[name] for name in ("person_no", "at", "seq", *TOUCH_VALUE_COLUMNS)]
    direct = (visit.c.channel == DIRECT).label("is_direct")
    joined = visit.outerjoin(many, many.c.session_no == visit.c.session_no)
    only = sa.select(*columns, direct).select_from(joined).where(many.c.session_no.is_(None))
    same = fn.TupleKey(*(visit.c[column] for column in _SAME_TOUCH_COLUMNS))
    before = sa.func.lag(same).over(partition_by=visit.c.session_no, order_by=(visit.c.at, visit.c.seq))
    several = sa.select(*columns, direct, same.is_distinct_from(before).label("differs"))
    compared = several.join_from(visit, many, many.c.session_no == visit.c.session_no).subquery("compared")
    changes = sa.select(*(column for column in compared.c if column.name != "differs")).where(
        compared.c.differs
    )
    return sa.union_all(only, changes)


def _classified_visits(may_repeat_campaigns: bool) -> sa.Select[Any]:
    """Selects candidates that are classified."""
    candidates = compiled_source(_candidates_with_person, None, None).as_table("candidates")
    c = _candidates_with_classification(candidates, may_repeat_campaigns).c
    return sa.select(c.person_no, c.session_no, c.at, c.seq, *_touch_value_columns(c)).where(
        c.by.is_not(None)
    )


def _candidates_with_classification(candidates: sa.TableClause, may_repeat_campaigns: bool) -> sa.Subquery:
    """Returns candidates with how they are classified: ``own``, ``referral``, ``nothing``, or NULL for no touch.

    Only a candidate with campaign values can repeat those of another one; a candidate without them is stored
    because it is the first of its session.
    """
    by_own = sa.case((candidates.c.own_channel.is_not(None), sa.literal("own")))
    by_nothing = sa.func.coalesce(by_own, sa.literal("nothing"))
    if not may_repeat_campaigns:
        by = sa.case((candidates.c.marked, by_own), else_=by_nothing)
        return sa.select(*candidates.c, by.label("by")).subquery("classified")
    campaign = fn.TupleKey(*(candidates.c[column] for column in CAMPAIGN_COLUMNS))
    in_time = (candidates.c.at, candidates.c.seq)
    latest = sa.func.lag(campaign).over(partition_by=candidates.c.person_no, order_by=in_time)
    same = (latest == campaign).label("same")
    marked_candidates = sa.select(candidates, same).where(candidates.c.marked).subquery()
    carried = sa.and_(marked_candidates.c.same, sa.not_(marked_candidates.c.campaign_in_url))
    by_referral = sa.case((marked_candidates.c.referral_channel.is_not(None), sa.literal("referral")))
    by_own_if_marked = sa.case((marked_candidates.c.own_channel.is_not(None), sa.literal("own")))
    marked = sa.select(
        *(marked_candidates.c[column.name] for column in candidates.c),
        sa.case((carried, by_referral), else_=by_own_if_marked).label("by"),
    )
    plain = sa.select(*candidates.c, by_nothing.label("by")).where(sa.not_(candidates.c.marked))
    return sa.union_all(marked, plain).subquery("classified")


def _candidates_with_person(visitors_table: str | None, conversions_table: str | None) -> sa.Select[Any]:
    """Selects candidates with their persons, and whether they have campaign values."""
    c = TOUCH_CANDIDATES.c
    conditions: list[Expression] = [c.workspace_id == WORKSPACE]
    if visitors_table is not None:
        conditions = [
            fn.RedundantCondition(*conditions),
            is_session_of_visitors(visitors_table, c.session_no),
        ]
    persons = (
        None
        if conversions_table is None
        else _persons_sharing_sessions_with(sa.table(conversions_table, sa.column("person_no")))
    )
    return candidates_with_person(*conditions, visitors_table=visitors_table, only_persons=persons)


def candidates_with_person(
    *conditions: Expression,
    visitors_table: str | None = None,
    only_marked: bool = False,
    only_persons: sa.Select[Any] | None = None,
) -> sa.Select[Any]:
    """Selects candidates with their persons, and whether they have campaign values.

    Args:
        conditions: on the columns of the candidates.
        visitors_table: name of a table with all visitors of these candidates, when they are few.
        only_marked: leave out candidates without campaign values.
        only_persons: the numbers of the persons; None for all.
    """
    c = TOUCH_CANDIDATES.c
    joined, person_no = joined_to_person(TOUCH_CANDIDATES, visitors_table)
    marked = sa.func.coalesce(*(c[column] for column in CAMPAIGN_COLUMNS)).is_not(None)
    where = [
        *conditions,
        *([marked] if only_marked else []),
        *([] if only_persons is None else [person_no.in_(only_persons)]),
    ]
    places = (person_no.label("person_no"), c.session_no, c.timestamp.label("at"), c.seq)
    columns = (*places, *(c[column] for column in TOUCH_COLUMNS), marked.label("marked"))
    return sa.select(*columns).select_from(joined).where(*where)


def _persons_sharing_sessions_with(conversions: sa.TableClause) -> sa.Select[Any]:
    """Selects all persons with a candidate in a session of the given units: they decide together what is a touch there."""
    places = compiled_source(_person_and_session_per_candidate).as_table("places")
    sessions = sa.select(places.c.session_no).where(
        places.c.person_no.in_(sa.select(conversions.c.person_no))
    )
    return sa.select(places.c.person_no).where(places.c.session_no.in_(sessions))


def _person_and_session_per_candidate() -> sa.Select[Any]:
    """Selects the person and the session of each candidate."""
    joined, person_no = joined_to_person(TOUCH_CANDIDATES)
    columns = (person_no.label("person_no"), TOUCH_CANDIDATES.c.session_no)
    return sa.select(*columns).select_from(joined).where(TOUCH_CANDIDATES.c.workspace_id == WORKSPACE)


def _touch_value_columns(candidate_columns: Any) -> list[Expression]:
    """Returns the columns of a touch, by how it is classified."""
    is_own, referral = candidate_columns.by == "own", candidate_columns.by == "referral"
    classified = [
        sa.case(
            (is_own, candidate_columns[f"own_{side}"]),
            (referral, candidate_columns[f"referral_{side}"]),
            else_=sa.literal(_DIRECT_VALUES[column]),
        ).label(column)
        for column, side in CLASSIFICATION_COLUMNS.items()
    ]
    sent = [sa.case((is_own, candidate_columns[column])).label(column) for column in CAMPAIGN_COLUMNS]
    return [*classified, *sent, *(candidate_columns[column] for column in _EVENT_COLUMNS)]
