"""Uploads of click conversions to Google Ads: payloads worked out by hand, a server, and the kit of senders."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from uuid import UUID

import pytest

from plugins import ads_google
from plugins.ads_google.conversions import CONVERSION_SENDER, send_conversions
from plugins.ads_google.payload import conversion_body, upload_body_without_repeated_orders
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import (
    Accepted,
    ActionSource,
    ClickId,
    Conversion,
    Customer,
    Deferred,
    Destination,
    LineItem,
    Rejected,
)
from service_core.delivery.postbacks.ports import BatchRejected, RelocatableSender
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.conversion_sender import (
    CUSTOMER,
    DESTINATION,
    REJECTED_ORDER_ID,
    ConversionSenderConformance,
    ReceivedConversions,
    SenderHarness,
)
from service_core.testing.fake_platform import (
    RETRY_SECONDS,
    FakePlatform,
    FakeResponse,
    fail_sending_calls,
    serve_api,
)

SECRETS = {
    "developer_token": "planted-developer", "client_id": "planted-client", "client_secret": "planted-secret",
    "refresh_token": "planted-refresh",
}  # fmt: skip
FAILURE = "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure"
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def google_ads_api(received):
    """Enough of Google to give tokens and take conversions."""

    def answers(request):
        if request.path == "/token":
            return FakeResponse({"access_token": "short-lived", "expires_in": 3599, "token_type": "Bearer"})
        assert request.headers["authorization"] == "Bearer short-lived"
        assert request.headers["developer-token"] == SECRETS["developer_token"]
        account = re.fullmatch(r"/v26/customers/(\d+):uploadClickConversions", request.path)[1]
        received.bodies.append(request.body)
        return answer_upload(request.json(), account, received)

    def refused(request):
        if request.path == "/token":
            values = {"error": "invalid_grant", "error_description": "Token planted-refresh was revoked."}
            return FakeResponse(values, 400)
        return failed_response({"authenticationError": "OAUTH_TOKEN_REVOKED"}, 401)

    quota = {"quotaErrorDetails": {"rateScope": "DEVELOPER", "retryDelay": f"{RETRY_SECONDS}s"}}
    return FakePlatform(answers, failed_response({"quotaError": "RESOURCE_EXHAUSTED"}, 429, quota), refused)


def answer_upload(body, account, received):
    assert body["partialFailure"] is True
    faults, results, seen = [], [], set()
    for index, row in enumerate(body["conversions"]):
        if row["orderId"] == REJECTED_ORDER_ID or row["orderId"] in seen:
            faults.append(partial_failure({"conversionUploadError": "UNPARSEABLE_GCLID"}, index))
            results.append({})
            continue
        seen.add(row["orderId"])
        asset = re.fullmatch(rf"customers/{account}/conversionActions/(\d+)", row["conversionAction"])[1]
        received.record_unless_duplicate(asset, row["orderId"], asset, is_test=body["validateOnly"])
        results.append({"gclid": row.get("gclid"), "conversionAction": row["conversionAction"]})
    return upload_response(*faults, results=[] if body["validateOnly"] else results)


def partial_failure(code, index=None):
    where = [
        {"fieldName": "conversions"} | ({} if index is None else {"index": index}),
        {"fieldName": "gclid"},
    ]
    result = "The click of Ada@example.com is not known."
    return {"errorCode": code, "message": result, "location": {"fieldPathElements": where}}


def upload_response(*faults, results=()):
    """An answer in which some conversions are refused."""
    error = {"code": 3, "message": "Multiple errors", "details": [{"@type": FAILURE, "errors": [*faults]}]}
    return FakeResponse(
        {"results": [*results], "jobId": "1"} | ({"partialFailureError": error} if faults else {})
    )


def failed_response(code, status, details=None):
    """An answer in which the call as a whole is refused."""
    one = {"errorCode": code, "message": "Not now, or not you."} | ({"details": details} if details else {})
    details = [{"@type": FAILURE, "errors": [one]}]
    return FakeResponse(
        {"error": {"code": status, "message": "The request failed.", "status": "ANY", "details": details}},
        status,
    )


def google_sender(api):
    return replace(CONVERSION_SENDER, send_batch=partial(send_conversions, f"{api.url}/token")).with_base_url(
        f"{api.url}/v26"
    )


class TestGoogleConversions(ConversionSenderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_api(google_ads_api(received := ReceivedConversions())) as api:
            sender = google_sender(api)
            fail = fail_sending_calls(api, lambda request: request.path != "/token")
            yield SenderHarness(sender, SECRETS, received, api.fail_with, fail)


def purchase_conversion(order="e-1", **fields):
    plain = Conversion(UUID(int=1), "Purchase", order, NOON, ActionSource.SYSTEM, Customer(email="a@b.co"))
    return replace(plain, **fields)


@pytest.mark.parametrize("kind", ["gclid", "gbraid", "wbraid"])
def test_purchase_with_all_fields_has_the_expected_payload(kind):
    east = timezone(timedelta(hours=5, minutes=30))
    result = purchase_conversion(
        order="order-7", occurred_at=datetime(2026, 7, 1, 17, 30, 9, 900_000, east), value=12_345, currency="USD",
        customer=replace(CUSTOMER, click=ClickId(kind, "Cj0_Kc-Q", NOON)), source_url="https://shop.example.com/thanks",
        order_id="order-7", line_items=(LineItem("sku-1", 2, 5_000),), consent_granted=True,
    )  # fmt: skip
    assert upload_body_without_repeated_orders(Destination("111-111-1111", "9001", "Purchase"), [result]) == {
        "conversions": [
            {
                kind: "Cj0_Kc-Q",
                "conversionAction": "customers/1111111111/conversionActions/9001",
                "conversionDateTime": "2026-07-01 12:00:09+00:00",
                "conversionValue": 123.45,
                "currencyCode": "USD",
                "orderId": "order-7",
                "userIdentifiers": [
                    {"hashedEmail": "b5fc85e55755f9e0d030a10ab4429b6b2944855f9a0d60077fe832becbc41d72"},
                    {"hashedPhoneNumber": "8a59780bb8cd2ba022bfa5ba2ea3b6e07af17a7d8b30c1f9b3390e36f69019e4"},
                ],
                "consent": {"adUserData": "GRANTED"},
            }
        ],
        "partialFailure": True,
        "validateOnly": False,
    }


def test_unknown_consent_is_omitted():
    assert "consent" not in conversion_body(DESTINATION, purchase_conversion())


def test_first_conversion_of_an_order_id_is_uploaded():
    reported = [
        purchase_conversion("a", value=1, currency="JPY"),
        purchase_conversion("b"),
        purchase_conversion("a", value=2, currency="JPY"),
    ]
    rows = upload_body_without_repeated_orders(DESTINATION, reported)["conversions"]
    assert [(row["orderId"], row.get("conversionValue")) for row in rows] == [("a", 1.0), ("b", None)]


@pytest.fixture
async def api():
    async with serve_api(google_ads_api(ReceivedConversions())) as api:
        yield api


async def send_and_read_request(api, *orders):
    return await google_sender(api).send(
        DESTINATION, [purchase_conversion(order) for order in orders], SECRETS
    )


def send_and_read_outcomes(api, answer):
    before = api.answers
    api.answers = lambda request: before(request) if request.path == "/token" else answer


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ({"conversionUploadError": "ORDER_ID_ALREADY_IN_USE"}, Accepted(200)),
        ({"conversionUploadError": "CLICK_CONVERSION_ALREADY_EXISTS"}, Accepted(200)),
        ({"conversionUploadError": "TOO_RECENT_EVENT"}, Deferred("TOO_RECENT_EVENT", 200, 21_600.0)),
        ({"conversionUploadError": "TOO_RECENT_CONVERSION_ACTION"}, Deferred("TOO_RECENT_CONVERSION_ACTION", 200, 21_600.0)),
        ({"internalError": "TRANSIENT_ERROR"}, Deferred("TRANSIENT_ERROR", 200)),
        ({"conversionUploadError": "EXPIRED_EVENT"}, Rejected("EXPIRED_EVENT", 200)),
        ({"fieldError": "INVALID_VALUE"}, Rejected("INVALID_VALUE", 200)),
        ({}, Rejected("UNKNOWN", 200)),
    ],
)  # fmt: skip
async def test_outcome_is_per_conversion(api, code, expected):
    send_and_read_outcomes(api, upload_response(partial_failure(code, 1)))
    assert await send_and_read_request(api, "a", "b", "c") == [Accepted(200), expected, Accepted(200)]


async def test_duplicates_share_the_outcome_of_the_uploaded_conversion(api):
    send_and_read_outcomes(
        api, upload_response(partial_failure({"conversionUploadError": "EXPIRED_EVENT"}, 1))
    )
    refused = Rejected("EXPIRED_EVENT", 200)
    assert await send_and_read_request(api, "a", "b", "a", "b") == [
        Accepted(200),
        refused,
        Accepted(200),
        refused,
    ]


async def test_error_without_an_index_applies_to_all_conversions(api):
    send_and_read_outcomes(
        api, upload_response(partial_failure({"conversionUploadError": "TOO_MANY_CONVERSIONS_IN_REQUEST"}))
    )
    assert (
        await send_and_read_request(api, "a", "b") == [Rejected("TOO_MANY_CONVERSIONS_IN_REQUEST", 200)] * 2
    )


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ({"authenticationError": "NOT_ADS_USER"}, 401, CredentialsRejected),
        ({"authorizationError": "USER_PERMISSION_DENIED"}, 403, CredentialsRejected),
        ({"quotaError": "ACCESS_PROHIBITED"}, 403, PlatformUnavailable),
        ({"quotaError": "RESOURCE_TEMPORARILY_EXHAUSTED"}, 429, PlatformUnavailable),
        ({"internalError": "TRANSIENT_ERROR"}, 500, PlatformUnavailable),
        ({}, 400, BatchRejected),
    ],
)
async def test_error_code_decides_between_retry_and_rejection(api, code, status, kind):
    send_and_read_outcomes(api, failed_response(code, status))
    with pytest.raises(kind):
        await send_and_read_request(api, "a")


@pytest.mark.parametrize(
    ("code", "status"),
    [({"notAllowlistedError": "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"}, 403), ({"requestError": "INVALID_CUSTOMER_ID"}, 400)],
)  # fmt: skip
async def test_general_rejection_is_not_retried_individually(api, code, status):
    send_and_read_outcomes(api, failed_response(code, status))
    assert await send_and_read_request(api, "a", "b") == [Rejected(next(iter(code.values())), status)] * 2


@pytest.mark.parametrize("told", [[], {"partialFailureError": {"details": [{"errors": [7]}]}}, "odd"])
async def test_malformed_response_accepts_no_conversion(api, told):
    send_and_read_outcomes(api, FakeResponse(told))
    with pytest.raises(PlatformUnavailable):
        await send_and_read_request(api, "a")


def test_google_sender_is_registered_by_its_hook():
    brought = collect_plugins_into_registry(
        [("ads_google", ads_google)], discover_entry_points=False
    ).conversion_senders
    assert isinstance(brought["google"], RelocatableSender)
