"""Google Ads over REST: a server of its wire format on the loopback, and the kit of ad platforms."""

import re
from datetime import UTC, date, datetime

import pytest

from plugins import ads_google
from plugins.ads_google.adapter import GoogleAds
from plugins.ads_google.mapping import map_spend_row
from service_core.commerce.ads.models import AdAccount, AdLevel
from service_core.commerce.ads.ports import SupportsBaseUrl
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.money import to_major
from service_core.testing.ad_platform import FIGURES, FIRST, THIRD, AdPlatformConformance, PlatformHarness
from service_core.testing.fake_platform import RETRY_SECONDS, FakePlatform, FakeResponse, serve_api

EUROS = AdAccount("1111111111", "Main", "EUR", "Europe/Berlin")
YEN = AdAccount("2222222222", "Japan", "JPY", "Asia/Tokyo")
MANAGER = "9999999999"
SECRETS = {
    "developer_token": "planted-developer", "client_id": "planted-client", "client_secret": "planted-secret",
    "refresh_token": "planted-refresh",
}  # fmt: skip
LEVELS = {"campaign": AdLevel.CAMPAIGN, "ad_group": AdLevel.GROUP, "ad_group_ad": AdLevel.AD}
NOW = datetime(2026, 7, 8, tzinfo=UTC)


def google_ads_api(accounts, told, manager=None):
    """Enough of Google to tell accounts, and rows by account, level and days."""

    def answers(request):
        if request.path == "/token":
            form = request.form()
            assert form.pop("grant_type") == "refresh_token"
            assert form == {name: SECRETS[name] for name in ("client_id", "client_secret", "refresh_token")}
            return FakeResponse({"access_token": "short-lived", "expires_in": 3599, "token_type": "Bearer"})
        assert request.headers["authorization"] == "Bearer short-lived"
        assert request.headers["developer-token"] == SECRETS["developer_token"]
        assert request.headers.get("login-customer-id") == manager
        if request.path == "/v26/customers:listAccessibleCustomers":
            names = [f"customers/{one.id}" for one in accounts]
            return FakeResponse({"resourceNames": [*names, f"customers/{MANAGER}", "customers/3333333333"]})
        customer = re.fullmatch(r"/v26/customers/(\d+)/googleAds:searchStream", request.path)[1]
        return stream_response(answer_query(request.json()["query"], customer, accounts, told))

    def refused(request):
        if request.path == "/token":
            return FakeResponse(
                {"error": "invalid_grant", "error_description": "Token planted-refresh was revoked."}, 400
            )
        return failure_response({"authenticationError": "OAUTH_TOKEN_REVOKED"}, 401)

    quota = {"quotaErrorDetails": {"rateScope": "DEVELOPER", "retryDelay": f"{RETRY_SECONDS}s"}}
    return FakePlatform(answers, failure_response({"quotaError": "RESOURCE_EXHAUSTED"}, 429, quota), refused)


def answer_query(text, customer, accounts, told):
    fields, resource = re.fullmatch(r"SELECT (.*) FROM (\w+).*", text).groups()
    if resource in {"customer", "customer_client"}:
        if customer == "3333333333":
            return failure_response({"authorizationError": "CUSTOMER_NOT_ENABLED"}, 403)
        name = {"customer": "customer", "customer_client": "customerClient"}[resource]
        known = {one.id: one for one in accounts}
        if resource == "customer" and customer == MANAGER:
            return [{name: {"id": MANAGER, "currencyCode": "USD", "timeZone": "UTC", "manager": True}}]
        own = [known[customer]] if resource == "customer" else accounts
        return [
            {
                name: {
                    "id": one.id,
                    "descriptiveName": one.name,
                    "currencyCode": one.currency,
                    "timeZone": one.timezone,
                    "manager": False,
                }
            }
            for one in own
        ]
    first, last = map(date.fromisoformat, re.findall(r"'(\d{4}-\d\d-\d\d)'", text))
    assert "metrics.cost_micros" in fields
    return [row_json(row) for row in told(customer, LEVELS[resource], first, last)]


def row_json(row):
    """A row in Google's words: whole numbers as text, fractions as numbers, and no key for what is not known."""
    entity = row.entity
    figures = {
        "costMicros": None if row.spend is None else str(int(to_major(row.spend, row.currency).scaleb(6))),
        "impressions": None if row.impressions is None else str(row.impressions),
        "clicks": None if row.clicks is None else str(row.clicks),
        "conversions": row.conversions,
        "conversionsValue": None if row.conversion_value is None else float(to_major(row.conversion_value, row.currency)),
    }  # fmt: skip
    values = {
        "campaign": {"resourceName": "customers/1/campaigns/1", "id": entity.campaign_id, "name": entity.campaign_name, "status": "ENABLED"},
        "segments": {"date": str(row.day)},
        "metrics": {name: value for name, value in figures.items() if value is not None},
    }  # fmt: skip
    if entity.group_id:
        values["adGroup"] = {"id": entity.group_id, "name": entity.group_name, "status": "ENABLED"}
    if entity.ad_id:
        values["adGroupAd"] = {"status": "PAUSED", "ad": {"id": entity.ad_id, "name": entity.ad_name}}
    return values


def stream_response(rows):
    """Two rows to a piece of the stream."""
    if isinstance(rows, FakeResponse):
        return rows
    pieces = [{"results": rows[start : start + 2], "requestId": "r"} for start in range(0, len(rows), 2)]
    return FakeResponse(pieces)


