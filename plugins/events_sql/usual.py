"""Questions every workspace asks: their sources are compiled when the store opens, while nobody waits."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from uuid import UUID

from sqlalchemy.engine.default import DefaultDialect

from plugins.events_sql.aggregate import statement
from plugins.events_sql.statements import Statements
from service_core.plugin import (
    Aggregate,
    ConversionSet,
    Credit,
    Relation,
    Scan,
    Span,
    Weighting,
    count,
    distinct,
    total,
)

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SPAN: Final = Span(_START, _START + timedelta(days=30))
_SCAN: Final = Scan(UUID(int=0), _SPAN, "USD", "UTC", ConversionSet(frozenset()))
_LAST: Final = Credit(Weighting.LAST, timedelta(days=30), drop_direct=True)
_MEASURES: Final = (
    (count(Relation.EVENTS), distinct("person", Relation.EVENTS)),
    (distinct("visitor_id", Relation.EVENTS), count(Relation.SESSIONS), count(Relation.CONVERSIONS)),
    (total("amount", Relation.MONEY), distinct("person", Relation.MONEY)),
    tuple(total(name, Relation.CREDITS) for name in ("credit", "amount")),
)
_BY: Final = {"events": "entry.channel", "sessions": "entry.channel", "conversions": "entry.channel"}


@cache
def prepare(dialect: Callable[[], DefaultDialect]) -> None:
    """Compile the sources of nearly all questions for a dialect, once in a process."""
    statements = Statements(dialect())
    for measures in _MEASURES:
        statements.render(statement(Aggregate(_SCAN, measures, credit=_LAST)))
    statements.render(statement(Aggregate(_SCAN, _MEASURES[1], (_BY,))))
