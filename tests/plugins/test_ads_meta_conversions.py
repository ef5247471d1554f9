"""Meta's Conversions API: payloads worked out by hand, a server of its wire format, and the kit of senders."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from plugins import ads_meta
from plugins.ads_meta.conversions import CONVERSION_SENDER
from plugins.ads_meta.payload import _click_cookie, batch_body, event_body
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
from service_core.extensions.registry import load_plugins
from service_core.testing.conversion_sender import (
    CUSTOMER,
    DESTINATION,
    REJECTED_ORDER_ID,
    ConversionSenderConformance,
    ReceivedConversions,
    SenderHarness,
)
from tests.fixtures.stub_platform_api import (
    StubPlatformApi,
    StubResponse,
    fail_sending_calls,
    serve_api,
    too_many_calls,
)

TOKEN = "EAAB-planted-token"
CLICK = ClickId("fbclid", "IwAR0_Ab-C", datetime(2026, 7, 1, 10, tzinfo=UTC))
SECRETS = {"access_token": TOKEN}


def graph(received):
    """Enough of graph.facebook.com to take events."""

    def answers(asked):
        assert asked.headers["authorization"] == f"Bearer {TOKEN}"
        assert (asked.method, asked.query) == ("POST", {})
        version, pixel, edge = asked.path.strip("/").split("/")
        assert (version, edge) == ("v26.0", "events")
        received.bodies.append(asked.body)
        body = asked.json()
        if any(event["event_id"] == REJECTED_ORDER_ID for event in body["data"]):
            return refusal(100, 400, 2804003, "Ada@example.com is wrong.")
        for event in body["data"]:
            received.record_unless_duplicate(
                pixel, event["event_id"], event["event_name"], is_test="test_event_code" in body
            )
        return StubResponse({"events_received": len(body["data"]), "messages": [], "fbtrace_id": "A1"})

    busy = too_many_calls({"error": {"message": "There have been too many calls", "code": 80004}}, 400)
    return StubPlatformApi(answers, busy, lambda _: refusal(190, 400, 463, f"{TOKEN} has expired."))


def refusal(code, status, subcode=None, message="No."):
    error = {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "A1"}
    return StubResponse({"error": error | ({"error_subcode": subcode} if subcode else {})}, status)


class TestMetaConversions(ConversionSenderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_api(graph(received := ReceivedConversions())) as api:
            yield SenderHarness(
                CONVERSION_SENDER.with_base_url(f"{api.url}/v26.0"),
                SECRETS,
                received,
                api.fail_with,
                fail_sending_calls(api),
            )

    async def test_a_test_without_a_code_would_count_and_is_not_sent(self, harness):
        assert (
            await harness.send("a", "b", to=replace(DESTINATION, test=True))
            == [Rejected("no_test_event_code")] * 2
        )
        assert harness.received.bodies == []

    async def test_a_code_is_only_told_in_tests(self, harness):
        await harness.send("a", to=replace(DESTINATION, test_code="TEST42"))
        assert harness.received.accepted_event_ids() == ["a"]


def sha(normal):
    return hashlib.sha256(normal.encode()).hexdigest()


def test_a_purchase_on_the_website_with_all_there_is():
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
                    "fn": [sha("ada")],
                    "ln": [sha("lovelacebyron")],
                    "ge": [sha("f")],
                    "db": [sha("19901210")],
                    "ct": [sha("sanfrancisco")],
                    "st": [sha("ca")],
                    "zp": [sha("94107")],
                    "country": [sha("us")],
                    "external_id": [
                        sha("user_1"),
                        sha("v-1"),
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


def conversion(**told):
    at = datetime(2026, 7, 1, 12, tzinfo=UTC)
    plain = Conversion(UUID(int=1), "Lead", "e-1", at, ActionSource.SYSTEM, Customer(email="a@b.co"))
    return replace(plain, **told)


def test_the_cookie_of_a_click_wins_over_its_id():
    customer = Customer(click=CLICK, fbc="fb.1.1782900000001.Cookie")
    assert event_body(conversion(customer=customer))["user_data"] == {"fbc": "fb.1.1782900000001.Cookie"}


@pytest.mark.parametrize(
    ("minor", "currency", "value"), [(1000, "JPY", 1000.0), (1_234, "KWD", 1.234), (0, "USD", 0.0)]
)
def test_values_are_in_units_of_their_currency_and_nothing_is_a_value(minor, currency, value):
    money = event_body(conversion(value=minor, currency=currency))["custom_data"]
    assert money == {"value": value, "currency": currency}
    assert "custom_data" not in event_body(conversion())


@pytest.mark.parametrize(("system", "version"), [("iOS", "i2"), ("iPadOS", "i2"), ("Android", "a2")])
@pytest.mark.parametrize("granted", [True, False])
def test_an_event_of_an_app_tells_its_system_and_whether_tracking_was_allowed(system, version, granted):
    customer = Customer(email="a@b.co", os=system, os_version="17.4")
    event = event_body(conversion(action_source=ActionSource.APP, customer=customer, consent_granted=granted))
    assert event["action_source"] == "app"
    assert event["app_data"] == {
        "advertiser_tracking_enabled": granted,
        "application_tracking_enabled": True,
        "extinfo": [version, "", "", "", "17.4", "", "", "", "", "", "", "", "", "", "", ""],
    }


def test_other_events_tell_of_no_app():
    assert "app_data" not in event_body(conversion(action_source=ActionSource.APP))
    assert "app_data" not in event_body(conversion(customer=Customer(os="iOS")))
    assert event_body(conversion())["action_source"] == "system_generated"


def test_a_test_names_its_code():
    to = Destination("act_1", "9", test=True, test_code="TEST42")
    assert batch_body(to, [conversion()])["test_event_code"] == "TEST42"


@pytest.fixture
async def api():
    async with serve_api(graph(ReceivedConversions())) as api:
        yield api


async def sent(api, count=1):
    sender = CONVERSION_SENDER.with_base_url(f"{api.url}/v26.0")
    return await sender.send(DESTINATION, [conversion()] * count, SECRETS)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(190, 400, CredentialsRejected), (200, 403, CredentialsRejected), (10, 403, CredentialsRejected), (None, 401, CredentialsRejected),
     (17, 400, PlatformUnavailable), (4, 403, PlatformUnavailable), (613, 400, PlatformUnavailable), (2, 500, PlatformUnavailable), (1, 500, PlatformUnavailable),
     (100, 400, BatchRejected), (None, 400, BatchRejected)],
)  # fmt: skip
async def test_a_code_says_whose_turn_it_is(api, code, status, kind):
    api.answers = lambda _: refusal(code, status)
    with pytest.raises(kind):
        await sent(api)


async def test_a_code_is_told_with_what_it_is_about(api):
    api.answers = lambda _: refusal(100, 400, 2804003)
    with pytest.raises(BatchRejected) as fault:
        await sent(api)
    assert (fault.value.code, fault.value.http_status) == ("100/2804003", 400)


async def test_a_pixel_that_is_not_there_is_the_fault_of_no_conversion(api):
    api.answers = lambda _: refusal(100, 400, 33)
    assert await sent(api, 3) == [Rejected("100/33", 400)] * 3


async def test_a_name_with_odd_letters_stays_one_part_of_the_address(api):
    api.answers = lambda _: StubResponse({"events_received": 1})
    outcomes = await CONVERSION_SENDER.with_base_url(f"{api.url}/v26.0").send(
        Destination("act_1", "../me?x=1#y"), [conversion()], SECRETS
    )
    assert outcomes == [Accepted(200)]
    assert api.asked[0].path == "/v26.0/..%2Fme%3Fx%3D1%23y/events"


def test_meta_is_brought_by_its_hook():
    brought = load_plugins([("ads_meta", ads_meta)], discover=False).conversion_senders
    assert isinstance(brought["meta"], RelocatableSender)


async def test_without_the_http_client_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(PlatformUnavailable, match=r"touchpoint-analytics\[ads\]"):
        await CONVERSION_SENDER.send(DESTINATION, [conversion()], SECRETS)


def test_the_click_cookie_is_made_of_the_time_of_the_click_and_its_id_as_it_came():
    clicked_at = datetime(2026, 7, 1, 12, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=2)))
    assert _click_cookie(clicked_at, "IwAR0_Ab-C") == "fb.1.1782900000123.IwAR0_Ab-C"
    assert _click_cookie(datetime(2026, 7, 1, 10, tzinfo=UTC), "x") == "fb.1.1782900000000.x"
