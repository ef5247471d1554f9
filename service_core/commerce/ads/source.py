"""Ad spend as a source of the query layer: days of accounts, matched to workspace days by their date."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

from service_core.access.models import Workspace
from service_core.analytics.connections.models import Connection
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import reports_spend
from service_core.analytics.measures import Aggregation, Column, Operand, Predicate, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.query.evaluate_predicate import value_matches
from service_core.analytics.query.sources import SourceState
from service_core.commerce.ads.models import AdLevel
from service_core.commerce.ads.ports import AdSpendStore, SpendQuery, SpendSum
from service_core.commerce.sync.connection_sync import complete_through
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.exchange_rates import ExchangeRates
from service_core.kernel.time_ranges import Buckets, ResolvedRange
from service_core.kernel.wall_clock import day_start

_MILLION: Final = 1_000_000
_FIGURES: Final = frozenset(field.name for field in fields(SpendSum)) - {"keys", "rows", "currency"}
_MONEY: Final = ("spend", "conversion_value")
_AS_IT_IS: Final = Fraction(1)
_DEEPER: Final = ((AdLevel.AD, ("ad_id", "ad_name")), (AdLevel.GROUP, ("group_id", "group_name")))

Cell: TypeAlias = tuple[Any, ...]
"""Bucket, if bucketed, and dimension values."""


@dataclass(frozen=True, slots=True)
class SpendSource:
    """Evaluates leaves over `Relation.SPEND`."""

    store: AdSpendStore
    connections: Connections

    @property
    def relations(self) -> frozenset[Relation]:
        """Spend alone."""
        return frozenset({Relation.SPEND})

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluate measures; a figure of a sum that is not known adds nothing, and the query layer asks for that.

        Raises:
            StoreUnavailable: spend cannot be read.
        """
        question = _Asked(query)
        sums = await gather_or_cancel(*(self.store.spend(each) for each in question.plans.values()))
        return question.grid(dict(zip(question.plans, sums, strict=True)))

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Unknown as long as a platform is connected that was never read, or cannot be read now; each for itself."""
        try:
            known = await self.connections.list_connections(workspace.id)
            spending = await self.store.list_platforms_with_spend(workspace.id)
        except StoreUnavailable:
            return _silent(now, UnavailableReason.SOURCE_ERROR)
        ours = [one for one in known if is_measured(one)]
        if not ours:
            return _silent(now, UnavailableReason.NO_AD_PLATFORM)
        each: dict[tuple[str, Operand], SourceState] = {
            ("platform", one.provider): _state_of(one, now) for one in ours
        }
        if any(state.unavailable_reasons for state in each.values()):
            return replace(_silent(now, UnavailableReason.SOURCE_ERROR), per_value=each)
        platforms = spending | {one.provider for one in ours}
        several = frozenset({"platform"} if len(platforms) > 1 else ())
        return SourceState(
            min(state.watermark for state in each.values()), multi_valued_dimensions=several, per_value=each
        )


def expects_spend(connection: Connection) -> bool:
    """Whether spend may be expected of a connection."""
    return reports_spend(connection.provider, connection.kind)


def is_measured(connection: Connection) -> bool:
    """Whether its spend is part of every sum: as long as it is connected, in error or not."""
    return (connection.is_connected or connection.has_failed) and expects_spend(connection)


def synced_through(connection: Connection, now: datetime) -> datetime | None:
    """Up to when its spend is believed present (semantics 19.1); None as long as it was never read."""
    last = connection.last_synced_at
    return None if last is None else complete_through(last, now)


def _state_of(connection: Connection, now: datetime) -> SourceState:
    through = synced_through(connection, now)
    return (
        SourceState(through)
        if connection.is_connected and through
        else _silent(now, UnavailableReason.SOURCE_ERROR)
    )


def _silent(now: datetime, reason: UnavailableReason) -> SourceState:
    return SourceState(now, {Relation.SPEND: reason})


class _Asked:
    """A plan as sums of the store, and back."""

    def __init__(self, plan: AggregateQuery) -> None:
        self._plan = plan
        self._zone = ZoneInfo(plan.scope.zone)
        self._leaves = tuple(
            dict.fromkeys(leaf for measure in plan.measures for leaf in measure.aggregations())
        )
        self._grouped = tuple(columns[Relation.SPEND] for columns in plan.dimensions)
        self._level_of = {leaf: _level(self._columns(leaf)) for leaf in self._leaves}
        self.plans = {level: self._plan_of(level) for level in dict.fromkeys(self._level_of.values())}

    def _columns(self, leaf: Aggregation) -> tuple[str, ...]:
        """Every column that is named."""
        conditions = (*self._plan.scope.filters, *leaf.where)
        used = (*self._grouped, *(each.column for each in conditions), leaf.column)
        return tuple(part.name for column in used if column for part in column.candidates)

    def _plan_of(self, level: AdLevel) -> SpendQuery:
        scan = self._plan.scope
        days = ResolvedRange(scan.span, self._zone, scan.span.start)
        named = [n for leaf, of in self._level_of.items() if of is level for n in self._columns(leaf)]
        by = tuple(sorted({*named} - _FIGURES - {"currency", "missing_fx_rate"}))
        lead = ("day",) if self._plan.buckets or scan.rates else ()
        return SpendQuery(scan.workspace_id, days.first_day, days.last_day, level, (*lead, *by))

    def grid(self, sums: dict[AdLevel, list[SpendSum]]) -> AggregateResult:
        """What was found, in cells."""
        cells: dict[Cell, dict[Aggregation, Any]] = defaultdict(dict)
        for level, found in sums.items():
            for each in found:
                keys = dict(zip(self.plans[level].group_by, each.keys, strict=True))
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
        return AggregateResult(
            rows, self._leaves, len(rows), tuple(map(sum, zip(*(row[-width:] for row in rows), strict=True)))
        )

    def _rate(self, currency: str, keys: Mapping[str, Any]) -> Fraction | None:
        """What money of a sum is worth in the currency of the scan; None when that is not known."""
        rates = self._plan.scope.rates or ExchangeRates(self._plan.scope.currency)
        return rates.rate_on(keys.get("day", date.min), currency)

    def _met_by(self, row: dict[str, Any], level: AdLevel) -> Iterator[Aggregation]:
        """The leaves that count a row of a level."""
        for leaf, of in self._level_of.items():
            if of is level and is_met(row, (*self._plan.scope.filters, *leaf.where)):
                yield leaf

    def _cell(self, row: dict[str, Any]) -> Cell:
        lead = (_bucket(row["day"], self._plan.buckets, self._zone),) if self._plan.buckets else ()
        return (*lead, *(_value(row, column) for column in self._grouped))


def _level(columns: Iterable[str]) -> AdLevel:
    """The level asked for by what is named: a campaign's row is never the sum of its ads (semantics 12.4)."""
    named = frozenset(columns)
    return next((level for level, of in _DEEPER if not named.isdisjoint(of)), AdLevel.CAMPAIGN)


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
    return {**figures, "currency": sums.currency, "missing_fx_rate": rate is None, "rows": sums.rows}


def is_met(row: dict[str, Any], conditions: Iterable[Predicate]) -> bool:
    """Whether a row meets all conditions."""
    return all(value_matches(_value(row, each.column), each.op, each.value) for each in conditions)


def _value(row: dict[str, Any], column: Column) -> Any:
    return next((row[part.name] for part in column.candidates if row[part.name] is not None), None)


def added(before: Any, leaf: Aggregation, row: dict[str, Any]) -> Any:
    """What a leaf has counted, with one more row: a number, or the different values."""
    if leaf.column is None:
        return (before or 0) + row["rows"]
    value = _value(row, leaf.column)
    if leaf.distinct:
        return (before or frozenset()) | ({value} - {None})
    return (before or 0) + (value or 0)


def _number(counted: Any) -> int:
    return len(counted) if isinstance(counted, frozenset) else counted or 0
