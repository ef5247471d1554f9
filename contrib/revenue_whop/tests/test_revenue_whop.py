"""Whop passes the kit of revenue providers."""

import base64
import hashlib
import hmac

import pytest
import revenue_whop
from revenue_whop.mapping import map_message
from revenue_whop.provider import Whop

from service_core.testing.plugin import PluginConformance
from service_core.testing.revenue_provider import ProviderHarness, RevenueProviderConformance, Sample

SECRET = "ws_planted_secret"
USER = {"id": "user_1", "username": "ann", "email": "ann@example.com"}


def whop_message(kind, **data):
    return {
        "id": f"msg_{kind}",
        "api_version": "v1",
        "type": kind,
        "timestamp": "2026-07-08T11:59:00.000Z",
        "data": {"id": "id_1", "user": USER, "metadata": {"visitor_id": "visitor-7"}, **data},
    }


PAYMENT = whop_message(
    "payment.succeeded",
    currency="eur",
    total=49.99,
    tax_amount=7.98,
    paid_at="2026-07-08T11:58:30.000Z",
    membership={"id": "mem_1", "status": "active"},
    plan={"id": "plan_1"},
    billing_reason="subscription_cycle",
)


def sign_delivery(body, secrets, sent):
    stamp = str(int(sent.timestamp()))
    digest = hmac.digest(
        secrets["webhook_secret"].encode(), f"msg_1.{stamp}.".encode() + body, hashlib.sha256
    )
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": stamp,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


class TestWhop(RevenueProviderConformance):
    """The kit."""

    @pytest.fixture
    def harness(self):
        return ProviderHarness(
            Whop(),
            {"webhook_secret": SECRET},
            sign_delivery,
            samples=(
                Sample(PAYMENT, "purchase", revenue=4201),
                Sample(whop_message("membership.went_valid"), "subscription_started"),
                Sample(whop_message("membership.activated"), "subscription_started"),
                Sample(whop_message("membership.renewed"), "subscription_renewed"),
            ),
            unknown=Sample(whop_message("membership.deactivated"), None),
        )


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return revenue_whop


def test_payment_becomes_an_order_without_tax_with_its_visitor_id():
    """The revenue is the total less its tax; a promo code makes the discount unknown."""
    result = map_message(PAYMENT)
    assert result.properties == {
        "order_id": "id_1",
        "currency": "EUR",
        "revenue": "42.01",
        "tax": "7.98",
        "plan_id": "plan_1",
        "membership_id": "mem_1",
        "billing_reason": "subscription_cycle",
    }
    full_price = {**PAYMENT, "data": {**PAYMENT["data"], "promo_code": None}}
    promoted = {**PAYMENT, "data": {**PAYMENT["data"], "promo_code": {"id": "promo_1"}}}
    assert map_message(full_price).properties["discount"] == "0"
    assert "discount" not in map_message(promoted).properties
    assert result.identity == {"visitor_id": "visitor-7", "email": "ann@example.com"}
    assert result.external_ids == {"whop": "user_1"}