def failure_response(code, status, details=None):
    """A failure as searchStream tells it: the first and only piece of a stream."""
    kind = "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure"
    fault = {"errorCode": code, "message": "Not now, or not you."} | ({"details": details} if details else {})
    error = {"code": status, "message": "The request failed.", "status": "ANY", "details": [{"@type": kind, "errors": [fault]}]}  # fmt: skip
    return FakeResponse([{"error": error}], status)


class TestGoogleAds(AdPlatformConformance):
    figures = frozenset(FIGURES) - {"reach"}
    accounts = (EUROS, YEN)

    @pytest.fixture
    async def harness(self, platform_data):
        async with serve_api(google_ads_api(platform_data.accounts, platform_data.expected_rows)) as api:
            yield PlatformHarness(GoogleAds(f"{api.url}/v26", f"{api.url}/token"), SECRETS, api.fail_with)


@pytest.fixture
async def api():
    async with serve_api(google_ads_api((EUROS, YEN), lambda *_: [], MANAGER)) as api:
        yield api


def google_ads_platform(api):
    return GoogleAds(token_url=f"{api.url}/token").with_base_url(f"{api.url}/v26")


async def test_manager_account_lists_its_client_accounts(api):
    below = await google_ads_platform(api).list_accessible_accounts(
        {**SECRETS, "login_customer_id": "999-999-9999"}
    )
    assert below == [EUROS, YEN]
    assert api.asked[-1].path == f"/v26/customers/{MANAGER}/googleAds:searchStream"


@pytest.mark.parametrize(
    ("code", "status", "kind", "wait"),
    [
        ({"authenticationError": "NOT_ADS_USER"}, 401, CredentialsRejected, None),
        ({"authorizationError": "USER_PERMISSION_DENIED"}, 403, CredentialsRejected, None),
        ({"authorizationError": "CUSTOMER_NOT_ENABLED"}, 403, CredentialsRejected, None),
        ({"quotaError": "ACCESS_PROHIBITED"}, 403, PlatformUnavailable, None),
        ({"quotaError": "RESOURCE_TEMPORARILY_EXHAUSTED"}, 429, PlatformUnavailable, None),
        ({"internalError": "TRANSIENT_ERROR"}, 500, PlatformUnavailable, None),
        ({"queryError": "UNRECOGNIZED_FIELD"}, 400, PlatformUnavailable, None),
    ],
)
async def test_error_code_decides_between_retry_and_rejection(api, code, status, kind, wait):
    before = api.answers
    api.answers = lambda request: (
        before(request) if request.path == "/token" else failure_response(code, status)
    )
    with pytest.raises(kind, match="Not now, or not you") as fault:
        await google_ads_platform(api).fetch_daily_spend(EUROS, AdLevel.AD, FIRST, THIRD, SECRETS)
    assert getattr(fault.value, "retry_after", None) == wait


async def test_token_endpoint_failure_is_not_a_rejection(api):
    api.answers = lambda _: FakeResponse({"error": "internal_failure"}, 503, {"Retry-After": "5"})
    with pytest.raises(PlatformUnavailable, match="internal_failure"):
        await google_ads_platform(api).list_accessible_accounts(SECRETS)


async def test_malformed_rows_are_skipped(api):
    before = api.answers
    for row in ({}, [], {"campaign": {"id": "1"}, "segments": {"date": "soon"}}):
        api.answers = lambda request, row=row: (
            before(request) if request.path == "/token" else FakeResponse([{"results": [row]}])
        )
        with pytest.raises(PlatformUnavailable, match="another shape"):
            await google_ads_platform(api).fetch_daily_spend(EUROS, AdLevel.CAMPAIGN, FIRST, THIRD, SECRETS)


@pytest.mark.parametrize(
    ("currency", "micros", "expected"),
    [("EUR", "12345678", 1235), ("EUR", "5000", 0), ("EUR", "15000", 2), ("JPY", "1500000", 2), ("KWD", "1234", 1),
     ("EUR", "90071992547409930000", 9007199254740993)],
)  # fmt: skip
def test_micros_become_minor_units_without_a_float(currency, micros, expected):
    account = AdAccount("1", None, currency, "UTC")
    values = {"campaign": {"id": 7}, "segments": {"date": "2026-07-01"}, "metrics": {"costMicros": micros}}
    row = map_spend_row(values, account, AdLevel.CAMPAIGN, NOW, "v26")
    assert (row.spend, row.clicks, row.reach, row.conversions) == (expected, None, None, None)
    assert (row.entity.id, row.entity.campaign_name) == ("7", None)


def test_status_is_that_of_the_entity():
    row = {"campaign": {"id": "1", "status": "ENABLED"}, "adGroup": {"id": "2", "status": "PAUSED"}, "segments": {"date": "2026-07-01"}}  # fmt: skip
    statuses = [
        map_spend_row(row, EUROS, level, NOW, "v26").entity.status
        for level in (AdLevel.CAMPAIGN, AdLevel.GROUP)
    ]
    assert statuses == ["ENABLED", "PAUSED"]


def test_google_platform_is_registered_by_its_hook():
    assert list(
        collect_plugins_into_registry([("ads_google", ads_google)], discover_entry_points=False).ad_platforms
    ) == ["google"]
    assert isinstance(GoogleAds(), SupportsBaseUrl)


async def test_missing_http_client_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformUnavailable, match=r"touchpoint-analytics\[ads\]"):
        await GoogleAds().list_accessible_accounts(SECRETS)
