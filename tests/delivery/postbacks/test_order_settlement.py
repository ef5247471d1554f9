"""A postback tells of the order: one per order, with the value that counts and the person known by then."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import orjson
import pytest

from service_core.commerce.providers.map_message import map_verified_delivery, to_received_event
from service_core.commerce.providers.models import WebhookDelivery
from tests.commerce.providers.test_webhooks import PAYMENT, stripe_message
from tests.delivery.postbacks.deployment import ADHUB, UNAVAILABLE_ERROR, StubSender, run_postback_deployment

DOLLARS = {"currency": "usd", "customer": "cus_1"}
PAYMENT_SUCCEEDED = (
    "payment_intent.succeeded",
    {**PAYMENT, **DOLLARS, "id": "pi_9", "amount_received": 5500},
)
SESSION_COMPLETED = ("checkout.session.completed", {
    "id": "cs_9", "object": "checkout.session", "mode": "payment", "payment_status": "paid", "amount_total": 5500,
    "total_details": {"amount_tax": 300, "amount_shipping": 200}, "payment_intent": "pi_9",
    "customer_details": {"email": "ada@example.com"}, **DOLLARS,
})  # fmt: skip
REFUNDED = ("charge.refunded", {
    "id": "ch_9", "object": "charge", "amount_refunded": 5500, "payment_intent": "pi_9", **DOLLARS,
})  # fmt: skip


@pytest.fixture
async def shop(tmp_path):
    """A shop whose conversions wait 60 seconds for their orders."""
    async with run_postback_deployment(tmp_path, settle_seconds=60) as shop:
        await shop.rule()
        yield shop


async def stripe_tells(shop, kind, about, id_):
    """A message of Stripe arrives now and is stored."""
    message = stripe_message(kind, about, id_) | {"created": int(shop.now.timestamp())}
    provider = shop.ports.registry.revenue_providers["stripe"]
    delivery = WebhookDelivery({}, orjson.dumps(message), shop.now)
    mapped = map_verified_delivery(provider, delivery, "acct_1", orjson.loads)
    await shop.ports.queue.offer(to_received_event(shop.id, provider, delivery, mapped))
    await shop.pipeline.process_batch()


async def browser_tells(shop, **properties):
    """The thank-you page of the shop reports the order, with its own number of it."""
    sent = {"order_id": "1001", "payment_id": "pi_9", "revenue": 55, "currency": "USD", "fbp": "fb.1.1.1"}
    await shop.happens(source={}, url="https://shop.example.com/thanks", **sent | properties)


def sent_conversions(shop):
    return [conversion for _, conversions in shop.sender.calls for conversion in conversions]


async def statuses(shop):
    return sorted((row["status"], row["reason"] or "") for row in await shop.rows())


@pytest.mark.parametrize("messages", list(permutations((PAYMENT_SUCCEEDED, SESSION_COMPLETED))))
async def test_two_messages_of_a_payment_make_one_postback_of_the_ledgers_value(shop, messages):
    """Golden: 55.00 paid, 7 seconds later tax 3.00, shipping 2.00 and the e-mail: one postback of 50.00 with it."""
    for number, (kind, about) in enumerate(messages):
        await stripe_tells(shop, kind, about, f"evt_{number}")
        await shop.send()
        shop.later(seconds=7)
    shop.later(seconds=52)
    await shop.send()
    assert shop.sender.calls == []
    shop.later(seconds=1)
    await shop.send()
    (conversion,) = sent_conversions(shop)
    assert (conversion.value, conversion.currency, conversion.event_id) == (5000, "USD", "pi_9")
    assert conversion.customer.email == "ada@example.com"
    assert (conversion.customer.visitor_id, conversion.customer.anonymous_id) == (None, None)
    assert await statuses(shop) == [("sent", ""), ("skipped", "duplicate")]
    assert [row["value"] for row in await shop.rows() if row["status"] == "sent"] == [5000]
    shop.later(hours=1)
    await shop.send()
    assert len(shop.sender.calls) == 1


@pytest.mark.parametrize("browser_first", [True, False])
async def test_browser_and_provider_make_one_website_conversion_in_any_order_of_arrival(shop, browser_first):
    async def provider():
        await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")

    for tell in (lambda: browser_tells(shop), provider)[:: 1 if browser_first else -1]:
        await tell()
        shop.later(seconds=30)
    await shop.send()
    assert shop.sender.calls == []
    shop.later(seconds=30)
    await shop.send()
    (conversion,) = sent_conversions(shop)
    assert (conversion.value, conversion.currency, conversion.event_id) == (5000, "USD", "1001")
    assert (conversion.action_source, conversion.source_url) == ("website", "https://shop.example.com/thanks")
    customer = conversion.customer
    assert (customer.email, customer.fbp, customer.ip) == ("ada@example.com", "fb.1.1.1", "203.0.113.9")
    assert "Firefox" in customer.user_agent
    assert await statuses(shop) == [("sent", ""), ("skipped", "duplicate")]


async def test_rule_of_provider_events_uses_the_pixels_id_and_the_visitors_match_keys(tmp_path):
    async with run_postback_deployment(tmp_path, settle_seconds=60) as shop:
        await shop.rule(trigger_event_source="stripe")
        await stripe_tells(shop, *PAYMENT_SUCCEEDED, "evt_1")
        await browser_tells(shop)
        shop.later(seconds=60)
        await shop.send()
        (conversion,) = sent_conversions(shop)
        assert (conversion.value, conversion.event_id) == (5500, "1001")
        assert (conversion.customer.fbp, conversion.customer.email) == ("fb.1.1.1", None)


async def test_order_without_a_second_report_is_sent_after_the_settle_time(shop):
    await shop.sells("o1")
    row = await shop.row()
    assert row["next_attempt_at"] == shop.now + timedelta(seconds=60)
    shop.later(seconds=59)
    await shop.send()
    assert shop.sender.calls == []
    shop.later(seconds=1)
    await shop.send()
    assert [each.value for each in sent_conversions(shop)] == [1250]


async def test_order_whose_reports_never_end_is_sent_ten_minutes_after_the_first(shop):
    for number in range(12):
        await shop.send()
        assert shop.sender.calls == []
        await browser_tells(shop, event_id=f"e{number}", revenue=55)
        shop.later(seconds=50)
    assert shop.now == (await shop.rows())[0]["created_at"] + timedelta(minutes=10)
    await shop.send()
    assert [each.event_id for each in sent_conversions(shop)] == ["1001"]
    assert await statuses(shop) == [("sent", ""), *[("skipped", "duplicate")] * 11]


async def test_report_after_the_postback_is_a_duplicate(shop):
    await browser_tells(shop)
    shop.later(seconds=60)
    await shop.send()
    await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
    shop.later(hours=1)
    await shop.send()
    assert [each.value for each in sent_conversions(shop)] == [5500]
    assert await statuses(shop) == [("sent", ""), ("skipped", "duplicate")]


async def test_refund_before_sending_changes_neither_the_value_nor_the_time(shop):
    """A refund is counted in net revenue only, before the postback as after it."""
    await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
    shop.later(seconds=30)
    await stripe_tells(shop, *REFUNDED, "evt_2")
    shop.later(seconds=30)
    await shop.send()
    assert [each.value for each in sent_conversions(shop)] == [5000]
    assert await statuses(shop) == [("sent", "")]


async def test_person_who_says_the_email_while_the_order_settles_is_matched_by_it(shop):
    await shop.happens(order_id="o1", revenue=9, currency="EUR", visitor="A1")
    shop.later(seconds=20)
    await shop.happens("$identify", visitor="A1", user="U1", traits={"email": "late@example.com"})
    shop.later(seconds=40)
    await shop.send()
    (conversion,) = sent_conversions(shop)
    assert conversion.customer.email == "late@example.com"


async def test_value_comes_from_the_order_if_the_browser_sends_none(shop):
    await shop.happens(order_id="pi_9", visitor="A1", fbp="fb.1.1.1")
    await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
    shop.later(seconds=60)
    await shop.send()
    assert [each.value for each in sent_conversions(shop)] == [5000]


async def test_order_that_stays_without_a_value_is_skipped(shop):
    await shop.happens(order_id="o1", visitor="A1", fbp="fb.1.1.1")
    shop.later(seconds=60)
    await shop.send()
    assert await statuses(shop) == [("skipped", "missing_value")]


async def test_values_of_the_rule_and_of_other_events_stay_their_own(tmp_path):
    async with run_postback_deployment(tmp_path, settle_seconds=60) as shop:
        await shop.rule(value_type="static", static_value=7, currency="EUR")
        await shop.rule(trigger_event="lead", platform_event="Look")
        await shop.happens("lead", order_id="pi_9", value=3, currency="USD", email="ada@example.com")
        await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
        shop.later(seconds=60)
        await shop.send()
        assert sorted((each.event, each.value) for each in sent_conversions(shop)) == [
            ("Buy", 700),
            ("Look", 300),
        ]


async def test_consent_denied_in_any_report_of_the_order_sends_nothing(shop):
    await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
    await browser_tells(shop, consent="denied")
    shop.later(minutes=2)
    await shop.send()
    assert shop.sender.calls == []
    assert await statuses(shop) == [("skipped", "consent_denied")] * 2


async def test_provider_event_without_a_person_has_no_match_key(tmp_path):
    """The id that stands for a customer of Stripe is nothing a platform could match by."""
    sender = StubSender(match_keys=frozenset({"email", "visitor_id", "user_id", "anonymous_id"}))
    async with run_postback_deployment(tmp_path, sender, settle_seconds=60) as shop:
        await shop.rule()
        await stripe_tells(shop, *PAYMENT_SUCCEEDED, "evt_1")
        shop.later(seconds=60)
        await shop.send()
        assert await statuses(shop) == [("skipped", "no_match_key")]


async def test_settled_order_is_retried_with_the_same_value_and_person(shop):
    shop.sender.outcomes = [UNAVAILABLE_ERROR]
    await browser_tells(shop)
    await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
    shop.later(seconds=60)
    await shop.send()
    shop.later(minutes=1)
    await shop.send()
    first, second = sent_conversions(shop)
    assert first == second
    assert (second.value, second.customer.email) == (5000, "ada@example.com")
    assert await statuses(shop) == [("sent", ""), ("skipped", "duplicate")]


async def test_two_rules_send_the_order_to_two_destinations(tmp_path):
    first, other = StubSender(), StubSender(replace(ADHUB, id="other"))
    async with run_postback_deployment(tmp_path, first, other, settle_seconds=60) as shop:
        await shop.rule()
        await shop.rule(asset_id="p2")
        await shop.rule(platform="other")
        await browser_tells(shop)
        await stripe_tells(shop, *SESSION_COMPLETED, "evt_1")
        shop.later(seconds=60)
        await shop.send()
        sent = [conversion for sender in (first, other) for _, batch in sender.calls for conversion in batch]
        assert [each.value for each in sent] == [5000] * 3


@pytest.mark.parametrize("order", list(permutations(("identifies", "pays", "visits"))))
async def test_provider_order_has_the_person_and_click_known_by_then_whichever_came_first(tmp_path, order):
    """Stripe names an e-mail only; the person with that e-mail, and the click of their visit, are those of the order."""
    async with run_postback_deployment(tmp_path, settle_seconds=60) as shop:
        await shop.rule(trigger_event_source="stripe")
        at = shop.now
        steps = {
            "visits": lambda: shop.happens("page_view", at=at, visitor="A1", gclid="Cj0"),
            "identifies": lambda: shop.happens(
                "$identify", at=at, visitor="A1", user="U1", traits={"email": "ada@example.com", "phone": "+15551234567"}
            ),
            "pays": lambda: stripe_tells(shop, *SESSION_COMPLETED, "evt_1"),
        }  # fmt: skip
        for step in order:
            await steps[step]()
            shop.later(seconds=10)
        shop.later(seconds=60)
        await shop.send()
        (conversion,) = sent_conversions(shop)
        customer = conversion.customer
        assert (conversion.value, customer.email, customer.phone) == (5000, "ada@example.com", "+15551234567")
        assert (customer.click.type, customer.click.value) == ("gclid", "Cj0")
