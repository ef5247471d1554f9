"""The name under which a provider carries the visitor's id is a setting."""

import json
from datetime import UTC, datetime

import pytest

from plugins.revenue_revenuecat.adapter import RevenueCat
from service_core.commerce.providers.map_message import map_verified_delivery
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.providers.visitor_id import find_visitor_id_at_any_depth

RENEWAL = {
    "event": {
        "id": "e1", "type": "RENEWAL", "event_timestamp_ms": 1_783_000_000_000, "app_user_id": "ann",
        "original_transaction_id": "1000", "subscriber_attributes": {
            "touchpoint_id": {"value": "visitor-7"}, "analytics_id": {"value": "visitor-8"},
        },
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        {"data": {"metadata": {"seen_as": "v1"}}},
        {"event": {"subscriber_attributes": {"seen_as": {"value": " v1 ", "updated_at_ms": 1}}}},
        {"note_attributes": [{"name": "gift", "value": "yes"}, {"name": "seen_as", "value": "v1"}]},
        {"seen_as": "v1", "data": {"seen_as": "v2"}},
        {"seen_as": None, "data": [[{"seen_as": "v1"}]]},
    ],
)
def test_visitor_id_is_found_in_every_attribute_format(message):
    assert find_visitor_id_at_any_depth(message, "seen_as") == "v1"


def test_visitor_id_is_none_without_the_attribute():
    for message in ({}, {"seen_as": ""}, {"seen_as": {"other": 1}}, {"name": "seen_as"}):
        assert find_visitor_id_at_any_depth(message, "seen_as") is None


def test_configured_attribute_name_precedes_the_default():
    delivery = WebhookDelivery({}, json.dumps(RENEWAL).encode(), datetime(2026, 7, 8, tzinfo=UTC))
    for name, visitor in ((None, "visitor-7"), ("analytics_id", "visitor-8"), ("absent", "visitor-7")):
        result = map_verified_delivery(RevenueCat(), delivery, "app1", json.loads, name)
        assert result.identity == {"visitor_id": visitor, "user_id": "ann"}
