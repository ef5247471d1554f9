"""Evaluates ad spend for queries. Days of ad accounts are matched with days of the workspace by their date."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

from service_core.access.models import Workspace
from service_core.analytics.connections.models import Connection, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.measures import Aggregation, Operand, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.query.row_grid import RowGrid
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
_SUMMED_COLUMNS: Final = frozenset(field.name for field in fields(SpendSum)) - {"keys", "rows", "currency"}
_MONEY_COLUMNS: Final = ("spend", "conversion_value")
_NO_CONVERSION: Final = Fraction(1)
_COLUMNS_BY_LEVEL: Final = (
    (AdLevel.AD, ("ad_id", "ad_name")),
    (AdLevel.GROUP, ("group_id", "group_name")),
)


@dataclass(frozen=True, slots=True)
class SpendSource:
    """Evaluates aggregations over `Relation.SPEND`."""

    store: AdSpendStore
    connections: Connections
    providers: InstalledProviders

    @property
    def relations(self) -> frozenset[Relation]:
        """Returns the relation of spend."""
        return frozenset({Relation.SPEND})

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns the aggregations. Unknown values of a sum add nothing; the query layer counts them separately.

        Raises:
            StoreUnavailable: spend cannot be read.
        """
        plan = _SpendPlan(query)
        sums = await gather_or_cancel(
            *(self.store.sum_latest_spend(store_query) for store_query in plan.queries.values())
        )
        return plan.to_result(dict(zip(plan.queries, sums, strict=True)))

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state of spend, for all platforms and for each one.

        It is unavailable while a connected platform was never synced or has failed.
        """
        try:
            connections = await self.connections.list_connections_oldest_first(workspace.id)
            spending = await self.store.list_platforms_with_spend(workspace.id)
        except StoreUnavailable:
            return _unavailable(now, UnavailableReason.SOURCE_ERROR)
        measured = [connection for connection in connections if self.providers.is_spend_measured(connection)]
        if not measured:
            return _unavailable(now, UnavailableReason.NO_AD_PLATFORM)
        states: dict[tuple[str, Operand], SourceState] = {
            ("platform", connection.provider): _connection_state(connection, now) for connection in measured
        }
        platforms = spending | {connection.provider for connection in measured}
        unconnected = dict.fromkeys(
            (
                ("platform", id_)
                for id_ in self.providers.ids_of_kind(ProviderKind.ADS)
                if id_ not in platforms
            ),
            _unavailable(now, UnavailableReason.NO_AD_PLATFORM),
        )
        if any(state.unavailable_reasons for state in states.values()):
            return replace(_unavailable(now, UnavailableReason.SOURCE_ERROR), per_value=states | unconnected)
        return SourceState(
            min(state.watermark for state in states.values()),
            multi_valued_dimensions=frozenset({"platform"} if len(platforms) > 1 else ()),
            per_value=states | unconnected,
        )


def synced_through(connection: Connection, now: datetime) -> datetime | None:
    """Returns the time up to which the spend of a connection is complete; None if it was never synced."""
    last = connection.last_synced_at
    return None if last is None else complete_through(last, now)


def _connection_state(connection: Connection, now: datetime) -> SourceState:
    through = synced_through(connection, now)
    if connection.is_connected and through:
        return SourceState(through)
    return _unavailable(now, UnavailableReason.SOURCE_ERROR)


def _unavailable(now: datetime, reason: UnavailableReason) -> SourceState:
    return SourceState(now, {Relation.SPEND: reason})


class _SpendPlan:
    """Translates a query into sums of the store, one query per ad level, and the sums into a result."""

    def __init__(self, query: AggregateQuery) -> None:
        self._query = query
        self._zone = ZoneInfo(query.scope.zone)
        self._grid = RowGrid(query, Relation.SPEND)
        self._by_level: dict[AdLevel, list[Aggregation]] = {}
        for aggregation in self._grid.aggregations:
            self._by_level.setdefault(
                _required_level(self._grid.names_of_used_columns([aggregation])), []
            ).append(aggregation)
        self.queries = {level: self._store_query_of_level(level) for level in self._by_level}

    def to_result(self, sums_by_level: Mapping[AdLevel, Iterable[SpendSum]]) -> AggregateResult:
        """Returns the result of the query from the sums of each level."""
        for level, level_sums in sums_by_level.items():
            for spend_sum in level_sums:
                keys = dict(zip(self.queries[level].group_by, spend_sum.keys, strict=True))
                row = keys | spend_row_in_query_currency(
                    spend_sum, self._fx_rate_of_day(spend_sum.currency, keys)
                )
                bucket = (
                    _bucket_start_of_day(row["day"], self._query.buckets, self._zone)
                    if self._query.buckets
                    else None
                )
                self._grid.add_row_if_counted(row, bucket, aggregations=self._by_level[level])
        return self._grid.to_result_with_zero_row_if_ungrouped()

    def _store_query_of_level(self, level: AdLevel) -> SpendQuery:
        scope = self._query.scope
        days = ResolvedRange(scope.span, self._zone, scope.span.start)
        used = self._grid.names_of_used_columns(self._by_level[level])
        group_by = tuple(sorted(used - _SUMMED_COLUMNS - {"currency", "missing_fx_rate", "day"}))
        lead = ("day",) if self._query.buckets or scope.rates or "day" in used else ()
        return SpendQuery(scope.workspace_id, days.first_day, days.last_day, level, (*lead, *group_by))

    def _fx_rate_of_day(self, currency: str, keys: Mapping[str, Any]) -> Fraction | None:
        """Returns the rate from the currency of a sum to that of the query; None if it is unknown."""
        rates = self._query.scope.rates or ExchangeRates(self._query.scope.currency)
        return rates.minor_unit_rate_up_to_7_days_old(keys.get("day", date.min), currency)


def _required_level(columns: frozenset[str]) -> AdLevel:
    """Returns the level whose rows have the columns; spend of a campaign is not the sum of its ads."""
    return next(
        (level for level, names in _COLUMNS_BY_LEVEL if not columns.isdisjoint(names)), AdLevel.CAMPAIGN
    )


def _bucket_start_of_day(day: date, buckets: Buckets, zone: ZoneInfo) -> datetime:
    """Returns the start of the bucket with the start of a day, else of the first bucket."""
    return buckets.starts[max(bisect_right(buckets.starts, day_start(day, zone)) - 1, 0)]


def spend_row_in_query_currency(sums: SpendSum, fx_rate: Fraction | None = _NO_CONVERSION) -> dict[str, Any]:
    """Returns a sum of spend as a row of `Relation.SPEND`.

    Args:
        sums: in its own currency.
        fx_rate: to the currency of the query; None if it is unknown, then money stays as it is and ``missing_fx_rate`` is true.
    """
    claimed = sums.conversions
    row: dict[str, Any] = {name: getattr(sums, name) for name in _SUMMED_COLUMNS} | {
        "conversions": None if claimed is None else round(claimed * _MILLION)
    }
    if fx_rate is not None and fx_rate != _NO_CONVERSION:
        row |= {name: row[name] * fx_rate for name in _MONEY_COLUMNS if row[name] is not None}
    return {**row, "currency": sums.currency, "missing_fx_rate": fx_rate is None, "rows": sums.rows}
