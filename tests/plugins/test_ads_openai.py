"""OpenAI's Conversions API: payloads worked out by hand, a server of its wire format, and the kit of senders."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from plugins import ads_openai
from plugins.ads_openai.conversions import CONVERSIONS
from plugins.ads_openai.payload import SHAPES, body_of, event_of
from service_core.commerce.platform_faults import PlatformDown, PlatformRefused
from service_core.delivery.postbacks.model import (
    ActionSource,
    ClickId,
    Content,
    Conversion,
    Customer,
    Destination,
)
from service_core.delivery.postbacks.ports import BatchRejected, MovableSender
from service_core.extension.registry import load
from service_core.testing.conversion_sender import (
    ADA,
    POISON,
    SHOP,
    Books,
    ConversionSenderConformance,
    SenderStage,
)
from tests.ad_api import Answer, Api, failing, retry, serving

SECRETS = {"api_key": "sk-svcacct-planted"}
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def bazaar(books):
    """Enough of bzr.openai.com to take events."""

    def answers(asked):
        assert asked.headers["authorization"] == f"Bearer {SECRETS['api_key']}"
        assert (asked.method, asked.path, [*asked.query]) == ("POST", "/v1/events", ["pid"])
        books.bodies.append(asked.body)
        body = asked.json()
        if any(event["id"] == POISON for event in body["events"]):
            return refusal("invalid_request_error", 400, "Ada@example.com is no hash.")
        for event in body["events"]:
            books.take(asked.query["pid"], event["id"], event["type"], test=body["validate_only"])
        return Answer({"accepted": len(body["events"])})

    busy = retry(refusal("rate_limit_error", 429).content)
    return Api(answers, busy, lambda _: refusal("invalid_request_error", 401, "Bad key sk-svcacct-planted."))


def refusal(kind, status, message="No.", code=None):
    return Answer({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


class TestOpenAIConversions(ConversionSenderConformance):
    @pytest.fixture
    async def stage(self):
        async with serving(bazaar(books := Books())) as api:
            sender = CONVERSIONS.at(f"{api.url}/v1")
            yield SenderStage(sender, SECRETS, books, api.play, failing(api))


def sha(normal):
    return hashlib.sha256(normal.encode()).hexdigest()


def test_a_purchase_with_all_there_is():
    conversion = Conversion(
        id=UUID(int=1), event="order_created", event_id="order-7", occurred_at=datetime(2026, 7, 1, 12, 0, 0, 123_999, UTC),
        action_source=ActionSource.WEBSITE, customer=replace(ADA, click=ClickId("oppref", "gAAAA_Op", NOON)),
        source_url="https://shop.example.com/thanks", value=12_345, currency="USD", order_id="order-7",
        contents=(Content("sku-1", 2, 5_000, "Shirt"), Content("sku-2")),
    )  # fmt: skip
    assert body_of(SHOP, [conversion]) == {
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
                    "external_id_sha256": sha("user_1"),
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


def conversion(event="lead_created", source=ActionSource.SYSTEM, **told):
    plain = Conversion(UUID(int=1), event, "e-1", NOON, source, Customer(email="a@b.co"))
    return replace(plain, **told)


@pytest.mark.parametrize(
    ("event", "shape"),
    [
        ("order_created", "contents"), ("items_added", "contents"), ("checkout_started", "contents"),
        ("lead_created", "customer_action"), ("registration_completed", "customer_action"),
        ("subscription_created", "plan_enrollment"), ("trial_started", "plan_enrollment"),
    ],
)  # fmt: skip
def test_each_event_has_data_of_its_own_shape(event, shape):
    bought = (Content("sku-1"),)
    data = event_of(conversion(event, contents=bought, value=100, currency="JPY"))["data"]
    assert data.pop("contents", None) == (
        None if shape == "customer_action" else [{"id": "sku-1", "quantity": 1}]
    )
    assert data == {"type": shape, "amount": 100, "currency": "JPY"}


def test_every_event_a_rule_may_name_has_a_shape():
    assert tuple(SHAPES) == CONVERSIONS.platform.events


def test_an_event_of_the_rules_own_keeps_its_name_beside_its_type():
    event = event_of(conversion("demo_booked", is_custom=True))
    assert (event["type"], event["custom_event_name"], event["data"]) == (
        "custom",
        "demo_booked",
        {"type": "custom"},
    )


@pytest.mark.parametrize(
    ("source", "told"), [(ActionSource.WEBSITE, "web"), (ActionSource.APP, "mobile_app"), (ActionSource.SYSTEM, "other")]
)  # fmt: skip
def test_sources_have_names_of_openai(source, told):
    assert event_of(conversion(source=source))["action_source"] == told


@pytest.mark.parametrize(("country", "told"), [("us", "US"), ("Germany", None), (None, None)])
def test_a_country_is_told_by_its_two_letters(country, told):
    assert (
        event_of(conversion(customer=Customer(email="a@b.co", country=country)))["user"].get("country")
        == told
    )


def test_a_test_is_only_validated():
    assert body_of(Destination("a", "9", test=True), [conversion()])["validate_only"] is True


@pytest.fixture
async def api():
    async with serving(bazaar(Books())) as api:
        yield api


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (refusal("invalid_request_error", 400, code="too_old"), BatchRejected, "too_old"),
        (refusal("invalid_request_error", 422), BatchRejected, "invalid_request_error"),
        (Answer({"error": "No."}, 400), BatchRejected, "http_400"),
        (refusal("server_error", 503), PlatformDown, None),
        (refusal("invalid_request_error", 403), PlatformRefused, None),
    ],
)
async def test_a_status_says_whose_turn_it_is(api, answer, kind, code):
    api.answers = lambda _: answer
    with pytest.raises(kind) as fault:
        await CONVERSIONS.at(f"{api.url}/v1").send(SHOP, [conversion()], SECRETS)
    assert getattr(fault.value, "code", None) == code


def test_openai_is_brought_by_its_hook():
    brought = load([("ads_openai", ads_openai)], discover=False)
    assert isinstance(brought.conversion_senders["openai"], MovableSender)
    assert brought.ad_platforms == {}


async def test_without_the_http_client_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformDown, match=r"touchpoint\[ads\]"):
        await CONVERSIONS.send(SHOP, [conversion()], SECRETS)
