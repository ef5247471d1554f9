"""Conversions to Reddit pass the kit of conversion senders, over a server that speaks its wire format."""

from functools import partial

import conversions_reddit
import pytest
from conversions_reddit.sender import to_event

from service_core.testing.conversion_sender import (
    REJECTED_ORDER_ID,
    ConversionSenderConformance,
    ReceivedConversions,
    SenderHarness,
)
from service_core.testing.fake_platform import (
    FakePlatform,
    FakeResponse,
    fail_sending_calls,
    serve_in_thread,
    too_many_calls,
)
from service_core.testing.plugin import PluginConformance


def accept_or_reject(received, request):
    received.bodies.append(request.body)
    events, pixel = request.json()["data"]["events"], request.path.split("/")[4]
    if any(event["metadata"]["conversion_id"] == REJECTED_ORDER_ID for event in events):
        return FakeResponse({"error": {"code": 400, "message": "ada@example.com is no e-mail"}}, 400)
    for event in events:
        received.record_unless_duplicate(
            pixel,
            event["metadata"]["conversion_id"],
            event["type"]["tracking_type"],
            is_test="test_id" in request.query,
        )
    return FakeResponse({"data": {}})


def refuse(request):
    return FakeResponse({"error": {"code": 401, "message": request.headers["authorization"]}}, 401)


class TestReddit(ConversionSenderConformance):
    @pytest.fixture
    def harness(self):
        received = ReceivedConversions()
        platform = FakePlatform(partial(accept_or_reject, received), too_many_calls({}), refuse)
        with serve_in_thread(platform):
            [sender] = conversions_reddit.conversion_senders()
            sender = sender.with_base_url(f"{platform.url}/api/v3")
            secrets = {"access_token": "hush-hush"}
            yield SenderHarness(sender, secrets, received, platform.fail_with, fail_sending_calls(platform))

    def test_purchase_has_click_value_and_products(self, harness):
        """The event of a purchase has what Reddit matches and counts."""
        event = to_event(harness.make_conversion("order_1"))
        assert (event["click_id"], event["type"]) == ("Click-order_1", {"tracking_type": "Purchase"})
        assert event["metadata"] == {
            "conversion_id": "order_1",
            "value": 123.45,
            "currency": "USD",
            "item_count": 3,
            "products": [{"id": "sku-1", "name": "Blue shirt"}, {"id": "sku-2"}],
        }

    def test_event_of_another_name_is_a_custom_one(self, harness):
        """A name that Reddit does not know is sent as that of a custom event."""
        event = to_event(harness.make_conversion("order_1", event="Webinar"))
        assert event["type"] == {"tracking_type": "CUSTOM", "custom_event_name": "Webinar"}


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return conversions_reddit
