"""Meta's Conversions API: payloads worked out by hand, a server of its wire format, and the kit of senders."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from plugins import ads_meta
from plugins.ads_meta.conversions import CONVERSION_SENDER
from plugins.ads_meta.payload import _fbc_cookie_value, batch_body, event_body
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import (
    Accepted,
    ActionSource,
    ClickId,
    Conversion,
    Customer,
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
    FakePlatform,
    FakeResponse,
    fail_sending_calls,
    serve_api,
    too_many_calls,
)

TOKEN = "EAAB-planted-token"
CLICK = ClickId("fbclid", "IwAR0_Ab-C", datetime(2026, 7, 1, 10, tzinfo=UTC))
SECRETS = {"access_token": TOKEN}


def graph_api(received):
    """Enough of graph.facebook.com to take events."""

    def answers(request):
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert (request.method, request.query) == ("POST", {})
        version, pixel, edge = request.path.strip("/").split("/")
        assert (version, edge) == ("v26.0", "events")
        received.bodies.append(request.body)
        body = request.json()
        if any(event["event_id"] == REJECTED_ORDER_ID for event in body["data"]):
            return error_response(100, 400, 2804003, "Ada@example.com is wrong.")
        for event in body["data"]:
            received.record_unless_duplicate(
                pixel, event["event_id"], event["event_name"], is_test="test_event_code" in body
            )
        return FakeResponse({"events_received": len(body["data"]), "messages": [], "fbtrace_id": "A1"})

    busy = too_many_calls({"error": {"message": "There have been too many calls", "code": 80004}}, 400)
    return FakePlatform(answers, busy, lambda _: error_response(190, 400, 463, f"{TOKEN} has expired."))


def error_response(code, status, subcode=None, message="No."):
    error = {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "A1"}
    return FakeResponse({"error": error | ({"error_subcode": subcode} if subcode else {})}, status)


class TestMetaConversions(ConversionSenderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_api(graph_api(received := ReceivedConversions())) as api:
            yield SenderHarness(
                CONVERSION_SENDER.with_base_url(f"{api.url}/v26.0"),
                SECRETS,
                received,
                api.fail_with,
                fail_sending_calls(api),
            )

    async def test_test_without_a_code_would_count_and_is_not_sent(self, harness):
        assert (
            await harness.send("a", "b", destination=replace(DESTINATION, test=True))
            == [Rejected("no_test_event_code")] * 2
        )
        assert harness.received.bodies == []

    async def test_code_is_only_told_in_tests(self, harness):
        await harness.send("a", destination=replace(DESTINATION, test_code="TEST42"))
        assert harness.received.accepted_event_ids() == ["a"]


def sha256_hex_of(normal):
    return hashlib.sha256(normal.encode()).hexdigest()


def test_website_purchase_with_all_fields_has_the_expected_payload():
    conversion = Conversion(
        id=UUID(int=1), event="Purchase", event_id="order-7", occurred_at=datetime(2026, 7, 1, 12, 0, 0, 900_000, UTC),
        action_source=ActionSource.WEBSITE, customer=replace(CUSTOMER, click=CLICK, anonymous_id="User_1"),
        source_url="https://shop.example.com/thanks", value=12_345, currency="USD", order_id="order-7",
        line_items=(LineItem("sku-1", 2, 5_000, "Shirt"), LineItem("sku-2", 1)),
    )  # fmt: skip
    assert batch_body(DESTINATION, [conversion]) == {
        "data": [
            {
                "event_name": "Purchase",
                "event_time": 1782907200,
                "event_id": "order-7",
                "action_source": "website",
                "event_source_url": "https://shop.example.com/thanks",
                "user_data": {
                    "em": ["b5fc85e55755f9e0d030a10ab4429b6b2944855f9a0d60077fe832becbc41d72"],
                    "ph": ["d6736136ea896c1bfdc553e0e86e702c70d060d805696ca3e4e9e0961353860a"],
                    "fn": [sha256_hex_of("ada")],
                    "ln": [sha256_hex_of("lovelacebyron")],
                    "ge": [sha256_hex_of("f")],
                    "db": [sha256_hex_of("19901210")],
                    "ct": [sha256_hex_of("sanfrancisco")],
                    "st": [sha256_hex_of("ca")],
                    "zp": [sha256_hex_of("94107")],
                    "country": [sha256_hex_of("us")],
                    "external_id": [
                        sha256_hex_of("user_1"),
                        sha256_hex_of("v-1"),
                    ],
                    "client_ip_address": "203.0.113.7",
                    "client_user_agent": "Mozilla/5.0",
                    "fbc": "fb.1.1782900000000.IwAR0_Ab-C",
                    "fbp": "fb.1.1782800000000.1098115397",
                },
                "custom_data": {
                    "value": 123.45,
                    "currency": "USD",
                    "order_id": "order-7",
                    "contents": [
                        {"id": "sku-1", "quantity": 2, "item_price": 50.0},
                        {"id": "sku-2", "quantity": 1},
                    ],
                    "content_ids": ["sku-1", "sku-2"],
                    "num_items": 3,
                },
            }
        ]
    }


def purchase_conversion(**fields):
    at = datetime(2026, 7, 1, 12, tzinfo=UTC)
    plain = Conversion(UUID(int=1), "Lead", "e-1", at, ActionSource.SYSTEM, Customer(email="a@b.co"))
    return replace(plain, **fields)


def test_click_cookie_precedes_the_click_id():
    customer = Customer(click=CLICK, fbc="fb.1.1782900000001.Cookie")
    assert event_body(purchase_conversion(customer=customer))["user_data"] == {
        "fbc": "fb.1.1782900000001.Cookie"
    }


@pytest.mark.parametrize(
    ("minor", "currency", "value"), [(1000, "JPY", 1000.0), (1_234, "KWD", 1.234), (0, "USD", 0.0)]
)
def test_values_are_in_major_units_and_zero_is_sent(minor, currency, value):
    money = event_body(purchase_conversion(value=minor, currency=currency))["custom_data"]
    assert money == {"value": value, "currency": currency}
    assert "custom_data" not in event_body(purchase_conversion())


@pytest.mark.parametrize(("system", "version"), [("iOS", "i2"), ("iPadOS", "i2"), ("Android", "a2")])
@pytest.mark.parametrize("granted", [True, False])
def test_app_event_has_operating_system_and_tracking_permission(system, version, granted):
    customer = Customer(email="a@b.co", os=system, os_version="17.4")
    event = event_body(
        purchase_conversion(action_source=ActionSource.APP, customer=customer, consent_granted=granted)
    )
    assert event["action_source"] == "app"
    assert event["app_data"] == {
        "advertiser_tracking_enabled": granted,
        "application_tracking_enabled": True,
        "extinfo": [version, "", "", "", "17.4", "", "", "", "", "", "", "", "", "", "", ""],
    }


def test_web_events_have_no_app_data():
    assert "app_data" not in event_body(purchase_conversion(action_source=ActionSource.APP))
    assert "app_data" not in event_body(purchase_conversion(customer=Customer(os="iOS")))
    assert event_body(purchase_conversion())["action_source"] == "system_generated"


def test_test_event_has_the_test_code():
    to = Destination("act_1", "9", test=True, test_code="TEST42")
    assert batch_body(to, [purchase_conversion()])["test_event_code"] == "TEST42"


@pytest.fixture
async def api():
    async with serve_api(graph_api(ReceivedConversions())) as api:
        yield api


async def send_and_read_event(api, count=1):
    sender = CONVERSION_SENDER.with_base_url(f"{api.url}/v26.0")
    return await sender.send(DESTINATION, [purchase_conversion()] * count, SECRETS)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(190, 400, CredentialsRejected), (200, 403, CredentialsRejected), (10, 403, CredentialsRejected), (None, 401, CredentialsRejected),
     (17, 400, PlatformUnavailable), (4, 403, PlatformUnavailable), (613, 400, PlatformUnavailable), (2, 500, PlatformUnavailable), (1, 500, PlatformUnavailable),
     (100, 400, BatchRejected), (None, 400, BatchRejected)],
)  # fmt: skip
async def test_error_code_decides_between_retry_and_rejection(api, code, status, kind):
    api.answers = lambda _: error_response(code, status)
    with pytest.raises(kind):
        await send_and_read_event(api)


async def test_error_code_includes_its_subcode(api):
    api.answers = lambda _: error_response(100, 400, 2804003)
    with pytest.raises(BatchRejected) as fault:
        await send_and_read_event(api)
    assert (fault.value.code, fault.value.http_status) == ("100/2804003", 400)


async def test_missing_pixel_rejects_no_single_conversion(api):
    api.answers = lambda _: error_response(100, 400, 33)
    assert await send_and_read_event(api, 3) == [Rejected("100/33", 400)] * 3


async def test_asset_id_is_percent_encoded_in_the_url(api):
    api.answers = lambda _: FakeResponse({"events_received": 1})
    outcomes = await CONVERSION_SENDER.with_base_url(f"{api.url}/v26.0").send(
        Destination("act_1", "../me?x=1#y"), [purchase_conversion()], SECRETS
    )
    assert outcomes == [Accepted(200)]
    assert api.asked[0].path == "/v26.0/..%2Fme%3Fx%3D1%23y/events"


def test_meta_sender_is_registered_by_its_hook():
    brought = collect_plugins_into_registry(
        [("ads_meta", ads_meta)], discover_entry_points=False
    ).conversion_senders
    assert isinstance(brought["meta"], RelocatableSender)


async def test_missing_http_client_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformUnavailable, match=r"touchpoint-analytics\[ads\]"):
        await CONVERSION_SENDER.send(DESTINATION, [purchase_conversion()], SECRETS)


def test_click_cookie_contains_click_time_and_id():
    clicked_at = datetime(2026, 7, 1, 12, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=2)))
    assert _fbc_cookie_value(clicked_at, "IwAR0_Ab-C") == "fb.1.1782900000123.IwAR0_Ab-C"
    assert _fbc_cookie_value(datetime(2026, 7, 1, 10, tzinfo=UTC), "x") == "fb.1.1782900000000.x"
