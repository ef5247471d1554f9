"""The relations as sources of rows: where they come from, and what their columns are called in SQL.

A source joins a table only when a column of it is asked for. Columns are those of
`insight.measures.Relation`; a name the relation does not have is a ValueError.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression, Value, meets, of_column, of_data
from plugins.events_sql.facts import converts
from plugins.events_sql.kin import DEEDS
from plugins.events_sql.lean import Once
from plugins.events_sql.orders import repeated_conversions
from plugins.events_sql.prepared import END, START, WORKSPACE, source, told
from plugins.events_sql.rows import naive
from plugins.events_sql.sessions import entries, first_seen, sessions
from plugins.events_sql.stitching import person_names, person_no
from plugins.events_sql.tables import ENTRY_COLUMNS, ENTRY_PREFIX, EVENTS
from service_core.plugin import CHARGE_PARTS, REPEAT, Predicate, Scan, Span

DATA: Final = "data:"
ENTRY: Final = "entry."


class Rows:
    """Rows of a relation: a FROM clause that grows with the columns asked for, and conditions.

    Attributes:
        at: the instant a row counts at.
        where: what every row meets.
        span: what its events lie in, unless what they tell counts at another instant than theirs.
    """

    at: Expression
    table: sa.FromClause
    span: Span | None = None

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.where: list[Expression] = []
        self._from: sa.FromClause = self.table
        self._joined: dict[str, sa.FromClause] = {}
        self._met: dict[tuple[Predicate, str], Expression] = {}

    @property
    def source(self) -> sa.FromClause:
        """What to select from, once every column was asked for."""
        return self._from

    def column(self, name: str) -> Expression:
        """One column, or the first of ``a|b`` that is set."""
        if name.startswith(DATA):
            text = self.value(name).text
            return sa.null() if text is None else text
        found = [self.single(part) for part in name.split("|")]
        return found[0] if len(found) == 1 else sa.func.coalesce(*found)

    def key(self, name: str) -> Expression:
        """Something that differs where the column differs, and is cheaper to count."""
        return self.column(name)

    def value(self, name: str) -> Value:
        """A column as predicates see it."""
        if name.startswith(DATA):
            return of_data(self.single("event_data"), name.removeprefix(DATA))
        return of_column(self.column(name))

    def met(self, predicate: Predicate) -> Expression:
        """The condition that a row meets a predicate."""
        key = predicate, repr(predicate.value)  # 1, 1.0 and true are equal to Python
        if key not in self._met:
            self._met[key] = Once(meets(self.value(predicate.column), predicate))
        return self._met[key]

    def single(self, name: str) -> Expression:
        """One column of the relation."""
        raise ValueError(f"no column {name!r} in this relation")

    def join(self, name: str, table: Callable[[], Any], on: Callable[[Any], Expression]) -> Any:
        """Join a table once, keeping every row."""
        if name not in self._joined:
            joined = table()
            self._joined[name] = joined
            self._from = self._from.outerjoin(joined, on(joined))
        return self._joined[name]

    def entry(self, name: str, session_no: Expression) -> Expression:
        """A column of the session's first event."""
        kept = self.join("entry", lambda: entries(self.scan), lambda s: s.c.session_no == session_no)
        if name in ENTRY_COLUMNS:
            return column_of(kept, ENTRY_PREFIX + name)
        first = self.join(
            "entry_event",
            lambda: EVENTS.alias("entry_event"),
            lambda e: sa.and_(
                e.c.session_no == kept.c.session_no,
                e.c.seq == kept.c.first_seq,
                e.c.timestamp == kept.c.first_at,
            ),
        )
        return column_of(first, name)

    @cached_property
    def person_no(self) -> Expression:
        """Number of the person a row belongs to, looked up unless the table tells it (`kin`)."""
        own = "person_no"
        return self.table.c[own] if own in self.table.c else person_no(self, self.table)

    def is_new(self, visitor_no: Expression) -> Expression:
        """Whether the visitor's first event ever lies in the range."""
        first = self.join("visitor", lambda: first_seen(self.scan), lambda v: v.c.visitor_no == visitor_no)
        return within(first.c.first_at, self.scan.span)


class EventRows(Rows):
    """EVENTS, and CONVERSIONS over a narrower table of the same columns."""

    def __init__(self, scan: Scan, span: Span, table: sa.FromClause = EVENTS) -> None:
        self.table = table
        self.at = table.c.timestamp
        self.span = span
        super().__init__(scan)
        self.where += [table.c.workspace_id == scan.workspace_id, *between(self.at, span)]
        if not scan.include_bots:
            self.where.append(sa.not_(table.c.is_bot))

    def key(self, name: str) -> Expression:
        """Numbers stand for visitors, sessions and persons."""
        if name == "visitor_id":
            return self.table.c.visitor_no
        return self.person_no if name == "person" else self.column(name)

    def single(self, name: str) -> Expression:
        """A column of the event, of its session's first event, or about its visitor or person."""
        if name.startswith(ENTRY):
            return self.entry(name.removeprefix(ENTRY), self.table.c.session_no)
        if name == "session":
            return self.table.c.session_no
        if name == "visitor_is_new":
            return self.is_new(self.table.c.visitor_no)
        if name in {"person", "identified"}:
            named = person_names(self, self.person_no)
            return named if name == "person" else fn.Starts(named, sa.literal("u:"))
        return column_of(self.table, name)


