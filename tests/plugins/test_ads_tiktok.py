"""TikTok's reports: a server of its wire format on the loopback, and the kit of ad platforms."""

import json
from datetime import UTC, date, datetime

import pytest

from plugins import ads_tiktok
from plugins.ads_tiktok.adapter import TikTokAds
from plugins.ads_tiktok.mapping import map_account, map_spend_row
from service_core.commerce.ads.models import AdAccount, AdLevel
from service_core.commerce.ads.ports import SupportsBaseUrl
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.money import to_major
from service_core.testing.ad_platform import FIRST, THIRD, AdPlatformConformance, PlatformHarness
from service_core.testing.fake_platform import FakePlatform, FakeResponse, serve_api

EUROS = AdAccount("7000000000000000001", "Main", "EUR", "Europe/Berlin")
YEN = AdAccount("7000000000000000002", "Japan", "JPY", "Asia/Tokyo")
SECRETS = {"access_token": "planted-token", "app_id": "planted-app", "secret": "planted-secret"}
LEVELS = {"AUCTION_CAMPAIGN": AdLevel.CAMPAIGN, "AUCTION_ADGROUP": AdLevel.GROUP, "AUCTION_AD": AdLevel.AD}
PAGE = 2
NOW = datetime(2026, 7, 8, tzinfo=UTC)


def api_response(data=None, code=0, message="OK", status=200):
    """The envelope of every answer."""
    return FakeResponse({"code": code, "message": message, "request_id": "r", "data": data or {}}, status)


def tiktok_api(platform_data):
    """Enough of business-api.tiktok.com to tell a scene."""

    def answers(request):
        assert request.headers["access-token"] == SECRETS["access_token"]
        match request.path.removeprefix("/open_api/v1.3/"):
            case "oauth2/advertiser/get/":
                assert request.query == {"app_id": SECRETS["app_id"], "secret": SECRETS["secret"]}
                return api_response(
                    {
                        "list": [
                            {"advertiser_id": one.id, "advertiser_name": one.name}
                            for one in platform_data.accounts
                        ]
                    }
                )
            case "advertiser/info/":
                ids = json.loads(request.query["advertiser_ids"])
                fields = json.loads(request.query["fields"])
                return api_response(
                    {"list": [account_fields(one, fields) for one in platform_data.accounts if one.id in ids]}
                )
            case "report/integrated/get/":
                return report_response(request, platform_data)
            case "campaign/get/" | "adgroup/get/" | "ad/get/" as path:
                return entity_list_response(request, platform_data, path.partition("/")[0])

    def refused(_):
        return api_response(
            code=40105, message="Access token planted-token is incorrect or has been revoked."
        )

    return FakePlatform(
        answers, api_response(code=40100, message="Too many requests. Please retry in some time."), refused
    )


def account_fields(account, fields):
    known = {"advertiser_id": account.id, "name": account.name, "currency": account.currency,
             "timezone": "Etc/GMT-1", "display_timezone": account.timezone}  # fmt: skip
    return {name: known[name] for name in fields}


