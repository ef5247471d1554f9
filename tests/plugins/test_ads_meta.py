"""Meta's Insights API: a server of its wire format on the loopback, and the kit of ad platforms."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from plugins import ads_meta
from plugins.ads_meta.adapter import MetaAds
from plugins.ads_meta.mapping import map_spend_row
from service_core.commerce.ads.models import AdAccount, AdLevel
from service_core.commerce.ads.ports import SupportsBaseUrl
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.money import to_major
from service_core.testing.ad_platform import EUR_ACCOUNT, FIRST, THIRD, AdPlatformConformance, PlatformHarness
from service_core.testing.fake_platform import FakePlatform, FakeResponse, serve_api, too_many_calls

TOKEN, PAGE = "EAAB-planted-token", 2
NAMES = {"campaign": AdLevel.CAMPAIGN, "adset": AdLevel.GROUP, "ad": AdLevel.AD}
NOW = datetime(2026, 7, 8, tzinfo=UTC)


def graph_api(platform_data, version="v25.0"):
    """Enough of graph.facebook.com to tell a scene."""

    def answers(request):
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert "access_token" not in request.query
        root, *path = request.path.strip("/").split("/")
        assert root == version
        if path == ["me", "adaccounts"]:
            return page_response(
                request, [account_fields(one, request.query["fields"]) for one in platform_data.accounts]
            )
        account, edge = path
        if edge != "insights":
            assert request.query["fields"] == "id,effective_status"
            level = NAMES[edge.removesuffix("s")]
            ids = dict.fromkeys(row.entity.id for row in platform_data.rows if row.entity.level is level)
            return page_response(
                request, [{"id": id_, "effective_status": "ACTIVE"} for id_ in [*ids][:-1] or ids]
            )
        days = json.loads(request.query["time_range"])
        since, until = (date.fromisoformat(days[end]) for end in ("since", "until"))
        rows = platform_data.expected_rows(account, NAMES[request.query["level"]], since, until)
        assert request.query["time_increment"] == "1"
        return page_response(request, [insights_row(row, request.query["fields"].split(",")) for row in rows])

    def refused(_):
        values = {"message": f"Error validating access token: {TOKEN} has expired.", "type": "OAuthException"}
        return FakeResponse({"error": {**values, "code": 190, "error_subcode": 463, "fbtrace_id": "A1"}}, 400)

    throttled = {"error": {"message": "There have been too many calls", "code": 80000, "is_transient": False}}
    return FakePlatform(answers, too_many_calls(throttled, 400), refused)


def page_response(asked, told):
    """Two to a page; the address of the next page holds the token, as Meta's does."""
    start = int(asked.query.get("after", 0))
    paging = {"cursors": {"before": str(start), "after": str(start + PAGE)}}
    if start + PAGE < len(told):
        paging["next"] = f"https://graph.facebook.com/next?access_token={TOKEN}"
    return FakeResponse({"data": told[start : start + PAGE]} | ({"paging": paging} if told else {}))


def account_fields(account, fields):
    values = {"id": account.id, "name": account.name, "currency": account.currency}
    return {name: {**values, "timezone_name": account.timezone}[name] for name in fields.split(",")}


def insights_row(row, fields):
    entity = row.entity
    known = {
        "campaign_id": entity.campaign_id, "campaign_name": entity.campaign_name,
        "adset_id": entity.group_id, "adset_name": entity.group_name,
        "ad_id": entity.ad_id, "ad_name": entity.ad_name,
        "spend": format_amount(row.spend, row.currency), "impressions": row.impressions, "clicks": row.clicks,
        "reach": row.reach, "attribution_setting": "7d_click_1d_view",
        "actions": purchase_actions(row.conversions), "action_values": purchase_actions(format_amount(row.conversion_value, row.currency)),
    }  # fmt: skip
    values = {
        name: str(known[name]) if not isinstance(known[name], list) else known[name]
        for name in fields
        if known[name] is not None
    }
    return {**values, "date_start": str(row.day), "date_stop": str(row.day)}


def format_amount(minor, currency):
    return None if minor is None else str(to_major(minor, currency))


def purchase_actions(value):
    """Purchases among other kinds, told by several names; no purchase leaves the kind out."""
    if value is None:
        return None
    others = [{"action_type": "link_click", "value": "9"}]
    if not float(value):
        return others
    own = [{"action_type": kind, "value": str(value)} for kind in ("purchase", "omni_purchase")]
    return [*others, *own, {"action_type": "offsite_conversion.fb_pixel_purchase", "value": "1"}]


class TestMetaAds(AdPlatformConformance):
    @pytest.fixture
    async def harness(self, platform_data):
        async with serve_api(graph_api(platform_data)) as api:
            yield PlatformHarness(MetaAds(f"{api.url}/v25.0"), {"access_token": TOKEN}, api.fail_with)

    async def test_entities_stand_as_they_are_listed(self, harness, platform_data):
        rows = await harness.platform.fetch_daily_spend(
            platform_data.accounts[0], AdLevel.AD, FIRST, THIRD, harness.secrets
        )
        assert {row.entity.id: row.entity.status for row in rows} == {
            "301": "ACTIVE", "302": "ACTIVE", "303": "ACTIVE", "304": "ACTIVE", "305": None,
        }  # fmt: skip


