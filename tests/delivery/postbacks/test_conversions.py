"""What a sender gets of an event and its person, and what of it is kept."""

import json
from datetime import timedelta

import pytest

from service_core.delivery.postbacks.models import ClickId, LineItem
from tests.delivery.postbacks.deployment import run_postback_deployment


@pytest.fixture
async def postback_workspace(tmp_path):
    async with run_postback_deployment(tmp_path) as postback_workspace:
        await postback_workspace.rule()
        yield postback_workspace


async def send_and_read_conversion(postback_workspace, **fields):
    """What the sender gets of one purchase."""
    await postback_workspace.sells("o1", **fields)
    await postback_workspace.send()
    ((_, (conversion,)),) = postback_workspace.sender.calls
    return conversion


async def test_click_of_the_session_precedes_a_later_click_of_the_person(postback_workspace):
    noon = postback_workspace.now
    await postback_workspace.happens("pageview", at=noon - timedelta(hours=3), session="s1", gclid="here")
    await postback_workspace.happens("pageview", at=noon - timedelta(hours=2), session="s1")
    await postback_workspace.happens("pageview", at=noon - timedelta(hours=1), session="s2", gclid="there")
    click = (await send_and_read_conversion(postback_workspace, at=noon, session="s1")).customer.click
    assert click == ClickId("gclid", "here", noon - timedelta(hours=3))


async def test_latest_click_of_the_person_on_any_device_is_the_fallback(postback_workspace):
    noon = postback_workspace.now
    for days, visitor, session, click in ((20, "A2", "s8", "older"), (10, "A2", "s9", "latest")):
        await postback_workspace.happens(
            "pageview", at=noon - timedelta(days=days), visitor=visitor, session=session, gclid=click
        )
        await postback_workspace.happens(
            "pageview",
            at=noon - timedelta(days=days, minutes=-5),
            visitor=visitor,
            session=session,
            gclid=click,
        )
    await postback_workspace.happens("$identify", at=noon - timedelta(days=5), visitor="A2", user="u1")
    click = (await send_and_read_conversion(postback_workspace, at=noon, user="u1")).customer.click
    assert click == ClickId("gclid", "latest", noon - timedelta(days=10))


@pytest.mark.parametrize(("days", "counts"), [(30, True), (30.01, False)])
async def test_click_counts_within_the_window_of_the_platform(postback_workspace, days, counts):
    await postback_workspace.happens(
        "pageview", at=postback_workspace.now - timedelta(days=days), session="s9", gclid="c1"
    )
    assert ((await send_and_read_conversion(postback_workspace)).customer.click is not None) is counts


async def test_click_id_of_another_platform_is_ignored(postback_workspace):
    await postback_workspace.happens("pageview", session="s1", fbclid="f1")
    assert (await send_and_read_conversion(postback_workspace)).customer.click is None


async def test_next_click_id_type_is_used_when_the_first_is_missing(postback_workspace):
    await postback_workspace.happens("pageview", session="s1", gbraid="b1", fbclid="f1")
    click = (await send_and_read_conversion(postback_workspace, email=None)).customer.click
    assert (click.type, click.value) == ("gbraid", "b1")


async def test_earlier_person_fields_complete_the_event(postback_workspace):
    await postback_workspace.happens(
        "$identify", user="u1", email="old@example.com",
        traits={"phone": "+1 555", "first_name": "Ada", "address": {"zip": "94107", "country": "US"}},
    )  # fmt: skip
    customer = (await send_and_read_conversion(postback_workspace, user="u1", city="Paris")).customer
    assert (customer.email, customer.phone, customer.first_name) == ("ada@example.com", "+1 555", "Ada")
    assert (customer.postal_code, customer.country, customer.city) == ("94107", "US", "Paris")
    assert (customer.user_id, customer.visitor_id, customer.anonymous_id) == ("u1", "A1", "A1")


async def test_person_fields_said_after_an_event_without_settle_time_are_not_sent(postback_workspace):
    await postback_workspace.sells("o1", user="u1")
    postback_workspace.later(seconds=1)
    await postback_workspace.happens("$identify", user="u1", traits={"phone": "+1 555", "first_name": "Ada"})
    await postback_workspace.send()
    ((_, (conversion,)),) = postback_workspace.sender.calls
    assert (conversion.customer.email, conversion.customer.phone) == ("ada@example.com", None)
    assert conversion.customer.first_name is None


async def test_person_fields_without_consent_are_not_used(postback_workspace):
    await postback_workspace.happens("$identify", user="u1", traits={"phone": "+1 555"}, consent="denied")
    await postback_workspace.happens("$identify", user="u1", traits={"first_name": "Ada"})
    customer = (await send_and_read_conversion(postback_workspace, user="u1")).customer
    assert (customer.phone, customer.first_name) == (None, "Ada")


async def test_server_purchase_has_the_cookies_of_the_visit(postback_workspace):
    await postback_workspace.happens(
        "pageview", at=postback_workspace.now - timedelta(minutes=9), fbp="fb.1.1.2", user="u1"
    )
    conversion = await send_and_read_conversion(
        postback_workspace, agent="shop-server/1", user="u1", visitor=None
    )
    assert (conversion.customer.fbp, conversion.customer.user_agent) == ("fb.1.1.2", None)
    assert conversion.action_source == "system_generated"


async def test_placeholder_ids_are_not_sent(postback_workspace):
    customer = (await send_and_read_conversion(postback_workspace, user="guest")).customer
    assert (customer.user_id, customer.visitor_id) == (None, "A1")


async def test_order_items_are_sent_as_contents(postback_workspace):
    items = [
        {"sku": "s-1", "quantity": 2, "price": "5.50", "name": "Shirt"},
        {"item_id": 7, "price": 1.25},
        {"name": "no id"},
        "nothing",
    ]
    assert (await send_and_read_conversion(postback_workspace, items=items)).line_items == (
        LineItem("s-1", 2, 550, "Shirt"),
        LineItem("7", 1, 125),
    )


@pytest.mark.parametrize(("consent", "granted"), [("granted", True), (None, False)])
async def test_given_consent_is_sent(postback_workspace, consent, granted):
    assert (await send_and_read_conversion(postback_workspace, consent=consent)).consent_granted is granted


PERSONAL = (
    "ada@example.com",
    "203.0.113.9",
    "Firefox",
    "+1555",
    "Lovelace",
    "visitor-A1",
    "click-of-ada",
    "hush",
    "/thanks",
)


async def test_outbox_stores_minimal_personal_data_until_delivery(postback_workspace, caplog):
    caplog.set_level("DEBUG", "touchpoint")
    await postback_workspace.happens("pageview", session="s1", visitor="visitor-A1", gclid="click-of-ada")
    values = {
        "phone": "+1555",
        "last_name": "Lovelace",
        "url": "https://shop.example.com/thanks",
        "visitor": "visitor-A1",
    }
    await postback_workspace.sells("o1", **values)
    waiting = json.dumps(await postback_workspace.row(), default=str)
    assert [text for text in PERSONAL if text in waiting] == ["Firefox"]
    await postback_workspace.send()
    row = await postback_workspace.row()
    assert row["request_masked"] == {
        "event": "Buy", "event_id": "o1", "occurred_at": "2026-07-08T15:00:00.000Z", "action_source": "website",
        "value": "12.50", "currency": "EUR", "contents": 0,
        "customer": [
            "email", "phone", "last_name", "ip", "user_agent", "click", "visitor_id", "anonymous_id", "os",
        ],
    }  # fmt: skip
    kept = json.dumps(row, default=str) + caplog.text
    assert [text for text in PERSONAL if text in kept] == []
