"""Ad spend as a source of the query layer: days of accounts, matched to workspace days by their date."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

from service_core.access.model import Workspace
from service_core.commerce.ads.model import Level
from service_core.commerce.ads.ports import SpendPlan, SpendStore, SpendSum
from service_core.commerce.rounds import reaches_to
from service_core.insight.connections.model import Connection
from service_core.insight.connections.ports import Connections
from service_core.insight.connections.providers import reports_spend
from service_core.insight.measures import Leaf, Operand, Predicate, Relation
from service_core.insight.ports import Aggregate, Grid, StoreUnavailable
from service_core.insight.predicates import meets
from service_core.insight.query.sources import SourceState
from service_core.kernel.ranges import Buckets, Range
from service_core.kernel.rates import Rates
from service_core.kernel.reading import Reason
from service_core.kernel.together import together
from service_core.kernel.wall_clock import day_start

_MILLION: Final = 1_000_000
_FIGURES: Final = frozenset(field.name for field in fields(SpendSum)) - {"keys", "rows", "currency"}
_MONEY: Final = ("spend", "conversion_value")
_AS_IT_IS: Final = Fraction(1)
_DEEPER: Final = ((Level.AD, ("ad_id", "ad_name")), (Level.GROUP, ("group_id", "group_name")))

Cell: TypeAlias = tuple[Any, ...]
"""Bucket, if bucketed, and dimension values."""


@dataclass(frozen=True, slots=True)
class SpendSource:
    """Evaluates leaves over `Relation.SPEND`."""

    store: SpendStore
    connected: Connections

    @property
    def relations(self) -> frozenset[Relation]:
        """Spend alone."""
        return frozenset({Relation.SPEND})

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures; a figure of a sum that is not known adds nothing, and the query layer asks for that.

        Raises:
            StoreUnavailable: spend cannot be read.
        """
        question = _Asked(plan)
        sums = await together(*(self.store.spend(each) for each in question.plans.values()))
        return question.grid(dict(zip(question.plans, sums, strict=True)))

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Unknown as long as a platform is connected that was never read, or cannot be read now; each for itself."""
        try:
            known = await self.connected.connections(workspace.id)
            spending = await self.store.spending_platforms(workspace.id)
        except StoreUnavailable:
            return _silent(now, Reason.SOURCE_ERROR)
        ours = [one for one in known if is_measured(one)]
        if not ours:
            return _silent(now, Reason.NO_AD_PLATFORM)
        each: dict[tuple[str, Operand], SourceState] = {
            ("platform", one.provider): _state_of(one, now) for one in ours
        }
        if any(state.reasons for state in each.values()):
            return replace(_silent(now, Reason.SOURCE_ERROR), within=each)
        platforms = spending | {one.provider for one in ours}
        several = frozenset({"platform"} if len(platforms) > 1 else ())
        return SourceState(min(state.watermark for state in each.values()), several=several, within=each)


def advertises(connection: Connection) -> bool:
    """Whether spend may be expected of a connection."""
    return reports_spend(connection.provider, connection.kind)


def is_measured(connection: Connection) -> bool:
    """Whether its spend is part of every sum: as long as it is connected, in error or not."""
    return (connection.is_live or connection.is_broken) and advertises(connection)


def read_through(connection: Connection, now: datetime) -> datetime | None:
    """Up to when its spend is believed present (semantics 19.1); None as long as it was never read."""
    last = connection.last_synced_at
    return None if last is None else reaches_to(last, now)


def _state_of(connection: Connection, now: datetime) -> SourceState:
    through = read_through(connection, now)
    return SourceState(through) if connection.is_live and through else _silent(now, Reason.SOURCE_ERROR)


def _silent(now: datetime, reason: Reason) -> SourceState:
    return SourceState(now, {Relation.SPEND: reason})


class _Asked:
    """A plan as sums of the store, and back."""

    def __init__(self, plan: Aggregate) -> None:
        self._plan = plan
        self._zone = ZoneInfo(plan.scan.zone)
        self._leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
        self._grouped = tuple(columns[Relation.SPEND] for columns in plan.dimensions)
        self._level_of = {leaf: _level(self._columns(leaf)) for leaf in self._leaves}
        self.plans = {level: self._plan_of(level) for level in dict.fromkeys(self._level_of.values())}

    def _columns(self, leaf: Leaf) -> tuple[str, ...]:
        """Every column that is named."""
        conditions = (*self._plan.scan.filters, *leaf.where)
        named = (*self._grouped, *(each.column for each in conditions), leaf.column)
        return tuple(name for column in named if column for name in column.split("|"))

    def _plan_of(self, level: Level) -> SpendPlan:
        scan = self._plan.scan
        days = Range(scan.span, self._zone, scan.span.start)
        named = [n for leaf, of in self._level_of.items() if of is level for n in self._columns(leaf)]
        by = tuple(sorted({*named} - _FIGURES - {"currency", "no_rate"}))
        lead = ("day",) if self._plan.buckets or scan.rates else ()
        return SpendPlan(scan.workspace_id, days.first_day, days.last_day, level, (*lead, *by))

    def grid(self, sums: dict[Level, list[SpendSum]]) -> Grid:
        """What was found, in cells."""
        cells: dict[Cell, dict[Leaf, Any]] = defaultdict(dict)
        for level, found in sums.items():
            for each in found:
                keys = dict(zip(self.plans[level].by, each.keys, strict=True))
                row = keys | as_row(each, self._rate(each.currency, keys))
                for leaf in self._met_by(row, level):
                    values = cells[self._cell(row)]
                    values[leaf] = added(values.get(leaf), leaf, row)
        rows = [
            (*cell, *(_number(values.get(leaf)) for leaf in self._leaves)) for cell, values in cells.items()
        ]
        if not rows and not self._grouped and not self._plan.buckets:
            rows = [(0,) * len(self._leaves)]
        width = len(self._leaves)
        return Grid(
            rows, self._leaves, len(rows), tuple(map(sum, zip(*(row[-width:] for row in rows), strict=True)))
        )

    def _rate(self, currency: str, keys: Mapping[str, Any]) -> Fraction | None:
        """What money of a sum is worth in the currency of the scan; None when that is not known."""
        rates = self._plan.scan.rates or Rates(self._plan.scan.currency)
        return rates.on(keys.get("day", date.min), currency)

    def _met_by(self, row: dict[str, Any], level: Level) -> Iterator[Leaf]:
        """The leaves that count a row of a level."""
        for leaf, of in self._level_of.items():
            if of is level and is_met(row, (*self._plan.scan.filters, *leaf.where)):
                yield leaf

    def _cell(self, row: dict[str, Any]) -> Cell:
        lead = (_bucket(row["day"], self._plan.buckets, self._zone),) if self._plan.buckets else ()
        return (*lead, *(_value(row, column) for column in self._grouped))


def _level(columns: Iterable[str]) -> Level:
    """The level asked for by what is named: a campaign's row is never the sum of its ads (semantics 12.4)."""
    named = frozenset(columns)
    return next((level for level, of in _DEEPER if not named.isdisjoint(of)), Level.CAMPAIGN)


