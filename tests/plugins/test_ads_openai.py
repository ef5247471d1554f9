"""OpenAI's Conversions API: payloads worked out by hand, a server of its wire format, and the kit of senders."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from plugins import ads_openai
from plugins.ads_openai.conversions import CONVERSION_SENDER
from plugins.ads_openai.payload import EVENT_DATA_TYPES, batch_body, event_body
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import (
    ActionSource,
    ClickId,
    Conversion,
    Customer,
    Destination,
    LineItem,
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

SECRETS = {"api_key": "sk-svcacct-planted"}
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def openai_ads_api(received):
    """Enough of bzr.openai.com to take events."""

    def answers(request):
        assert request.headers["authorization"] == f"Bearer {SECRETS['api_key']}"
        assert (request.method, request.path, [*request.query]) == ("POST", "/v1/events", ["pid"])
        received.bodies.append(request.body)
        body = request.json()
        if any(event["id"] == REJECTED_ORDER_ID for event in body["events"]):
            return error_response("invalid_request_error", 400, "Ada@example.com is no hash.")
        for event in body["events"]:
            received.record_unless_duplicate(
                request.query["pid"], event["id"], event["type"], is_test=body["validate_only"]
            )
        return FakeResponse({"accepted": len(body["events"])})

    busy = too_many_calls(error_response("rate_limit_error", 429).content)
    return FakePlatform(
        answers, busy, lambda _: error_response("invalid_request_error", 401, "Bad key sk-svcacct-planted.")
    )


def error_response(kind, status, message="No.", code=None):
    return FakeResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


class TestOpenAIConversions(ConversionSenderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_api(openai_ads_api(received := ReceivedConversions())) as api:
            sender = CONVERSION_SENDER.with_base_url(f"{api.url}/v1")
            yield SenderHarness(sender, SECRETS, received, api.fail_with, fail_sending_calls(api))


def sha256_hex_of(normal):
    return hashlib.sha256(normal.encode()).hexdigest()


def test_purchase_with_all_fields_has_the_expected_payload():
    conversion = Conversion(
        id=UUID(int=1), event="order_created", event_id="order-7", occurred_at=datetime(2026, 7, 1, 12, 0, 0, 123_999, UTC),
        action_source=ActionSource.WEBSITE, customer=replace(CUSTOMER, click=ClickId("oppref", "gAAAA_Op", NOON)),
        source_url="https://shop.example.com/thanks", value=12_345, currency="USD", order_id="order-7",
        line_items=(LineItem("sku-1", 2, 5_000, "Shirt"), LineItem("sku-2")),
    )  # fmt: skip
    assert batch_body(DESTINATION, [conversion]) == {
        "validate_only": False,
        "events": [
            {
                "id": "order-7",
                "type": "order_created",
                "timestamp_ms": 1782907200123,
                "action_source": "web",
                "source_url": "https://shop.example.com/thanks",
                "oppref": "gAAAA_Op",
                "user": {
                    "email_sha256": "b5fc85e55755f9e0d030a10ab4429b6b2944855f9a0d60077fe832becbc41d72",
                    "external_id_sha256": sha256_hex_of("user_1"),
                    "country": "US",
                    "city": "San Francisco",
                    "zip_code": "94107-1234",
                    "ip_address": "203.0.113.7",
                    "user_agent": "Mozilla/5.0",
                },
                "data": {
                    "type": "contents",
                    "amount": 12_345,
                    "currency": "USD",
                    "contents": [
                        {"id": "sku-1", "name": "Shirt", "quantity": 2},
                        {"id": "sku-2", "quantity": 1},
                    ],
                },
            }
        ],
    }


def purchase_conversion(event="lead_created", source=ActionSource.SYSTEM, **fields):
    plain = Conversion(UUID(int=1), event, "e-1", NOON, source, Customer(email="a@b.co"))
    return replace(plain, **fields)


@pytest.mark.parametrize(
    ("event", "shape"),
    [
        ("order_created", "contents"), ("items_added", "contents"), ("checkout_started", "contents"),
        ("lead_created", "customer_action"), ("registration_completed", "customer_action"),
        ("subscription_created", "plan_enrollment"), ("trial_started", "plan_enrollment"),
    ],
)  # fmt: skip
def test_each_event_type_has_its_own_payload(event, shape):
    bought = (LineItem("sku-1"),)
    data = event_body(purchase_conversion(event, line_items=bought, value=100, currency="JPY"))["data"]
    assert data.pop("contents", None) == (
        None if shape == "customer_action" else [{"id": "sku-1", "quantity": 1}]
    )
    assert data == {"type": shape, "amount": 100, "currency": "JPY"}


def test_every_selectable_event_has_a_payload():
    assert tuple(EVENT_DATA_TYPES) == CONVERSION_SENDER.platform.event_names


def test_custom_event_has_name_and_type():
    event = event_body(purchase_conversion("demo_booked", is_custom=True))
    assert (event["type"], event["custom_event_name"], event["data"]) == (
        "custom",
        "demo_booked",
        {"type": "custom"},
    )


@pytest.mark.parametrize(
    ("source", "told"), [(ActionSource.WEBSITE, "web"), (ActionSource.APP, "mobile_app"), (ActionSource.SYSTEM, "other")]
)  # fmt: skip
def test_sources_are_mapped_to_platform_names(source, told):
    assert event_body(purchase_conversion(source=source))["action_source"] == told


@pytest.mark.parametrize(("country", "told"), [("us", "US"), ("Germany", None), (None, None)])
def test_country_is_sent_as_two_letter_code(country, told):
    assert (
        event_body(purchase_conversion(customer=Customer(email="a@b.co", country=country)))["user"].get(
            "country"
        )
        == told
    )


def test_test_event_is_sent_for_validation_only():
    assert batch_body(Destination("a", "9", test=True), [purchase_conversion()])["validate_only"] is True


@pytest.fixture
async def api():
    async with serve_api(openai_ads_api(ReceivedConversions())) as api:
        yield api


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (error_response("invalid_request_error", 400, code="too_old"), BatchRejected, "too_old"),
        (error_response("invalid_request_error", 422), BatchRejected, "invalid_request_error"),
        (FakeResponse({"error": "No."}, 400), BatchRejected, "http_400"),
        (error_response("server_error", 503), PlatformUnavailable, None),
        (error_response("invalid_request_error", 403), CredentialsRejected, None),
    ],
)
async def test_http_status_decides_between_retry_and_rejection(api, answer, kind, code):
    api.answers = lambda _: answer
    with pytest.raises(kind) as fault:
        await CONVERSION_SENDER.with_base_url(f"{api.url}/v1").send(
            DESTINATION, [purchase_conversion()], SECRETS
        )
    assert getattr(fault.value, "code", None) == code


def test_openai_sender_is_registered_by_its_hook():
    brought = collect_plugins_into_registry([("ads_openai", ads_openai)], discover_entry_points=False)
    assert isinstance(brought.conversion_senders["openai"], RelocatableSender)
    assert brought.ad_platforms == {}


async def test_missing_http_client_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformUnavailable, match=r"touchpoint-analytics\[ads\]"):
        await CONVERSION_SENDER.send(DESTINATION, [purchase_conversion()], SECRETS)
