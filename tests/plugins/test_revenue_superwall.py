"""Superwall: what its messages say, by the fields it documents, and the signatures of Svix."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest

from plugins import revenue_superwall
from plugins.revenue_superwall.adapter import Superwall
from plugins.revenue_superwall.mapping import map_message
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.subscriptions.models import Interval, PaymentKind, SubscriptionStatus
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.revenue_provider import ProviderHarness, RevenueProviderConformance, Sample

JULY = datetime(2026, 7, 1, tzinfo=UTC)
NEXT_JULY = datetime(2027, 7, 1, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def milliseconds(instant):
    return int(instant.timestamp() * 1000)


def superwall_message(name, **fields):
    data = {
        "id": f"42fc6339:{name}",
        "name": name,
        "periodType": "NORMAL",
        "price": 0,
        "proceeds": 0,
        "priceInPurchasedCurrency": 0,
        "currencyCode": "EUR",
        "exchangeRate": 1.172,
        "taxPercentage": 0.1597,
        "commissionPercentage": 0.3,
        "takehomePercentage": 0.7,
        "transactionId": "1002",
        "originalTransactionId": "1000",
        "originalAppUserId": "user_1234",
        "userAttributes": {"touchpoint_id": "visitor-7", "email": "ann@example.com", "age": 41},
        "productId": "pro_yearly",
        "store": "APP_STORE",
        "environment": "PRODUCTION",
        "isTrialConversion": False,
        "purchasedAt": milliseconds(JULY),
        "expirationAt": milliseconds(NEXT_JULY),
        "bundleId": "com.example.app",
        "ts": milliseconds(JULY + timedelta(seconds=6)),
    }
    return {"object": "event", "type": name, "timestamp": milliseconds(JULY), "data": data | fields}


PAID = {"price": 70.31, "proceeds": 49.21, "priceInPurchasedCurrency": 59.99}
REFUNDED = {"price": -70.31, "priceInPurchasedCurrency": -59.99, "cancelReason": "CUSTOMER_SUPPORT"}
SAMPLES = (
    Sample(superwall_message("initial_purchase", **PAID), "subscription_started", revenue=5999),
    Sample(superwall_message("initial_purchase", id="trial", periodType="TRIAL"), "trial_started"),
    Sample(superwall_message("renewal", **PAID), "subscription_renewed", revenue=5999),
    Sample(
        superwall_message("renewal", id="paid", isTrialConversion=True, **PAID),
        "trial_converted",
        revenue=5999,
    ),
    Sample(superwall_message("non_renewing_purchase", expirationAt=None, **PAID), "purchase", revenue=5999),
    Sample(superwall_message("cancellation", cancelReason="UNSUBSCRIBE"), "subscription_cancelled"),
    Sample(
        superwall_message("cancellation", id="refund", **REFUNDED), "subscription_cancelled", revenue=-5999
    ),
    Sample(superwall_message("uncancellation"), "subscription_reactivated"),
    Sample(superwall_message("expiration", expirationReason="UNSUBSCRIBE"), "subscription_expired"),
    Sample(superwall_message("billing_issue"), "billing_failed"),
    Sample(superwall_message("product_change", newProductId="pro_monthly"), "subscription_changed"),
    Sample(superwall_message("subscription_paused"), "subscription_paused"),
    Sample(
        superwall_message("renewal", id="box", environment="SANDBOX"),
        "subscription_renewed",
        test=True,
        revenue=0,
    ),
)


def sign_delivery(body, secrets, sent, id_="msg_1"):
    key = base64.b64decode(secrets["webhook_secret"].removeprefix("whsec_"))
    stamp = str(int(sent.timestamp()))
    digest = hmac.digest(key, f"{id_}.{stamp}.".encode() + body, hashlib.sha256)
    return {
        "svix-id": id_,
        "svix-timestamp": stamp,
        "svix-signature": "v1," + base64.b64encode(digest).decode(),
    }


class TestSuperwall(RevenueProviderConformance):
    """The kit."""

    @pytest.fixture
    def harness(self):
        return ProviderHarness(
            Superwall(),
            {"webhook_secret": SECRET},
            sign_delivery,
            samples=SAMPLES,
            unknown=Sample(superwall_message("test"), None),
        )


def verify_svix_signature(signature, *, body=b'{"test": 2432232314}', stamp="1614265330", secret=SECRET):
    headers = {
        "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "svix-timestamp": stamp,
        "svix-signature": signature,
    }
    received_at = datetime.fromtimestamp(1614265330, UTC)
    return Superwall().verify_signature(
        WebhookDelivery(headers, body, received_at), {"webhook_secret": secret}
    )


PUBLISHED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_published_svix_example_verifies():
    assert verify_svix_signature(PUBLISHED)
    assert not verify_svix_signature(PUBLISHED, body=b'{"test": 2432232315}')
    assert not verify_svix_signature(PUBLISHED, stamp="1614265331")


def test_one_valid_signature_of_several_is_enough():
    other = "v1," + base64.b64encode(b"x" * 32).decode()
    assert verify_svix_signature(f"{other} v1a,asymmetric {PUBLISHED}")
    assert not verify_svix_signature(f"{other} {other}")
    assert not verify_svix_signature(PUBLISHED.replace("v1,", "v2,"))


def test_malformed_secret_never_verifies():
    for secret in ("", "whsec_", "whsec_!", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "plain"):
        assert not verify_svix_signature(PUBLISHED, secret=secret), secret


def map_event(name, **fields):
    return map_message(superwall_message(name, **fields), "app1")


def test_provider_is_registered_by_the_plugin():
    registry = collect_plugins_into_registry(
        [("revenue_superwall", revenue_superwall)], discover_entry_points=False
    )
    assert list(registry.revenue_providers) == ["superwall"]


def test_purchase_has_price_interval_and_customer():
    result = map_event("initial_purchase", **PAID)
    assert result.occurred_at == JULY
    assert result.identity == {"visitor_id": "visitor-7", "user_id": "user_1234", "email": "ann@example.com"}
    assert result.external_ids == {"superwall": "user_1234"}
    state = result.states[0]
    assert (state.subscription_id, state.status) == ("1000", SubscriptionStatus.ACTIVE)
    assert (state.amount, state.currency, state.interval) == (5999, "EUR", Interval.YEAR)
    assert (state.started_at, state.current_period_end) == (JULY, NEXT_JULY)
    assert state.product_id == "pro_yearly"
    assert [(deed.kind, deed.amount) for deed in result.payments] == [(PaymentKind.CHARGE, 5999)]


def test_amounts_are_in_the_paid_currency_with_store_fee_and_net():
    result = map_event("renewal", **PAID).properties
    assert (result["revenue"], result["currency"], result["order_id"]) == ("59.99", "EUR", "1002")
    assert (result["fee"], result["proceeds_usd"]) == ("18.00", "49.21")


def test_trial_renewal_converts_with_and_without_the_flag():
    for fields in ({"isTrialConversion": True}, {"periodType": "TRIAL"}):
        result = map_event("renewal", **fields, **PAID)
        assert result.event_name == "trial_converted"
        assert (result.states[0].status, result.states[0].amount) == (SubscriptionStatus.ACTIVE, 5999)


def test_generated_user_is_identified_by_external_id_only():
    result = map_event("renewal", originalAppUserId="$SuperwallAlias:7152", userAttributes=None)
    assert result.identity == {}
    assert result.external_ids == {"superwall": "$SuperwallAlias:7152"}


def test_only_mapped_types_become_events():
    assert map_event("subscription_extended").is_unknown_kind
    assert map_event("transfer").is_unknown_kind


def test_unknown_message_type_is_refused_and_named():
    for other, missing in (({}, "id"), ({"data": {"id": "1"}}, "type"), ({"type": "renewal"}, "id")):
        with pytest.raises(ValueError, match=missing):
            map_message(other, "app1")
    with pytest.raises(ValueError, match="ts"):
        map_message({"type": "renewal", "data": {"id": "1"}}, "app1")
