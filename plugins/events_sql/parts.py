"""One relation's part of an aggregate: a single scan that answers every leaf counted over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.credits import CreditRows
from plugins.events_sql.lean import Fixed, Grouped, Tally
from plugins.events_sql.ledger import MoneyRows
from plugins.events_sql.periods import bucket_index, local_days, trailing_windows
from plugins.events_sql.presence import PresentRows, told_by_sessions
from plugins.events_sql.relations import EventRows, Rows, SessionRows, conversions
from service_core.plugin import Aggregate, Leaf, Predicate, Relation, Scan, Span

BUCKET: Final = "b"
_NOTHING: Final = Fixed(sa.literal_column("0", sa.BigInteger))
_ROW: Final = Fixed(sa.literal_column("*"))


def keys(plan: Aggregate) -> list[str]:
    """Names of the columns that make a group, in order."""
    bucket = [BUCKET] if plan.buckets else []
    return [*bucket, *(f"d{i}" for i in range(len(plan.dimensions)))]


@dataclass(frozen=True)
class Part:
    """The leaves of a plan over one relation, one number of trailing days and one kind of rows.

    Attributes:
        leaves: all leaves of the plan; a part gives 0 for those that are not ``own``.
        own: positions of the leaves it counts.
    """

    plan: Aggregate
    leaves: Sequence[Leaf]
    own: Sequence[int]

    def statement(self) -> Grouped:
        """Every group that a leaf met, with the values of all leaves."""
        if self._windows and self.plan.buckets:
            return self._in_windows()
        bucket = [bucket_index(self._rows.at, self.plan.buckets.stretches())] if self.plan.buckets else []
        values = [self._counted(i) if i in self.own else _NOTHING for i in range(len(self.leaves))]
        group = dict(zip(keys(self.plan), [*bucket, *self._dimensions], strict=True))
        where = self._where()
        return Grouped({**group, **_named(values)}, self._rows.source, where, len(group))

    @property
    def _relation(self) -> Relation:
        return self.leaves[self.own[0]].of

    @cached_property
    def _windows(self) -> list[tuple[int, Span]]:
        """The days every bucket looks back over, when it does."""
        days = self.leaves[self.own[0]].trailing_days
        return [] if days is None else trailing_windows(self.plan.scan, self.plan.buckets, days)

    @property
    def _span(self) -> Span:
        if not self._windows:
            return self.plan.scan.span
        return Span(min(w.start for _, w in self._windows), max(w.end for _, w in self._windows))

    @cached_property
    def _rows(self) -> Rows:
        scan, span, whole = self.plan.scan, self._span, self._asks_for("first_order")
        if self._relation is Relation.CREDITS and self.plan.credit:
            return CreditRows(scan, span, self.plan.credit, whole=whole)
        if told_by_sessions(self.plan, self.leaves[self.own[0]]):
            return PresentRows(scan, span)
        return _rows_of(self._relation, scan, span, whole=whole)

    def _asks_for(self, column: str) -> bool:
        """Whether the part looks at a column."""
        predicates = [*self.plan.scan.filters, *(p for i in self.own for p in self.leaves[i].where)]
        counted = (self.leaves[i].column for i in self.own)
        grouped = (dimension.get(self._relation) for dimension in self.plan.dimensions)
        names = (*(p.column for p in predicates), *counted, *grouped)
        return any(column in name.split("|") for name in names if name)

    @cached_property
    def _dimensions(self) -> list[Expression]:
        asked = (dimension.get(self._relation) for dimension in self.plan.dimensions)
        absent = sa.cast(sa.null(), sa.Text)
        return [absent if column is None else self._rows.column(column) for column in asked]

    @cached_property
    def _common(self) -> tuple[Predicate, ...]:
        """The conditions that all leaves have: met once by every row instead of by each leaf."""
        first, *others = (self.leaves[i].where for i in self.own)
        return tuple(p for p in first if all(p in where for where in others))

    @cached_property
    def _further(self) -> dict[int, list[Expression]]:
        """The conditions that only some leaves have, by leaf."""
        further = {i: [p for p in self.leaves[i].where if p not in self._common] for i in self.own}
        return {i: [*map(self._rows.met, found)] for i, found in further.items() if found}

    @cached_property
    def _met(self) -> dict[int, Expression]:
        return {i: sa.and_(*conditions) for i, conditions in self._further.items()}

    def _where(self) -> list[Expression]:
        """What a row meets that any leaf counts."""
        where = [*map(self._rows.met, (*self.plan.scan.filters, *self._common))]
        if len(self._further) == len(self.own):
            where.append(sa.or_(*self._least()))
        return [*self._rows.where, *where]

    def _least(self) -> list[Expression]:
        """The further conditions of the leaves without those that are others and more."""
        sets = {frozenset(conditions): self._met[i] for i, conditions in self._further.items()}
        return [met for one, met in sets.items() if not any(other < one for other in sets)]

    def _counted(self, i: int) -> Expression:
        """A leaf over the rows of its group that meet its conditions."""
        leaf, met = self.leaves[i], self._met.get(i)
        if leaf.column is None:
            return shown(Tally("count(", _ROW, met), leaf)
        if leaf.distinct:
            return shown(Tally("count(DISTINCT ", self._rows.key(leaf.column), met), leaf)
        return shown(Tally("sum(", _number(self._rows.column(leaf.column)), met), leaf)

    def _in_windows(self) -> Grouped:
        """A trailing measure: each row counts in every bucket that looks back as far as it."""
        found, look = self._by_day(), self._looks()
        values = [
            _over_window(leaf, found.c[f"v{i}"]) if i in self.own else _NOTHING
            for i, leaf in enumerate(self.leaves)
        ]
        group = {BUCKET: look.c.b, **{key: found.c[key] for key in keys(self.plan)[1:]}}
        joined = found.join(look, sa.and_(found.c.day >= look.c.first, found.c.day <= look.c.last))
        return Grouped({**group, **_named(values)}, joined, (), len(group))

    def _by_day(self) -> sa.Subquery:
        """What every row gives to the leaves, by local day; each different key once."""
        values = [self._given(i).label(f"v{i}") for i in self.own]
        days = local_days(self.plan.scan, self._span).stretches()
        group = zip(keys(self.plan)[1:], self._dimensions, strict=True)
        columns = [bucket_index(self._rows.at, days).label("day"), *(c.label(key) for key, c in group)]
        where = self._where()
        seen = sa.select(*columns, *values).select_from(self._rows.source).where(*where)
        every = all(self.leaves[i].distinct for i in self.own)
        return (seen.distinct() if every else seen).subquery("seen")

    def _given(self, i: int) -> Expression:
        """What a row gives to a leaf: its distinct key, its number, or 1."""
        leaf, met = self.leaves[i], self._met.get(i)
        if leaf.column is None:
            given: Expression = sa.literal_column("1", sa.BigInteger)
        else:
            given = self._rows.key(leaf.column) if leaf.distinct else _number(self._rows.column(leaf.column))
        return given if met is None else sa.case((met, given))

    def _looks(self) -> sa.Subquery:
        """First and last local day of every bucket's window."""
        days = local_days(self.plan.scan, self._span)
        ends = (*days.starts[1:], days.end)
        listed = {
            "b": [index for index, _ in self._windows],
            "first": [days.starts.index(window.start) for _, window in self._windows],
            "last": [ends.index(window.end) for _, window in self._windows],
        }
        integers = sa.ARRAY(sa.BigInteger)
        places = sa.literal(list(range(1, len(self._windows) + 1)), integers)
        place = sa.select(fn.Each(places).label("place")).subquery("places").c.place
        columns = (fn.At(sa.literal(each, integers), place).label(name) for name, each in listed.items())
        return sa.select(*columns).subquery("windows")


