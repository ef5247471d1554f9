"""`GET /ads`: what ad platforms report of each campaign, group or ad (contract 3.13)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service_core.access.model import Caller
from service_core.commerce.ads.amounts import figure
from service_core.commerce.ads.answer import AdAccountStatus, AdFigures, AdRow, Ads
from service_core.commerce.ads.asked import AdsQuery
from service_core.commerce.ads.model import Entity, Level
from service_core.commerce.ads.ports import SpendPlan, SpendStore, SpendSum
from service_core.commerce.ads.source import advertises
from service_core.insight.connections.model import ConnectedAccount, Connection
from service_core.insight.connections.ports import Connections
from service_core.insight.measures import Op
from service_core.insight.metric_values import UnavailableMetric
from service_core.insight.ports import StoreUnavailable
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Filter, Question
from service_core.insight.query.questions import Questions
from service_core.kernel.errors import Unavailable503
from service_core.kernel.operations import operation
from service_core.kernel.ranges import Range
from service_core.kernel.reading import Reading, Reason, Unavailable

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

_IDS: Final = {Level.CAMPAIGN: "campaign_id", Level.GROUP: "group_id", Level.AD: "ad_id"}
_NARROWING: Final = {Level.GROUP: "ad_group_id", Level.AD: "ad_id"}
"""Level -> a dimension that asks for it; nothing asks for campaigns."""

_NEVER_ASKED: Final = Unavailable(Reason.NO_AD_PLATFORM)


class AdsUnavailable(Unavailable503):
    """What is kept of ad accounts cannot be read: unknown, never zero."""

    def __init__(self) -> None:
        super().__init__("Ad data cannot be read at the moment", "ads_unavailable")


@operation("GET /ads", tag="marketing")
async def get_ads(
    query: AdsQuery, *, who: Caller, store: SpendStore, connections: Connections, questions: Questions
) -> Ads:
    """Spend, delivery and claimed conversions of campaigns, groups or ads, as the platforms report them.

    Claims of several platforms are never added: their totals are null then. Null is what was not reported.
    """
    days, level = query.days(who), query.of_level
    try:
        found = [one for one in await connections.connections(who.workspace.id) if advertises(one)]
        platform = query.of_platform(one.provider for one in found)
        ours = [one for one in found if platform in (None, one.provider)]
        read = _Reading(who, days, level, platform, store, questions)
        return await read.answer(ours, query.limit)
    except StoreUnavailable:
        raise AdsUnavailable from None


@dataclass(frozen=True)
class _Reading:
    """One request, checked."""

    who: Caller
    days: Range
    level: Level
    platform: str | None
    store: SpendStore
    questions: Questions

    async def answer(self, ours: Sequence[Connection], limit: int) -> Ads:
        """The answer, by the connections of the platforms asked for."""
        is_connected = any(one.is_live or one.is_broken for one in ours)
        sums, entities = await self._sums() if is_connected else ([], {})
        totals = await self._totals(sums, ours) if is_connected else dict.fromkeys(_METRICS, _NEVER_ASKED)
        names = {(one.provider, account.id): account.name for one in ours for account in one.accounts}
        rows = sorted((self._row(each, entities, names) for each in sums), key=_place)
        return Ads(
            ads=rows[:limit],
            level=self.level,
            platform=self.platform,
            date_from=self.days.first_day,
            date_through=self.days.last_day,
            timezone=self.who.workspace.timezone,
            currency=self.who.workspace.currency,
            totals=AdFigures(**self._shown(totals)),
            totals_unavailable=[
                UnavailableMetric(metric=field, reason=reading.reason)
                for field, reading in totals.items()
                if isinstance(reading, Unavailable)
            ],
            platforms=[status for one in ours for status in _statuses(one)],
            truncated=len(rows) > limit,
            complete=await self.questions.complete(
                self.who, self.days, ("ad_spend",), {"platform": self.platform}
            ),
        )

    async def _sums(self) -> tuple[list[SpendSum], Mapping[tuple[str, str, str], Entity]]:
        """What each entity had, and what it is called."""
        asked = SpendPlan(
            self.who.workspace.id,
            self.days.first_day,
            self.days.last_day,
            self.level,
            ("platform", "account_id", _IDS[self.level]),
            None if self.platform is None else (self.platform,),
        )
        sums = await self.store.spend(asked)
        named = await self.store.entities(
            self.who.workspace.id, self.level
        )  # afterwards: all of these are there
        return sums, {(platform, account, entity.id): entity for platform, account, entity in named}

    async def _totals(self, sums: Sequence[SpendSum], ours: Sequence[Connection]) -> Mapping[str, Reading]:
        """The metrics over all rows: of one platform where rows are of no other, so that its claims are told.

        What is not known of all that were asked for is not told of one.
        """
        present = {str(each.keys[0]) for each in sums} or {ours[0].provider}
        unknown = await self.questions.reasons(self.who, ("ad_spend",), {"platform": self.platform})
        is_one = len(present) == 1 and not unknown
        narrowed = [Filter("platform", Op.EQ, name) for name in present if is_one]
        if self.level in _NARROWING:
            narrowed.append(Filter(_NARROWING[self.level], Op.IS_SET))
        question = Question(tuple(_METRICS.values()), self.days, filters=tuple(narrowed))
        table = await self.questions.ask(self.who, question)
        return dict(zip(_METRICS, table.rows[0].readings, strict=True))

    def _shown(self, totals: Mapping[str, Reading]) -> dict[str, Any]:
        metrics, currency = self.questions.catalog.metrics, self.who.workspace.currency
        return {
            field: rounded(reading, metrics[_METRICS[field]], currency) for field, reading in totals.items()
        }

    def _row(
        self,
        sums: SpendSum,
        entities: Mapping[tuple[str, str, str], Entity],
        names: Mapping[tuple[str, str], str | None],
    ) -> AdRow:
        platform, account, id_ = map(str, sums.keys)
        entity = entities[platform, account, id_]
        metrics = self.questions.catalog.metrics
        return AdRow(
            platform=platform,
            account_id=account,
            account_name=names.get((platform, account)),
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
            **{field: figure(metrics[id_], sums) for field, id_ in _METRICS.items()},
        )


def _place(row: AdRow) -> tuple[Any, ...]:
    """Most spent first, what is not known last, then by name and by id."""
    return (
        row.spend is None,
        -(row.spend or 0),
        row.name or "",
        row.platform,
        row.account_id,
        row.id,
        row.currency,
    )


def _statuses(connection: Connection) -> list[AdAccountStatus]:
    """One per account; a connection that has named none yet tells how it stands all the same."""
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
