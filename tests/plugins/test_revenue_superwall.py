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
from service_core.extensions.registry import load_plugins
from service_core.testing.revenue_provider import ProviderHarness, RevenueProviderConformance, Sample

JULY = datetime(2026, 7, 1, tzinfo=UTC)
NEXT_JULY = datetime(2027, 7, 1, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def ms(instant):
    return int(instant.timestamp() * 1000)


def message(name, **said):
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
        "purchasedAt": ms(JULY),
        "expirationAt": ms(NEXT_JULY),
        "bundleId": "com.example.app",
        "ts": ms(JULY + timedelta(seconds=6)),
    }
    return {"object": "event", "type": name, "timestamp": ms(JULY), "data": data | said}


PAID = {"price": 70.31, "proceeds": 49.21, "priceInPurchasedCurrency": 59.99}
REFUNDED = {"price": -70.31, "priceInPurchasedCurrency": -59.99, "cancelReason": "CUSTOMER_SUPPORT"}
SAMPLES = (
    Sample(message("initial_purchase", **PAID), "subscription_started", revenue=5999),
    Sample(message("initial_purchase", id="trial", periodType="TRIAL"), "trial_started"),
    Sample(message("renewal", **PAID), "subscription_renewed", revenue=5999),
    Sample(message("renewal", id="paid", isTrialConversion=True, **PAID), "trial_converted", revenue=5999),
    Sample(message("non_renewing_purchase", expirationAt=None, **PAID), "purchase", revenue=5999),
    Sample(message("cancellation", cancelReason="UNSUBSCRIBE"), "subscription_cancelled"),
    Sample(message("cancellation", id="refund", **REFUNDED), "subscription_cancelled", revenue=-5999),
    Sample(message("uncancellation"), "subscription_reactivated"),
    Sample(message("expiration", expirationReason="UNSUBSCRIBE"), "subscription_expired"),
    Sample(message("billing_issue"), "billing_failed"),
    Sample(message("product_change", newProductId="pro_monthly"), "subscription_changed"),
    Sample(message("subscription_paused"), "subscription_paused"),
    Sample(message("renewal", id="box", environment="SANDBOX"), "subscription_renewed", test=True, revenue=0),
)


def signed(body, secrets, sent, id_="msg_1"):
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
            signed,
            samples=SAMPLES,
            unknown=Sample(message("test"), None),
        )


def genuine(signature, *, body=b'{"test": 2432232314}', stamp="1614265330", secret=SECRET):
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


def test_the_example_that_svix_publishes_is_genuine():
    assert genuine(PUBLISHED)
    assert not genuine(PUBLISHED, body=b'{"test": 2432232315}')
    assert not genuine(PUBLISHED, stamp="1614265331")


def test_one_of_several_signatures_is_enough_while_the_secret_is_changed():
    other = "v1," + base64.b64encode(b"x" * 32).decode()
    assert genuine(f"{other} v1a,asymmetric {PUBLISHED}")
    assert not genuine(f"{other} {other}")
    assert not genuine(PUBLISHED.replace("v1,", "v2,"))


def test_a_secret_that_is_none_of_svix_proves_nothing():
    for secret in ("", "whsec_", "whsec_!", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "plain"):
        assert not genuine(PUBLISHED, secret=secret), secret


def said(name, **fields):
    return map_message(message(name, **fields), "app1")


def test_the_plugin_brings_its_provider():
    registry = load_plugins([("revenue_superwall", revenue_superwall)], discover=False)
    assert list(registry.revenue_providers) == ["superwall"]


def test_a_purchase_tells_the_price_its_year_and_who_paid():
    told = said("initial_purchase", **PAID)
    assert told.occurred_at == JULY
    assert told.identity == {"visitor_id": "visitor-7", "user_id": "user_1234", "email": "ann@example.com"}
    assert told.external_ids == {"superwall": "user_1234"}
    state = told.states[0]
    assert (state.subscription_id, state.status) == ("1000", SubscriptionStatus.ACTIVE)
    assert (state.amount, state.currency, state.interval) == (5999, "EUR", Interval.YEAR)
    assert (state.started_at, state.current_period_end) == (JULY, NEXT_JULY)
    assert state.product_id == "pro_yearly"
    assert [(deed.kind, deed.amount) for deed in told.payments] == [(PaymentKind.CHARGE, 5999)]


def test_money_is_as_it_was_paid_with_the_fee_of_the_store_and_what_is_left():
    told = said("renewal", **PAID).properties
    assert (told["revenue"], told["currency"], told["order_id"]) == ("59.99", "EUR", "1002")
    assert (told["fee"], told["proceeds_usd"]) == ("18.00", "49.21")


def test_a_renewal_out_of_a_trial_converts_it_with_and_without_the_flag():
    for fields in ({"isTrialConversion": True}, {"periodType": "TRIAL"}):
        told = said("renewal", **fields, **PAID)
        assert told.event_name == "trial_converted"
        assert (told.states[0].status, told.states[0].amount) == (SubscriptionStatus.ACTIVE, 5999)


def test_a_user_superwall_made_up_is_known_by_the_external_id_alone():
    told = said("renewal", originalAppUserId="$SuperwallAlias:7152", userAttributes=None)
    assert told.identity == {}
    assert told.external_ids == {"superwall": "$SuperwallAlias:7152"}


def test_only_kinds_of_its_own_map_become_events():
    assert said("subscription_extended").is_unknown_kind
    assert said("transfer").is_unknown_kind


def test_what_is_no_message_of_superwall_is_refused_by_name():
    for other, missing in (({}, "id"), ({"data": {"id": "1"}}, "type"), ({"type": "renewal"}, "id")):
        with pytest.raises(ValueError, match=missing):
            map_message(other, "app1")
    with pytest.raises(ValueError, match="ts"):
        map_message({"type": "renewal", "data": {"id": "1"}}, "app1")
