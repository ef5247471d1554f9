"""Subscriptions as a source of the query layer: movements by bucket, and what they come to at its end."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias

from service_core.access.model import Workspace
from service_core.commerce.reach import ProviderReads, read_through
from service_core.commerce.subscriptions.movements import MovementKind
from service_core.commerce.subscriptions.ports import Moved, MovementPlan, SubscriptionStore
from service_core.commerce.subscriptions.worth import Worth
from service_core.insight.connections.model import ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.measures import Leaf, Operand, Predicate, Relation
from service_core.insight.ports import Aggregate, Grid, StoreUnavailable
from service_core.insight.predicates import meets
from service_core.insight.query.sources import SourceState
from service_core.kernel.clock import Clock
from service_core.kernel.reading import Reason

_NAMED: Final = ("product", "provider", "plan")
_WORTHS: Final = {
    MovementKind.NEW: "mrr_new",
    MovementKind.EXPANSION: "mrr_expansion",
    MovementKind.CONTRACTION: "mrr_contraction",
    MovementKind.CHURN: "mrr_churn",
    MovementKind.REACTIVATION: "mrr_reactivation",
}
_COUNTS: Final = {
    MovementKind.NEW: "new_subscriptions",
    MovementKind.CHURN: "churned_subscriptions",
    MovementKind.TRIAL_STARTED: "trials_started",
    MovementKind.TRIAL_ENDED: "trials_ended",
    MovementKind.TRIAL_CONVERTED: "trials_converted",
    MovementKind.FAILED_PAYMENT: "failed_payments",
}
_NO_MONEY: Final = dict.fromkeys(("mrr", "arr", *_WORTHS.values(), "charged"), Fraction(0))
_MONTHS: Final = 12
_AN_INSTANT: Final = datetime.resolution
_NONE: Final[frozenset[Any]] = frozenset()

Row: TypeAlias = Mapping[str, Any]
"""A row of `Relation.SUBSCRIPTIONS`: all subscriptions of one product, plan, provider and currency in a bucket."""

Sum: TypeAlias = tuple[str, Fraction, Fraction | None]
"""A column of money, what is added to it, and what a unit of that is worth; None when no rate is known."""

Cell: TypeAlias = tuple[Any, ...]
"""Bucket, if bucketed, and dimension values."""


@dataclass(frozen=True, slots=True)
class SubscriptionSource:
    """Evaluates leaves over `Relation.SUBSCRIPTIONS`; what is known to end later has not ended yet."""

    store: SubscriptionStore
    connected: Connections
    reads: ProviderReads
    clock: Clock

    @property
    def relations(self) -> frozenset[Relation]:
        """Subscriptions alone."""
        return frozenset({Relation.SUBSCRIPTIONS})

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures; worths are exact, and no whole minor units.

        Raises:
            StoreUnavailable: subscriptions cannot be read.
        """
        leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
        grouped = tuple(columns[Relation.SUBSCRIPTIONS] for columns in plan.dimensions)
        conditions = [*plan.scan.filters, *(each for leaf in leaves for each in leaf.where)]
        used = (*grouped, *(each.column for each in conditions), *(leaf.column or "" for leaf in leaves))
        named = {name for column in used for name in column.split("|")}
        by = tuple(name for name in _NAMED if name in named)
        edges = _edges(plan, self.clock() + _AN_INSTANT)
        worth = Worth(plan.scan, edges)
        moved = await self.store.subscription_movements(MovementPlan(plan.scan.workspace_id, worth.steps, by))
        cells: dict[Cell, list[Any]] = {}
        for bucket, row in _rows(moved, by, worth):
            lead = (plan.buckets.starts[bucket],) if plan.buckets else ()
            values = [_told_by(leaf, row, plan.scan.filters) for leaf in leaves]
            if any(values):
                cell = (*lead, *(_read(row, column) for column in grouped))
                before = cells.get(cell, [_NONE if leaf.distinct else 0 for leaf in leaves])
                cells[cell] = list(map(_with, before, values))
        return _grid(cells, leaves, is_one=not plan.buckets and not grouped)

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Measured as soon as a revenue provider is connected, unless one cannot be believed; each for itself.

        Providers send what happens when it happens, and again until it is taken: of one that is not asked
        all is believed present. What one is asked for reaches as far as it was read (semantics 19.1).
        """
        try:
            known = await self.connected.connections(workspace.id)
            reads = await self.reads.provider_reads(workspace.id)
        except StoreUnavailable:
            return _silent(now, Reason.SOURCE_ERROR)
        ours = [one for one in known if one.kind is ProviderKind.REVENUE]
        live: dict[tuple[str, Operand], SourceState] = {
            ("provider", one.provider): SourceState(read_through(reads.get(one.provider), now))
            for one in ours
            if one.is_live
        }
        if any(one.is_broken for one in ours):
            return replace(_silent(now, Reason.SOURCE_ERROR), within=live)
        if not live:
            return _silent(now, Reason.NO_REVENUE_PROVIDER)
        return SourceState(min(state.watermark for state in live.values()), within=live)


def _silent(now: datetime, reason: Reason) -> SourceState:
    return SourceState(now, {Relation.SUBSCRIPTIONS: reason})


def _edges(plan: Aggregate, after_now: datetime) -> tuple[datetime, ...]:
    """Where the buckets of a plan begin, and where the last one ends."""
    span, buckets = plan.scan.span, plan.buckets
    last = min(span.end, after_now)
    bounds = (*buckets.starts, buckets.end) if buckets else (span.start, span.end)
    return tuple(min(max(bound, span.start), last) for bound in bounds)


def _rows(moved: Iterable[Moved], by: Sequence[str], worth: Worth) -> Iterator[tuple[int, Row]]:
    """The rows of each bucket, by what was before it and what happened in it."""
    groups: dict[tuple[Any, ...], dict[int, list[Moved]]] = defaultdict(lambda: defaultdict(list))
    for each in moved:
        groups[*each.keys, each.currency][worth.bucket(each)].append(each)
    for place, found in groups.items():
        named = dict(zip((*by, "currency"), place, strict=True))
        total, live = _came_to(found[-1], Fraction(0), 0)
        for bucket in range(worth.buckets):
            at_start = live
            here = found.get(bucket, [])
            total, live = _came_to(here, total, live)
            if here or live or total:
                counts = {**_counts(here), "active_subscriptions": live, "active_at_start": at_start}
                standing = total, worth.at_end(bucket, named["currency"])
                for row in _by_rate(counts, [*_stands(*standing), *_did(here, worth)]):
                    yield bucket, {**named, **row}


def _came_to(moved: Iterable[Moved], worth: Fraction, live: int) -> tuple[Fraction, int]:
    for each in moved:
        worth, live = worth + each.worth, live + each.live
    return worth, live


def _stands(total: Fraction, rate: Fraction | None) -> Iterator[Sum]:
    """What subscriptions come to at the end of a bucket."""
    yield "mrr", total, rate
    yield "arr", _MONTHS * total, rate


def _did(moved: Iterable[Moved], worth: Worth) -> Iterator[Sum]:
    """The money that movements of a bucket moved."""
    for each in moved:
        if each.kind in _WORTHS:
            yield _WORTHS[each.kind], each.worth, worth.then(each)
        if each.kind is MovementKind.CHARGE:
            yield "charged", Fraction(each.amount), worth.then(each)


def _counts(moved: Iterable[Moved]) -> dict[str, int]:
    """How many movements of each kind there were in a bucket."""
    found = dict.fromkeys(_COUNTS.values(), 0)
    for each in moved:
        if each.kind in _COUNTS:
            found[_COUNTS[each.kind]] += each.count
    return found


def _by_rate(counts: Mapping[str, int], sums: Iterable[Sum]) -> Iterator[Row]:
    """A row of what is known, and a further one of the money that no rate is known for, if there is any."""
    known, unknown = dict(_NO_MONEY), dict(_NO_MONEY)
    for column, amount, rate in sums:
        if rate is None:
            unknown[column] += amount
        else:
            known[column] += amount * rate
    yield {**counts, **known, "no_rate": False}
    if any(unknown.values()):
        yield {**dict.fromkeys(counts, 0), **unknown, "no_rate": True}


def _told_by(leaf: Leaf, row: Row, filters: Sequence[Predicate]) -> Any:
    """What a row adds to a leaf: a number, or a value that is counted once."""
    nothing = _NONE if leaf.distinct else 0
    if not all(
        meets(_compared(_read(row, each.column)), each.op, each.value) for each in (*filters, *leaf.where)
    ):
        return nothing
    value = 1 if leaf.column is None else _read(row, leaf.column)
    if leaf.distinct:
        return nothing if value is None else frozenset({value})
    return value


def _read(row: Row, column: str) -> Any:
    """The first of some columns that is set."""
    return next((row[name] for name in column.split("|") if row[name] is not None), None)


def _compared(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _with(before: Any, value: Any) -> Any:
    return before | value if isinstance(before, frozenset) else before + value


def _number(counted: Any) -> Any:
    return len(counted) if isinstance(counted, frozenset) else counted


def _grid(cells: Mapping[Cell, Sequence[Any]], leaves: tuple[Leaf, ...], *, is_one: bool) -> Grid:
    rows = [(*cell, *map(_number, values)) for cell, values in cells.items()]
    if not rows and is_one:
        rows = [(0,) * len(leaves)]
    sums = tuple(sum(row[place - len(leaves)] for row in rows) for place in range(len(leaves)))
    return Grid(rows, leaves, len(rows), sums)
