"""Pinterest passes the kit of ad platforms, over a server that speaks its wire format, two items a page."""

from functools import partial

import ads_pinterest
import pytest
from ads_pinterest.platform import ZONE, Pinterest

from service_core.kernel.money import to_major
from service_core.plugin import AdAccount, AdLevel
from service_core.testing.ad_platform import AdPlatformConformance, PlatformHarness, parse_days
from service_core.testing.fake_platform import FakePlatform, FakeResponse, serve_in_thread, too_many_calls
from service_core.testing.plugin import PluginConformance

LEVELS = {"campaigns": AdLevel.CAMPAIGN, "ad_groups": AdLevel.GROUP, "ads": AdLevel.AD}


def answer(data, request):
    match request.path.removeprefix("/v5/").split("/"):
        case ["ad_accounts"]:
            items = [
                {"id": one.id, "name": one.name, "currency": one.currency, "country": "DE"}
                for one in data.accounts
            ]
            return page(request, items)
        case ["ad_accounts", account_id, kind]:
            assert "ARCHIVED" in request.query["entity_statuses"]
            entities = {
                row.entity.id: row.entity
                for row in data.rows
                if row.account_id == account_id and has_level(row.entity, LEVELS[kind])
            }
            unique = {id_of(entity, LEVELS[kind]): entity for entity in entities.values()}
            return page(request, [to_item(entity, LEVELS[kind]) for entity in unique.values()])
        case ["ad_accounts", account_id, kind, "analytics"]:
            days = parse_days(request.query["start_date"], request.query["end_date"])
            return FakeResponse(
                [to_row(row, LEVELS[kind]) for row in data.expected_rows(account_id, LEVELS[kind], *days)]
            )


def page(request, items):
    start = int(request.query.get("bookmark", 0))
    following = str(start + 2) if start + 2 < len(items) else None
    return FakeResponse({"items": items[start : start + 2], "bookmark": following})


def has_level(entity, level):
    return [*AdLevel].index(entity.level) >= [*AdLevel].index(level)


def id_of(entity, level):
    return {
        AdLevel.CAMPAIGN: entity.campaign_id,
        AdLevel.GROUP: entity.group_id,
        AdLevel.AD: entity.ad_id,
    }[level]


def to_item(entity, level):
    names = {
        AdLevel.CAMPAIGN: entity.campaign_name,
        AdLevel.GROUP: entity.group_name,
        AdLevel.AD: entity.ad_name,
    }
    return {
        "id": id_of(entity, level),
        "name": names[level],
        "campaign_id": entity.campaign_id,
        "ad_group_id": entity.group_id,
    }


def to_row(row, level):
    column = {AdLevel.CAMPAIGN: "CAMPAIGN_ID", AdLevel.GROUP: "AD_GROUP_ID", AdLevel.AD: "AD_ID"}[level]
    figures = {
        "SPEND_IN_MICRO_DOLLAR": int(to_major(row.spend, row.currency) * 10**6),
        "PAID_IMPRESSION": row.impressions,
        "TOTAL_CLICKTHROUGH": row.clicks,
    }
    reported = {name: value for name, value in figures.items() if value is not None}
    return {"DATE": f"{row.day}", column: id_of(row.entity, level), **reported}


class TestPinterest(AdPlatformConformance):
    figures = frozenset({"spend", "impressions", "clicks"})
    accounts = (
        AdAccount("549755885175", "Main", "EUR", ZONE),
        AdAccount("549755885176", "Japan", "JPY", ZONE),
    )

    @pytest.fixture
    def harness(self, platform_data):
        platform = FakePlatform(
            partial(answer, platform_data),
            too_many_calls({"code": 8, "message": "You have exceeded your rate limit."}),
            lambda request: FakeResponse({"code": 2, "message": request.headers["authorization"]}, 401),
        )
        with serve_in_thread(platform):
            pinterest = Pinterest().with_base_url(f"{platform.url}/v5")
            yield PlatformHarness(pinterest, {"access_token": "pina_hush"}, platform.fail_with)


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return ads_pinterest