def report_response(asked, platform_data):
    """Two rows to a page, whatever size is asked for."""
    assert asked.query["report_type"] == "BASIC"
    first, last = (date.fromisoformat(asked.query[end]) for end in ("start_date", "end_date"))
    level = LEVELS[asked.query["data_level"]]
    rows = platform_data.expected_rows(asked.query["advertiser_id"], level, first, last)
    dimensions, metrics = (json.loads(asked.query[name]) for name in ("dimensions", "metrics"))
    page = int(asked.query["page"])
    reported = [report_row(row, dimensions, metrics) for row in rows[(page - 1) * PAGE : page * PAGE]]
    sizes = {"page": page, "page_size": PAGE, "total_number": len(rows), "total_page": -(-len(rows) // PAGE)}
    return api_response({"list": reported, "page_info": sizes})


def entity_list_response(asked, platform_data, kind):
    """Every entity of the account but the last ad, two to a page."""
    levels = {"campaign": AdLevel.CAMPAIGN, "adgroup": AdLevel.GROUP, "ad": AdLevel.AD}
    own = [row.entity for row in platform_data.rows if row.account_id == asked.query["advertiser_id"]]
    ids = [*dict.fromkeys(one.id for one in own if one.level is levels[kind] and one.id != "305")]
    assert json.loads(asked.query["fields"]) == [f"{kind}_id", "operation_status"]
    page = int(asked.query["page"])
    reported = [
        {f"{kind}_id": id_, "operation_status": "ENABLE"} for id_ in ids[(page - 1) * PAGE : page * PAGE]
    ]
    return api_response({"list": reported, "page_info": {"page": page, "total_page": -(-len(ids) // PAGE)}})


def report_row(row, dimensions, metrics):
    """Numbers are text; what is not known is a dash or left out."""
    entity = row.entity
    known = {
        "campaign_id": entity.campaign_id, "campaign_name": entity.campaign_name,
        "adgroup_id": entity.group_id, "adgroup_name": entity.group_name,
        "ad_id": entity.ad_id, "ad_name": entity.ad_name, "stat_time_day": f"{row.day} 00:00:00",
        "spend": format_amount(row.spend, row.currency), "impressions": row.impressions, "clicks": row.clicks,
        "reach": "-" if row.reach is None else row.reach, "complete_payment": row.conversions,
        "total_complete_payment_rate": format_amount(row.conversion_value, row.currency),
    }  # fmt: skip
    written = {name: str(value) for name, value in known.items() if value is not None}
    assert set(dimensions) <= written.keys()
    return {
        "dimensions": {name: written[name] for name in dimensions},
        "metrics": {name: written[name] for name in metrics if name in written},
    }


def format_amount(minor, currency):
    return None if minor is None else str(to_major(minor, currency))


class TestTikTokAds(AdPlatformConformance):
    accounts = (EUROS, YEN)

    @pytest.fixture
    async def harness(self, platform_data):
        async with serve_api(tiktok_api(platform_data)) as api:
            yield PlatformHarness(TikTokAds(f"{api.url}/open_api/v1.3"), SECRETS, api.fail_with)

    async def test_entities_stand_as_they_are_listed(self, harness, platform_data):
        rows = await harness.platform.fetch_daily_spend(
            platform_data.accounts[0], AdLevel.AD, FIRST, THIRD, harness.secrets
        )
        assert {row.entity.id: row.entity.status for row in rows} == {
            "301": "ENABLE", "302": "ENABLE", "303": "ENABLE", "304": "ENABLE", "305": None,
        }  # fmt: skip


@pytest.fixture
async def api():
    async with serve_api(
        FakePlatform(lambda _: api_response(), api_response(), lambda _: api_response())
    ) as api:
        yield api


async def read_spend(api):
    return (
        await TikTokAds()
        .with_base_url(f"{api.url}/v9")
        .fetch_daily_spend(EUROS, AdLevel.AD, FIRST, THIRD, SECRETS)
    )


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(40001, 200, CredentialsRejected), (40102, 200, CredentialsRejected), (40105, 200, CredentialsRejected), (None, 401, CredentialsRejected),
     (40100, 200, PlatformUnavailable), (40002, 200, PlatformUnavailable), (50000, 200, PlatformUnavailable), (40100, 429, PlatformUnavailable)],
)  # fmt: skip
async def test_error_code_decides_between_retry_and_rejection(api, code, status, kind):
    api.answers = lambda _: api_response(code=code, message="No.", status=status)
    with pytest.raises(kind, match=r"TikTok says: No\."):
        await read_spend(api)
    assert api.asked[0].path == "/v9/report/integrated/get/"


async def test_retry_delay_is_read_from_the_response(api):
    api.answers = lambda _: FakeResponse({"code": 40100, "message": "Slow down"}, 429, {"Retry-After": "30"})
    with pytest.raises(PlatformUnavailable) as fault:
        await read_spend(api)
    assert fault.value.retry_after == 30


async def test_malformed_rows_are_skipped(api):
    row = {"dimensions": {"ad_id": "1", "stat_time_day": "2026-07-01 00:00:00"}, "metrics": {}}
    pages = {"page_info": {"total_page": 1}}
    for values in ({}, {"list": []}, {"list": [row], **pages}, {"list": [[]], **pages}):
        api.answers = lambda _, values=values: api_response(values)
        with pytest.raises(PlatformUnavailable, match="another shape"):
            await read_spend(api)


def test_dash_is_null_and_amounts_avoid_floats():
    values = {
        "dimensions": {"campaign_id": 7, "stat_time_day": "2026-07-01 00:00:00"},
        "metrics": {"spend": "90071992547409.93", "clicks": "0", "reach": "-", "complete_payment": "2.5"},
    }
    row = map_spend_row(values, EUROS, AdLevel.CAMPAIGN, NOW, "v1.3")
    assert (row.spend, row.clicks, row.reach, row.conversions) == (9007199254740993, 0, None, 2.5)
    assert (row.impressions, row.conversion_value, row.entity.id) == (None, None, "7")


def test_account_time_zone_falls_back_to_its_own():
    values = {"advertiser_id": "1", "currency": "EUR", "timezone": "Europe/Berlin"}
    assert map_account(values) == AdAccount("1", None, "EUR", "Europe/Berlin")


def test_tiktok_platform_is_registered_by_its_hook():
    assert list(
        collect_plugins_into_registry([("ads_tiktok", ads_tiktok)], discover_entry_points=False).ad_platforms
    ) == ["tiktok"]
    assert isinstance(TikTokAds(), SupportsBaseUrl)


async def test_missing_http_client_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformUnavailable, match=r"touchpoint-analytics\[ads\]"):
        await TikTokAds().list_accessible_accounts(SECRETS)
