"""Questions every workspace asks: they are built when a store opens, while nobody waits.

They are what the API asks when nothing is said but a range; the others find at least their sources.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

from plugins.events_sql.aggregate import statement
from plugins.events_sql.cohorts import cohorts
from plugins.events_sql.journey import journey
from plugins.events_sql.log import properties
from plugins.events_sql.people import gather, shown
from plugins.events_sql.statements import Built, Statement, Statements
from plugins.events_sql.walks import ordered
from service_core.plugin import (
    Aggregate,
    Buckets,
    CohortPlan,
    ConversionSet,
    Credit,
    FunnelPlan,
    JourneyPlan,
    PeoplePage,
    Predicate,
    Relation,
    Scan,
    Span,
    Unit,
    Weighting,
    count,
    distinct,
    total,
)

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SPAN: Final = Span(_START, _START + timedelta(days=30))
_SCAN: Final = Scan(UUID(int=0), _SPAN, "USD", "UTC", ConversionSet(frozenset()))
_LAST: Final = Credit(Weighting.LAST, timedelta(days=30), drop_direct=True)
_RULES: Final = (
    _LAST,
    *(replace(_LAST, weighting=weighting) for weighting in (Weighting.EVEN, Weighting.ENDS, Weighting.DECAY)),
    *(replace(_LAST, weighting=one, drop_direct=False) for one in (Weighting.FIRST, Weighting.LAST)),
)
_MEASURES: Final = (
    (count(Relation.EVENTS), distinct("person", Relation.EVENTS)),
    (distinct("visitor_id", Relation.EVENTS), count(Relation.SESSIONS), count(Relation.CONVERSIONS)),
    (total("amount", Relation.MONEY), distinct("person", Relation.MONEY)),
    (distinct("person", Relation.MONEY, Predicate("first_order", value=True)),),
    (count(Relation.CREDITS, Predicate("first_order", value=True)),),
)
_CREDITS: Final = tuple(total(name, Relation.CREDITS) for name in ("credit", "amount"))
_VIEWS: Final = frozenset({"page_view"})
_FUNNELS: Final = tuple((steps, excluded) for steps in (2, 3, 4, 5) for excluded in (None, _VIEWS))
_KEYS: Final = 100
_BY: Final = {"events": "entry.channel", "sessions": "entry.channel", "conversions": "entry.channel"}


class _Rehearsal:
    """What questions are asked of when nobody wants to know: their statements are built, and there is nothing."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def rows(self, asked: Statement | Built) -> list[Any]:
        """Nothing."""
        self._statements.render(asked)
        return []

    def keep(self, _: str, asked: Statement | Built) -> None:
        """Nothing."""
        self._statements.render(asked)


@cache
def prepare(statements: Statements) -> None:
    """Build nearly all sources, and the reads of many statements, once in a process."""
    rehearsal: Any = _Rehearsal(statements)
    for measures in _MEASURES:
        rehearsal.rows(statement(Aggregate(_SCAN, measures, credit=_LAST)))
    for rule in _RULES:
        rehearsal.rows(statement(Aggregate(_SCAN, _CREDITS, credit=rule)))
    rehearsal.rows(statement(Aggregate(_SCAN, _MEASURES[1], (_BY,))))
    for steps, excluded in _FUNNELS:
        funnel = FunnelPlan(_SCAN, (_VIEWS,) * steps, timedelta(days=7), _SPAN.end, exclude=excluded)
        rehearsal.rows(ordered(funnel))
    properties(_SCAN, _KEYS, rehearsal)
    page = PeoplePage(_SCAN, limit=50, offset=0, sort="last_seen")
    gather(page, rehearsal)
    shown(page, rehearsal)
    journey(JourneyPlan(_SCAN, "", timedelta(days=30), 1), rehearsal)
    for unit, length in ((Unit.DAY, timedelta(days=1)), (Unit.WEEK, timedelta(weeks=1))):
        series = Buckets(unit, (_START,), _START + length)
        cohorts(CohortPlan(_SCAN, series, series), rehearsal)