def _named(values: Sequence[Expression]) -> dict[str, Expression]:
    return {f"m{i}": value for i, value in enumerate(values)}


def _number(column: Expression) -> Expression:
    return sa.cast(column, sa.Integer) if isinstance(column.type, sa.Boolean) else column


def _over_window(leaf: Leaf, value: Expression) -> Expression:
    return shown(sa.func.count(value.distinct()) if leaf.distinct else sa.func.sum(value), leaf)


def in_seconds(leaf: Leaf) -> bool:
    """Whether a leaf sums durations."""
    return leaf.column == "duration" and not leaf.distinct


def shown(summed: Expression, leaf: Leaf) -> Expression:
    """Counts and sums are whole numbers; durations are kept in microseconds and shown in seconds."""
    if in_seconds(leaf):
        return sa.cast(fn.Whole(summed), sa.Double) / sa.literal_column("1e6", sa.Double)
    return fn.Whole(summed)


def _rows_of(relation: Relation, scan: Scan, span: Span, *, whole: bool) -> Rows:
    """The rows of a relation that count in a span.

    Args:
        relation: one this store has.
        scan: workspace, bots, conversions; its span says what is new.
        span: instants the rows lie in.
        whole: tell first orders too, so look at all time.
    """
    match relation:
        case Relation.EVENTS:
            return EventRows(scan, span)
        case Relation.CONVERSIONS:
            return EventRows(scan, span, conversions(scan, span))
        case Relation.SESSIONS:
            return SessionRows(scan, span)
        case Relation.MONEY:
            return MoneyRows(scan, span, whole=whole)
        case _:
            raise ValueError(f"an event store has no {relation} for this plan")
