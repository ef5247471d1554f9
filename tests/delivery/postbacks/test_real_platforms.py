"""From the door of events to the wire of each platform there is a sender for, over a socket."""

from dataclasses import replace
from functools import partial

import pytest

from plugins.ads_google.conversions import CONVERSION_SENDER, send_conversions
from service_core.testing.fake_platform import FakePlatform, FakeResponse, serve_api
from tests.delivery.postbacks.deployment import run_postback_deployment

ADA = "b5fc85e55755f9e0d030a10ab4429b6b2944855f9a0d60077fe832becbc41d72"
SECRETS = dict.fromkeys(
    ("access_token", "app_id", "secret", "api_key", "developer_token", "client_id", "client_secret", "refresh_token"),
    "hush-hush",
)  # fmt: skip


def run_with_response(answer):
    """A platform that takes everything, and gives tokens."""
    return FakePlatform(lambda _: FakeResponse(answer), FakeResponse({}), lambda _: FakeResponse({}))


@pytest.mark.parametrize(
    ("platform", "event", "click", "answer", "path", "found"),
    [
        (
            "meta", "Purchase", "fbclid", {"events_received": 1}, "/v1/p1/events",
            lambda body: (body["data"][0]["event_id"], *body["data"][0]["user_data"]["em"], body["data"][0]["user_data"]["fbc"].partition("Click")[1]),
        ),
        (
            "tiktok", "CompletePayment", "ttclid", {"code": 0, "data": {}}, "/v1/event/track/",
            lambda body: (body["data"][0]["event_id"], body["data"][0]["user"]["email"], body["data"][0]["user"]["ttclid"]),
        ),
        (
            "openai", "order_created", "oppref", {}, "/v1/events",
            lambda body: (body["events"][0]["id"], body["events"][0]["user"]["email_sha256"], body["events"][0]["oppref"]),
        ),
    ],
)  # fmt: skip
async def test_purchase_reaches_a_platform(tmp_path, platform, event, click, answer, path, found):
    async with (
        serve_api(run_with_response(answer)) as api,
        run_postback_deployment(tmp_path, api_urls={platform: f"{api.url}/v1"}) as shop,
    ):
        await shop.connect(platform, secrets=SECRETS)
        await shop.rule(platform=platform, platform_event=event)
        await shop.happens("page_view", url="https://shop.example.com/", **{click: "Click"})
        await shop.sells("order-7", url="https://shop.example.com/thanks")
        assert await shop.outcome() == ("queued", None)
        await shop.send()
        assert await shop.outcome() == ("sent", None)
    (request,) = api.asked
    assert request.path == path
    assert found(request.json()) == ("order-7", ADA, "Click")


async def test_purchase_reaches_a_conversion_action_of_google(tmp_path):
    given = FakeResponse({"access_token": "short-lived", "results": [{}]})
    async with (
        serve_api(FakePlatform(lambda _: given, given, lambda _: given)) as api,
        run_postback_deployment(tmp_path) as shop,
    ):
        sender = replace(
            CONVERSION_SENDER, send_batch=partial(send_conversions, f"{api.url}/token")
        ).with_base_url(f"{api.url}/v1")
        shop.delivery = replace(shop.delivery, senders={"google": sender})
        await shop.connect("google", secrets=SECRETS)
        await shop.rule(platform="google", platform_event="Shop pixel")
        await shop.happens("page_view", url="https://shop.example.com/", gclid="Click")
        await shop.sells("order-7", consent="granted")
        await shop.send()
        assert await shop.outcome() == ("sent", None)
    token, request = api.asked
    assert (token.path, request.path) == ("/token", "/v1/customers/act_1:uploadClickConversions")
    (row,) = request.json()["conversions"]
    assert (row["gclid"], row["orderId"], row["conversionValue"]) == ("Click", "order-7", 12.5)
    assert row["conversionAction"] == "customers/act_1/conversionActions/p1"
    assert (row["userIdentifiers"], row["consent"]) == ([{"hashedEmail": ADA}], {"adUserData": "GRANTED"})