@pytest.fixture
async def api():
    async with serve_api(
        FakePlatform(lambda _: FakeResponse({"data": []}), FakeResponse({}), lambda _: FakeResponse({}))
    ) as api:
        yield api


def meta_platform(api):
    return MetaAds().with_base_url(f"{api.url}/v99.0")


async def read_spend(api):
    return await meta_platform(api).fetch_daily_spend(
        EUR_ACCOUNT, AdLevel.AD, FIRST, THIRD, {"access_token": TOKEN}
    )


async def test_version_is_the_one_the_settings_name(api):
    assert isinstance(MetaAds(), SupportsBaseUrl)
    assert await read_spend(api) == []
    assert api.asked[0].path == "/v99.0/act_1/insights"


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(190, 400, CredentialsRejected), (200, 403, CredentialsRejected), (10, 403, CredentialsRejected), (None, 401, CredentialsRejected),
     (17, 400, PlatformUnavailable), (4, 403, PlatformUnavailable), (613, 400, PlatformUnavailable), (2, 500, PlatformUnavailable), (100, 400, PlatformUnavailable)],
)  # fmt: skip
async def test_error_code_decides_between_retry_and_rejection(api, code, status, kind):
    api.answers = lambda _: FakeResponse({"error": {"message": "No.", "code": code}}, status)
    with pytest.raises(kind, match=r"Meta says: No\."):
        await read_spend(api)


@pytest.mark.parametrize(
    ("header", "expected"),
    [({"X-Business-Use-Case-Usage": json.dumps({"1": [{"type": "ads_insights", "estimated_time_to_regain_access": 19}]})}, 1140),
     ({"X-Business-Use-Case-Usage": "no json"}, None), ({"Retry-After": "Wed, 08 Jul 2026 00:02:00 GMT"}, 120), ({}, None)],
)  # fmt: skip
async def test_retry_delay_is_read_from_the_response(api, header, expected):
    api.answers = lambda _: FakeResponse({"error": {"message": "Too many", "code": 80004}}, 400, header)
    platform = replace(meta_platform(api), clock=lambda: NOW)
    with pytest.raises(PlatformUnavailable) as fault:
        await platform.fetch_daily_spend(EUR_ACCOUNT, AdLevel.AD, FIRST, THIRD, {"access_token": TOKEN})
    assert fault.value.retry_after == expected


@pytest.mark.parametrize(("most", "sizes"), [(130, [500, 250, 125]), (10, [500, 250, 125, 62, 31, 15])])
async def test_too_large_page_is_requested_in_smaller_pages(api, most, sizes):
    values = {
        "message": "Please reduce the amount of data you're asking for, then retry your request",
        "code": 1,
    }

    def answers(request):
        return (
            FakeResponse({"data": []})
            if int(request.query["limit"]) <= most
            else FakeResponse({"error": values}, 500)
        )

    api.answers = answers
    if most < min(sizes):
        with pytest.raises(PlatformUnavailable, match="reduce the amount"):
            await read_spend(api)
    else:
        assert await read_spend(api) == []
    assert [int(request.query["limit"]) for request in api.asked] == sizes


async def test_malformed_rows_are_skipped(api):
    for row in ({}, {"ad_id": "1", "campaign_id": "2", "date_start": "soon"}, {"ad_id": "1", "campaign_id": "2", "date_start": "2026-07-01", "spend": "much"}, []):  # fmt: skip
        api.answers = lambda _, row=row: FakeResponse({"data": [row]})
        with pytest.raises(PlatformUnavailable, match="another shape"):
            await read_spend(api)


def test_purchases_count_once_and_amounts_avoid_floats():
    values = {
        "campaign_id": "1", "date_start": "2026-07-01", "spend": "0.285",
        "actions": [{"action_type": "purchase", "value": "3"}, {"action_type": "omni_purchase", "value": "4"}],
        "action_values": [{"action_type": "purchase", "value": "90071992547409.93"}],
    }  # fmt: skip
    row = map_spend_row(
        values, AdAccount("act_1", None, "KWD", "Asia/Kuwait"), AdLevel.CAMPAIGN, NOW, "v25.0"
    )
    assert (row.spend, row.conversions, row.conversion_value) == (285, 4.0, 90071992547409930)
    assert (row.clicks, row.reach, row.report_version) == (None, None, "v25.0")


def test_meta_platform_is_registered_by_its_hook():
    assert list(
        collect_plugins_into_registry([("ads_meta", ads_meta)], discover_entry_points=False).ad_platforms
    ) == ["meta"]


async def test_missing_http_client_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformUnavailable, match=r"touchpoint-analytics\[ads\]"):
        await MetaAds().list_accessible_accounts({"access_token": TOKEN})
