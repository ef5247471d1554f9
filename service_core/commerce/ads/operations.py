"""`GET /ads`: spend, delivery and claimed conversions of campaigns, ad groups or ads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.connections.models import ConnectedAccount, Connection
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.measures import FilterOperator
from service_core.analytics.ports import StoreUnavailable
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.commerce.ads.models import AdEntity, AdLevel
from service_core.commerce.ads.ports import AdPlatforms, AdSpendStore, SpendQuery, SpendSum
from service_core.commerce.ads.schemas import AdAccountStatus, AdMetrics, AdRow, AdsQuery, AdsResponse
from service_core.commerce.ads.spend_metrics import spend_metric_value
from service_core.kernel.availability import Measurement, Unavailable, UnavailableReason
from service_core.kernel.errors import ServiceUnavailable
from service_core.kernel.operations import operation
from service_core.kernel.time_ranges import ResolvedRange

_METRICS: Final = {
    "spend": "ad_spend",
    "impressions": "impressions",
    "clicks": "clicks",
    "ctr": "ctr",
    "cpc": "cpc",
    "cpm": "cpm",
    "conversions": "platform_conversions",
    "conversion_value": "platform_conversion_value",
    "cpa": "platform_cpa",
    "roas": "platform_roas",
}
"""Field -> the metric whose value it has."""

_ID_COLUMNS: Final = {AdLevel.CAMPAIGN: "campaign_id", AdLevel.GROUP: "group_id", AdLevel.AD: "ad_id"}
_LEVEL_DIMENSIONS: Final = {AdLevel.GROUP: "ad_group_id", AdLevel.AD: "ad_id"}
"""Level -> a dimension that asks for it; nothing asks for campaigns."""

_NO_AD_PLATFORM: Final = Unavailable(UnavailableReason.NO_AD_PLATFORM)


class AdsUnavailable(ServiceUnavailable):
    """The stored spend cannot be read: its values are unknown, never zero."""

    def __init__(self) -> None:
        super().__init__("Ad data cannot be read at the moment", "ads_unavailable")


@operation("GET /ads", tag="marketing", is_aggregate=True)
async def get_ads(
    query: AdsQuery,
    *,
    caller: Caller,
    store: AdSpendStore,
    connections: Connections,
    queries: MetricQueries,
    platforms: AdPlatforms,
    providers: InstalledProviders,
) -> AdsResponse:
    """Spend, delivery and claimed conversions of campaigns, groups or ads, as the platforms report them.

    Claims of several platforms are never added: their totals are null then. Null is what was not reported.
    """
    days, level = query.resolve_workspace_days(caller), query.resolve_level(platforms)
    try:
        with_spend = [
            connection
            for connection in await connections.list_connections_oldest_first(caller.workspace.id)
            if providers.reports_spend_or_is_uninstalled_ad_platform(connection)
        ]
        platform = query.resolve_platform_id(platforms, (connection.provider for connection in with_spend))
        requested = [connection for connection in with_spend if platform in (None, connection.provider)]
        snapshot = await queries.read_source_states_once(caller, tuple(_METRICS.values()))
        report = _AdsReport(caller, days, level, platform, store, queries, snapshot)
        return await report.build_response(requested, query.limit)
    except StoreUnavailable:
        raise AdsUnavailable from None


@dataclass(frozen=True)
class _AdsReport:
    """One request, checked."""

    caller: Caller
    days: ResolvedRange
    level: AdLevel
    platform: str | None
    store: AdSpendStore
    queries: MetricQueries
    snapshot: SourceSnapshot

    async def build_response(self, connections: Sequence[Connection], row_limit: int) -> AdsResponse:
        """Returns the response for the connections of the requested platforms."""
        is_connected = any(connection.is_connected or connection.has_failed for connection in connections)
        sums, entities = await self._load_spend_and_entities() if is_connected else ([], {})
        totals = (
            await self._query_totals_of_only_platform_or_all(sums, connections)
            if is_connected
            else dict.fromkeys(_METRICS, _NO_AD_PLATFORM)
        )
        names = {
            (connection.provider, account.id): account.name
            for connection in connections
            for account in connection.accounts
        }
        rows = sorted(
            (self._ad_row(spend_sum, entities, names) for spend_sum in sums), key=_most_spend_first_key
        )
        return AdsResponse(
            ads=rows[:row_limit],
            level=self.level,
            platform=self.platform,
            date_from=self.days.first_day,
            date_through=self.days.last_day,
            timezone=self.caller.workspace.timezone,
            currency=self.caller.workspace.currency,
            totals=AdMetrics(**self._round_totals(totals)),
            totals_unavailable=list_unavailable_with_reasons(tuple(totals), tuple(totals.values())),
            platforms=[
                status
                for connection in connections
                for status in _account_statuses_or_nameless_one(connection)
            ],
            truncated=len(rows) > row_limit,
            complete=self.snapshot.is_complete_without_failed_source(
                self.days, ("ad_spend",), {"platform": self.platform}
            ),
        )

    async def _load_spend_and_entities(
        self,
    ) -> tuple[list[SpendSum], Mapping[tuple[str, str, str], AdEntity]]:
        """Returns the spend of each entity, and the entities by platform, account and id."""
        query = SpendQuery(
            self.caller.workspace.id,
            self.days.first_day,
            self.days.last_day,
            self.level,
            ("platform", "account_id", _ID_COLUMNS[self.level]),
            None if self.platform is None else (self.platform,),
        )
        sums = await self.store.sum_latest_spend(query)
        named = await self.store.list_ad_entities_with_latest_names(
            self.caller.workspace.id, self.level
        )  # afterwards: all of these are there
        return sums, {(platform, account, entity.id): entity for platform, account, entity in named}

    async def _query_totals_of_only_platform_or_all(
        self, sums: Sequence[SpendSum], connections: Sequence[Connection]
    ) -> Mapping[str, Measurement]:
        """Returns the metrics over all rows, narrowed to one platform if all rows are of it, so that its claims have a total.

        They are not narrowed while a requested platform is unavailable.
        """
        present = {str(spend_sum.keys[0]) for spend_sum in sums} or {connections[0].provider}
        unknown = self.snapshot.unavailable_reasons(("ad_spend",), {"platform": self.platform})
        is_one = len(present) == 1 and not unknown
        narrowed = [DimensionFilter("platform", FilterOperator.EQ, name) for name in present if is_one]
        if self.level in _LEVEL_DIMENSIONS:
            narrowed.append(DimensionFilter(_LEVEL_DIMENSIONS[self.level], FilterOperator.IS_SET))
        query = MetricQuery(tuple(_METRICS.values()), self.days, filters=tuple(narrowed))
        table = await self.queries.execute_marking_unfit_credits_unavailable(
            self.caller, query, self.snapshot
        )
        return dict(zip(_METRICS, table.rows[0].values, strict=True))

    def _round_totals(self, totals: Mapping[str, Measurement]) -> dict[str, Any]:
        metrics, currency = self.queries.catalog.metrics, self.caller.workspace.currency
        return {
            field: round_to_json_number_by_unit(reading, metrics[_METRICS[field]], currency)
            for field, reading in totals.items()
        }

    def _ad_row(
        self,
        sums: SpendSum,
        entities: Mapping[tuple[str, str, str], AdEntity],
        account_names: Mapping[tuple[str, str], str | None],
    ) -> AdRow:
        platform, account, id_ = map(str, sums.keys)
        entity = entities[platform, account, id_]
        metrics = self.queries.catalog.metrics
        return AdRow(
            platform=platform,
            account_id=account,
            account_name=account_names.get((platform, account)),
            level=self.level,
            id=id_,
            name=entity.name,
            status=entity.status,
            campaign_id=entity.campaign_id,
            campaign_name=entity.campaign_name,
            group_id=entity.group_id,
            group_name=entity.group_name,
            ad_id=entity.ad_id,
            ad_name=entity.ad_name,
            currency=sums.currency,
            reach=sums.reach if sums.rows == 1 else None,
            **{field: spend_metric_value(metrics[id_], sums) for field, id_ in _METRICS.items()},
        )


def _most_spend_first_key(row: AdRow) -> tuple[Any, ...]:
    """Returns the key that sorts by spend, highest first and unknown last, then by name and id."""
    return (
        row.spend is None,
        -(row.spend or 0),
        row.name or "",
        row.platform,
        row.account_id,
        row.id,
        row.currency,
    )


def _account_statuses_or_nameless_one(connection: Connection) -> list[AdAccountStatus]:
    """Returns one status per account; a connection without accounts has one status without a name."""
    nameless = ConnectedAccount("")
    return [
        AdAccountStatus(
            platform=connection.provider,
            account_id=account.id or None,
            account_name=account.name,
            status=connection.status,
            currency=account.currency,
            timezone=account.timezone,
            last_synced_at=connection.last_synced_at,
            error=connection.error,
        )
        for account in connection.accounts or (nameless,)
    ]


OPERATIONS = (get_ads,)