class SessionRows(Rows):
    """SESSIONS."""

    def __init__(self, scan: Scan, span: Span) -> None:
        self.table = sessions(scan)
        self.at = self.table.c.first_at
        super().__init__(scan)
        self.where += between(self.at, span)

    def key(self, name: str) -> Expression:
        """Numbers stand for visitors."""
        return self.table.c.visitor_no if name == "visitor_id" else self.column(name)

    def single(self, name: str) -> Expression:
        """A fact of the session, or a column of its first event."""
        if name.startswith(ENTRY):
            column = name.removeprefix(ENTRY)
            if column in ENTRY_COLUMNS:
                return column_of(self.table, ENTRY_PREFIX + column)
            return self.entry(column, self.table.c.session_no)
        if name == "visitor_is_new":
            return self.is_new(self.table.c.visitor_no)
        if name not in {
            "visitor_id",
            "pageviews",
            "events",
            "duration",
            "bounced",
            "engaged",
            "has_cart",
            "has_purchase",
        }:
            return super().single(name)
        return column_of(self.table, name)


_COMBINATIONS: Final = 512
_NEEDED: Final = (
    *("timestamp", "seq", "event_name", "revenue", "currency", "order_id", "source", "is_bot"),
    *("workspace_id", "visitor_id", "visitor_no", "strong_no", "session_no"),
    *("payment_id", "message_id", *CHARGE_PARTS),
)


@lru_cache(_COMBINATIONS)
def needed(used: frozenset[str]) -> tuple[str, ...]:
    """The columns of an event a part needs: some always, the others when a plan asks for them."""
    asked = {"event_data" if name.startswith(DATA) else name for name in used}
    return tuple(c.name for c in EVENTS.columns if c.name in _NEEDED or c.name in asked)


def used_by(scan: Scan) -> frozenset[str]:
    """Columns of an event that the filters of a scan look at."""
    return frozenset(part for p in scan.filters for part in p.column.split("|"))


def conversions(scan: Scan, span: Span, *, few: frozenset[str] | None = None) -> sa.FromClause:
    """Events that convert, one per name and order within 7 days; repeats are sought that far back.

    Args:
        scan: the workspace, and what converts.
        span: instants they lie in.
        few: look at `kin.DEEDS` alone, and tell these columns; else all, as engines read no others than
            those that are asked for.
    """
    names = tuple(c.name for c in EVENTS.columns) if few is None else (*needed(few), *told_of(few=True))
    shape = (scan.conversions.any_revenue, few is not None, *names)
    return source(_conversions, *shape).under("conversions", **told(scan, with_repeats(span)))


def with_repeats(span: Span) -> Span:
    """A span and the time before it in which a conversion makes another a repeat."""
    return Span(max(span.start, _DAWN + REPEAT) - REPEAT, span.end)


def _conversions(any_revenue: bool, few: bool, *names: str) -> sa.Select[Any]:
    table = looked_through(few)
    c = table.c
    return (
        sa.select(*(c[name] for name in names))
        .where(c.workspace_id == WORKSPACE, c.timestamp >= START, c.timestamp < END)
        .where(converts(c, any_revenue=any_revenue))
        .where(c.seq.not_in(repeated_conversions(table, START.key, any_revenue=any_revenue)))
    )


def all_time() -> Span:
    """From before the first event to after the last."""
    return Span(_DAWN, _DUSK)


_DAWN: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DUSK: Final = datetime(9999, 1, 1, tzinfo=UTC)


def looked_through(few: bool) -> Any:
    """The events that are looked at: `kin.DEEDS` of a few persons, or all."""
    return DEEDS if few else EVENTS


def told_of(few: bool) -> tuple[str, ...]:
    """What is told of events there beside their own columns."""
    return ("person_no",) if few else ()


def between(at: Expression, span: Span) -> list[Expression]:
    """The conditions that an instant lies in a span."""
    return [at >= sa.literal(naive(span.start)), at < sa.literal(naive(span.end))]


def within(at: Expression, span: Span) -> Expression:
    """Whether an instant lies in a span; an unknown one does not."""
    return sa.func.coalesce(sa.and_(*between(at, span)), sa.false())


def column_of(table: Any, name: str) -> Expression:
    """A column of what is read.

    Raises:
        ValueError: it has none of that name.
    """
    if name not in table.c:
        raise ValueError(f"no column {name!r} in this relation")
    found: Expression = table.c[name]
    return found