def _bucket(day: date, buckets: Buckets, zone: ZoneInfo) -> datetime:
    """The bucket that holds the start of a day; the nearest of those shown where none does."""
    return buckets.starts[max(bisect_right(buckets.starts, day_start(day, zone)) - 1, 0)]


def as_row(sums: SpendSum, rate: Fraction | None = _AS_IT_IS) -> dict[str, Any]:
    """The figures of a sum as a row of the relation has them, and of how many rows it is.

    Args:
        sums: in its own currency.
        rate: what its money is worth in the currency that is asked for; None leaves it as it is, and says so.
    """
    claimed = sums.conversions
    figures: dict[str, Any] = {name: getattr(sums, name) for name in _FIGURES} | {
        "conversions": None if claimed is None else round(claimed * _MILLION)
    }
    if rate not in {None, _AS_IT_IS}:
        figures |= {name: figures[name] * rate for name in _MONEY if figures[name] is not None}
    return {**figures, "currency": sums.currency, "no_rate": rate is None, "rows": sums.rows}


def is_met(row: dict[str, Any], conditions: Iterable[Predicate]) -> bool:
    """Whether a row meets all conditions."""
    return all(meets(_value(row, each.column), each.op, each.value) for each in conditions)


def _value(row: dict[str, Any], column: str) -> Any:
    return next((row[name] for name in column.split("|") if row[name] is not None), None)


def added(before: Any, leaf: Leaf, row: dict[str, Any]) -> Any:
    """What a leaf has counted, with one more row: a number, or the different values."""
    if leaf.column is None:
        return (before or 0) + row["rows"]
    value = _value(row, leaf.column)
    if leaf.distinct:
        return (before or frozenset()) | ({value} - {None})
    return (before or 0) + (value or 0)


def _number(counted: Any) -> int:
    return len(counted) if isinstance(counted, frozenset) else counted or 0
