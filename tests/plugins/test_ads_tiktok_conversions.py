"""TikTok's Events API: payloads worked out by hand, a server of its wire format, and the kit of senders."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from plugins import ads_tiktok
from plugins.ads_tiktok.conversions import CONVERSION_SENDER
from plugins.ads_tiktok.payload import batch_body, event_body
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import (
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
from service_core.testing.fake_platform import FakePlatform, FakeResponse, fail_sending_calls, serve_api

SECRETS = {"access_token": "planted-tiktok"}
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def business_api(received):
    """Enough of business-api.tiktok.com to take events."""

    def answers(request):
        assert request.headers["access-token"] == SECRETS["access_token"]
        assert (request.method, request.path) == ("POST", "/open_api/v1.3/event/track/")
        received.bodies.append(request.body)
        body = request.json()
        assert body["event_source"] == "web"
        if any(event["event_id"] == REJECTED_ORDER_ID for event in body["data"]):
            return api_response(40002, "user: Ada@example.com is no hash")
        for event in body["data"]:
            test = "test_event_code" in body
            received.record_unless_duplicate(
                body["event_source_id"], event["event_id"], event["event"], is_test=test
            )
        return api_response(0, "OK")

    return FakePlatform(
        answers,
        api_response(40100, "Too many requests"),
        lambda _: api_response(40105, "planted-tiktok is revoked"),
    )


def api_response(code, message="No."):
    return FakeResponse({"code": code, "message": message, "request_id": "r", "data": {}})


class TestTikTokConversions(ConversionSenderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_api(business_api(received := ReceivedConversions())) as api:
            sender = CONVERSION_SENDER.with_base_url(f"{api.url}/open_api/v1.3")
            yield SenderHarness(sender, SECRETS, received, api.fail_with, fail_sending_calls(api))

    async def test_test_without_a_code_would_count_and_is_not_sent(self, harness):
        assert (
            await harness.send("a", "b", destination=replace(DESTINATION, test=True))
            == [Rejected("no_test_event_code")] * 2
        )
        assert harness.received.bodies == []


def sha256_hex_of(normal):
    return hashlib.sha256(normal.encode()).hexdigest()


def test_purchase_with_all_fields_has_the_expected_payload():
    conversion = Conversion(
        id=UUID(int=1), event="CompletePayment", event_id="order-7", occurred_at=NOON,
        action_source=ActionSource.WEBSITE, customer=replace(CUSTOMER, click=ClickId("ttclid", "E.C.P.Cl1ck", NOON)),
        source_url="https://shop.example.com/thanks", value=12_345, currency="USD", order_id="order-7",
        line_items=(LineItem("sku-1", 2, 5_000, "Shirt"), LineItem("sku-2")),
    )  # fmt: skip
    to = Destination("7000000000000000001", "COQDA8RC77U2TMR44LI0", test=True, test_code="TEST42")
    assert batch_body(to, [conversion]) == {
        "event_source": "web",
        "event_source_id": "COQDA8RC77U2TMR44LI0",
        "data": [
            {
                "event": "CompletePayment",
                "event_time": 1782907200,
                "event_id": "order-7",
                "user": {
                    "email": "b5fc85e55755f9e0d030a10ab4429b6b2944855f9a0d60077fe832becbc41d72",
                    "phone": "8a59780bb8cd2ba022bfa5ba2ea3b6e07af17a7d8b30c1f9b3390e36f69019e4",
                    "external_id": sha256_hex_of("user_1"),
                    "ttclid": "E.C.P.Cl1ck",
                    "ttp": "2F7h37YkS1j57AYSKTI7IHhJPYH",
                    "ip": "203.0.113.7",
                    "user_agent": "Mozilla/5.0",
                },
                "page": {"url": "https://shop.example.com/thanks"},
                "properties": {
                    "value": 123.45,
                    "currency": "USD",
                    "contents": [
                        {"content_id": "sku-1", "content_name": "Shirt", "quantity": 2, "price": 50.0},
                        {"content_id": "sku-2", "quantity": 1},
                    ],
                },
            }
        ],
        "test_event_code": "TEST42",
    }


def purchase_conversion(**customer):
    return Conversion(UUID(int=1), "SubmitForm", "e-1", NOON, ActionSource.SYSTEM, Customer(**customer))


@pytest.mark.parametrize(
    ("ids", "known"),
    [({"visitor_id": "V-1", "anonymous_id": "a"}, "v-1"), ({"anonymous_id": "A"}, "a"), ({"user_id": "u", "visitor_id": "v"}, "u")],
)  # fmt: skip
def test_most_stable_id_is_sent_as_external_id(ids, known):
    assert event_body(purchase_conversion(**ids))["user"] == {"external_id": sha256_hex_of(known)}


@pytest.fixture
async def api():
    async with serve_api(business_api(ReceivedConversions())) as api:
        yield api


@pytest.mark.parametrize(
    ("code", "kind"),
    [(40001, CredentialsRejected), (40105, CredentialsRejected), (40100, PlatformUnavailable), (40700, PlatformUnavailable), (50000, PlatformUnavailable),
     (51010, PlatformUnavailable), (40002, BatchRejected), (20001, BatchRejected), (None, BatchRejected), ("0", BatchRejected)],
)  # fmt: skip
async def test_error_code_decides_between_retry_and_rejection(api, code, kind):
    api.answers = lambda _: api_response(code)
    with pytest.raises(kind):
        await CONVERSION_SENDER.with_base_url(f"{api.url}/open_api/v1.3").send(
            DESTINATION, [purchase_conversion()], SECRETS
        )


def test_tiktok_sender_is_registered_by_its_hook():
    brought = collect_plugins_into_registry(
        [("ads_tiktok", ads_tiktok)], discover_entry_points=False
    ).conversion_senders
    assert isinstance(brought["tiktok"], RelocatableSender)
