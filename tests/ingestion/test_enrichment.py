"""The event row of an arrival: columns, bots, sources, touches, privacy."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from service_core.access.analytics_settings import AnalyticsSettings, CustomChannel
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import CAMPAIGN_COLUMNS, PROVIDER_HEADER, IngestEndpoint
from service_core.ingestion.parse_event import ExternalIdEvent
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.traffic_source_columns import session_state_after_event
from service_core.testing.ingestion_stubs import (
    FIREFOX,
    NOON,
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
    parse_and_enrich_body,
)

ENRICHER = Enricher(StubDevices(), StubGeo(), TrafficClassifier(StubPublicSuffixes()))
SHOP = make_workspace()
CAMPAIGN = {"utm_source": "google", "utm_medium": "cpc", "gclid": "Cj0"}
LANDING = "https://example.com/?utm_source=google&utm_medium=cpc&gclid=Cj0"


EXTERNAL_ID_EVENTS = {
    "$shop_session": ExternalIdEvent("shop_session", ("session_id", "sessionId", "checkout_session_id"))
}


def enriched_row(name="pageview", properties=None, *, session=None, arrival=None, **body):
    body = {"event": name, "anonymous_id": "A1", "properties": properties or {}, **body}
    return parse_and_enrich_body(
        ENRICHER,
        make_queued_event(**{"user_agent": FIREFOX} | (arrival or {})),
        body,
        workspace=SHOP,
        session=session,
        external_id_events=EXTERNAL_ID_EVENTS,
    )


def test_worked_example_of_the_contract():
    body = json.loads(
        '{"event":"purchase","user_id":"u_42","anonymous_id":"anon_3f2b8c1e","event_id":"order_1001",'
        '"timestamp":1782900000000,"properties":{"value":"49.90","currency":"usd","order_id":"1001",'
        '"utm_source":"google","utm_medium":"cpc","gclid":"Cj0","url":"https://example.com/thanks"},'
        '"context":{"session_id":"sess_1"},"external_ids":{"klaviyo":"kl_9"},"ip":"203.0.113.7"}'
    )
    event = parse_and_enrich_body(ENRICHER, make_queued_event(event_id="order_1001"), body, workspace=SHOP)
    assert event.event_id == "order_1001"
    assert event.timestamp == NOON - timedelta(hours=2)
    assert (event.visitor_id, event.user_id, event.strong_id) == ("anon_3f2b8c1e", "u_42", "u_42")
    assert (event.session_id, event.session_origin) == ("sess_1", "client")
    assert (event.revenue, event.currency, event.order_id) == (4990, "USD", "1001")
    assert (event.attribution_source, event.attribution_medium, event.channel) == (
        "google",
        "cpc",
        "paid_search",
    )
    assert (event.click_id, event.click_id_type, event.gclid) == ("Cj0", "gclid", "Cj0")
    assert (event.page_url, event.page_path) == ("https://example.com/thanks", "/thanks")
    assert event.external_ids == {"klaviyo": "kl_9"}
    assert (event.source, event.ip, event.country, event.browser) == ("api", "203.0.113.7", None, None)
    assert (event.sdk_name, event.sdk_version) == ("http", "0")
    assert event.event_data == body["properties"]


def test_browser_event_has_device_place_and_language():
    event = enriched_row(
        arrival={"address": "203.0.113.9", "headers": {"accept-language": "de-DE,de;q=0.9"}},
        context={"screen": {"width": 1920, "height": "1080"}, "app": {"name": "Shop", "version": 2}},
    )
    assert (event.source, event.device_type, event.browser, event.os) == (
        "browser",
        "desktop",
        "Firefox",
        "Linux",
    )
    assert (event.country, event.city, event.timezone) == ("DE", "Berlin", "Europe/Berlin")
    assert (event.language, event.screen_width, event.screen_height) == ("de-DE", 1920, 1080)
    assert (event.app_name, event.app_version) == ("Shop", "2")


def test_app_events_carry_their_own_device_fields():
    event = enriched_row(
        arrival={"user_agent": "touchpoint-ios/1", "address": "203.0.113.9"},
        context={"os": {"name": "ios", "version": "17.5"}, "device": {"type": "phone"}, "locale": "en-GB"},
    )
    assert (event.source, event.device_type, event.os, event.os_version) == (
        "mobile_app",
        "mobile",
        "iOS",
        "17.5",
    )
    assert (event.language, event.country) == ("en-GB", "DE")


def test_api_event_has_device_columns_only_from_a_sent_user_agent():
    silent = enriched_row(
        arrival={"user_agent": "curl/8", "address": "203.0.113.9"}, properties={"os": "ios"}
    )
    assert (silent.source, silent.ip, silent.country, silent.os, silent.browser) == (
        "api",
        None,
        None,
        None,
        None,
    )
    spoken = enriched_row(arrival={"user_agent": "curl/8"}, context={"userAgent": FIREFOX}, ip="203.0.113.9")
    assert (spoken.browser, spoken.ip, spoken.country) == ("Firefox", "203.0.113.9", None)


def test_ip_of_zero_records_none():
    event = enriched_row(arrival={"address": "203.0.113.9"}, ip="0")
    assert (event.ip, event.country) == (None, None)


def test_properties_never_touch_columns_of_similar_names():
    sent = {"source": "x", "timestamp": "2026-01-01", "sessionId": "s"}
    event = enriched_row(properties=sent, context={"source": "y"}, utm_source="top")
    assert (event.source, event.timestamp, event.session_origin) == ("browser", NOON, "generated")
    assert (event.utm_source, event.event_data) == (None, sent)


def test_generated_session_id_changes_every_hour():
    first = enriched_row(timestamp="2026-07-01T10:59:59Z")
    second = enriched_row(timestamp="2026-07-01T11:00:00Z")
    again = enriched_row(timestamp="2026-07-01T11:30:00Z")
    assert first.session_id.startswith("sess_")
    assert len(first.session_id) == 21
    assert first.session_id != second.session_id == again.session_id


def test_flat_property_names_are_read_from_browser_batches_only():
    body = {"event": "a", "anonymous_id": "A", "event_data": {"plan": "pro"}, "session_id": "s1"}
    flat = parse_and_enrich_body(
        ENRICHER, make_queued_event(channel=IngestEndpoint.BATCH), body, workspace=SHOP
    )
    assert (flat.source, flat.event_data, flat.session_id) == ("web", {"plan": "pro"}, "s1")
    strict = parse_and_enrich_body(ENRICHER, make_queued_event(), body, workspace=SHOP)
    assert (strict.event_data, strict.session_origin) == ({}, "generated")


@pytest.mark.parametrize("wrong", [None, [], "text", 5, [{"a": 1}]])
def test_field_of_the_wrong_shape_counts_as_empty(wrong):
    event = parse_and_enrich_body(
        ENRICHER,
        make_queued_event(),
        {"event": "a", "user_id": 1, "properties": wrong, "context": wrong, "external_ids": wrong},
        workspace=SHOP,
    )
    assert (event.event_data, event.external_ids, event.sdk_name) == ({}, None, "http")


def test_external_ids_become_text():
    event = enriched_row(external_ids={"a": 5, "b": " x ", "c": None, "d": {}, "": "y", "e": ""})
    assert event.external_ids == {"a": "5", "b": "x"}


def test_placeholder_external_ids_are_dropped():
    assert enriched_row(external_ids={"a": "NULL", "b": 0, "c": "0-0", "d": "x"}).external_ids == {"d": "x"}
    assert enriched_row(external_ids={"a": "undefined"}).external_ids is None


def test_library_version_is_recorded():
    event = enriched_row(context={"library": {"name": "touchpoint-js", "version": "3.1"}})
    assert (event.sdk_name, event.sdk_version) == ("touchpoint-js", "3.1")


def test_secrets_in_page_addresses_are_redacted_in_columns_and_payload():
    event = enriched_row(
        properties={"url": "https://example.com/?token=abc", "referrer": "https://a.b/?email=x@y.z"}
    )
    assert event.page_url == event.event_data["url"] == "https://example.com/?token=redacted"
    assert event.referrer == event.event_data["referrer"] == "https://a.b/?email=redacted"


def test_event_without_source_fields_is_direct():
    event = enriched_row()
    assert (event.attribution_source, event.attribution_medium, event.channel) == (
        "(direct)",
        "(none)",
        "direct",
    )
    assert (event.own_channel, event.referral_channel) == (None, None)


def test_event_inherits_the_latest_touch_of_its_session():
    landing = enriched_row(properties={**CAMPAIGN, "url": LANDING})
    state = session_state_after_event(landing, None)
    later = enriched_row("add_to_cart", {"url": "https://example.com/cart"}, session=state)
    assert (later.channel, later.attribution_source, later.own_channel) == ("paid_search", "google", None)
    assert (later.landing_page, later.utm_source) == ("/", None)
    assert not later.touchable


def test_own_pages_and_payment_hosts_are_not_referrers():
    for host in ("example.com", "www.example.com", "checkout.stripe.com", "blog.example.com"):
        event = enriched_row(properties={"referrer": f"https://{host}/x"})
        assert (event.channel, event.referral_channel) == ("direct", None)
    own = enriched_row(properties={"url": "https://other.net/a", "referrer": "https://www.other.net/b"})
    assert (own.channel, own.referrer_host, own.referrer) == ("direct", None, "https://www.other.net/b")


def test_allowed_origins_are_own_hosts():
    shop = replace(SHOP, allowed_origins=("https://shop.partner.net:8443",))
    body = {"event": "pageview", "user_id": 1, "properties": {"referrer": "https://www.partner.net/"}}
    assert parse_and_enrich_body(ENRICHER, make_queued_event(), body, workspace=shop).channel == "direct"


def test_custom_channels_apply_to_event_and_touch():
    shop = replace(
        SHOP, rules=AnalyticsSettings(channels=(CustomChannel("custom:crm", source="newsletter"),))
    )
    body = {"event": "pageview", "anonymous_id": "a1", "properties": {"utm_source": "Newsletter"}}
    event = parse_and_enrich_body(ENRICHER, make_queued_event(), body, workspace=shop)
    assert (event.channel, event.own_channel) == ("custom:crm", "custom:crm")
    assert parse_and_enrich_body(ENRICHER, make_queued_event(), body, workspace=SHOP).channel == "unassigned"


def test_stored_client_values_are_kept_without_a_touch():
    state = session_state_after_event(enriched_row(properties={**CAMPAIGN, "url": LANDING}), None)
    kept = enriched_row(properties={**CAMPAIGN, "url": "https://example.com/b"}, session=state)
    assert kept.attribution_carried
    assert (kept.utm_source, kept.gclid, kept.channel, kept.campaign_in_url) == (
        "google",
        "Cj0",
        "paid_search",
        False,
    )
    again = enriched_row(properties={**CAMPAIGN, "url": LANDING}, session=state)
    assert (again.attribution_carried, again.campaign_in_url) == (False, True)


def test_external_referrer_overrides_stored_client_values():
    state = session_state_after_event(enriched_row(properties={**CAMPAIGN, "url": LANDING}), None)
    event = enriched_row(properties={**CAMPAIGN, "referrer": "https://partner.net/"}, session=state)
    assert (event.attribution_carried, event.channel, event.attribution_source) == (
        True,
        "referral",
        "partner.net",
    )


def test_state_of_a_session_keeps_the_latest_campaign():
    first = session_state_after_event(enriched_row(properties={**CAMPAIGN, "url": LANDING}), None)
    assert dict(zip(CAMPAIGN_COLUMNS, first.last_campaign, strict=True))["click_id"] == "Cj0"
    assert session_state_after_event(enriched_row(session=first), first) == first


@pytest.mark.parametrize(
    ("name", "properties", "touchable"),
    [
        ("pageview", {}, True),
        ("page_view", {}, True),
        ("$pageview", {}, True),
        ("session_start", {}, True),
        ("app_install", {}, True),
        ("$deep_link", {}, True),
        ("purchase", {}, False),
        ("purchase", {"utm_source": "a"}, True),
        ("purchase", {"lyr": "t"}, True),
        ("purchase", {"twclid": "t"}, True),
        ("pageview", {"bot": True}, False),
    ],
)
def test_touch_is_created_by_source_fields_only(name, properties, touchable):
    assert enriched_row(name, properties).touchable is touchable


@pytest.mark.parametrize(
    ("name", "properties", "interactive"),
    [
        ("purchase", {}, True),
        ("scroll", {"interactive": False}, False),
        ("$identify", {}, False),
        ("$pageview", {}, True),
        ("session_start", {}, True),
    ],
)
def test_engagement_events_end_a_bounce(name, properties, interactive):
    assert enriched_row(name, properties).interactive is interactive


def test_bot_detection_applies_to_browser_user_agents():
    bot = enriched_row(arrival={"user_agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"})
    assert (bot.is_bot, bot.bot_reasons, bot.touchable) == (True, ("known_agent",), False)
    assert bot.bot_reason == "known_agent"
    prefetch = enriched_row(arrival={"user_agent": FIREFOX, "headers": {"sec-purpose": "prefetch"}})
    assert prefetch.bot_reasons == ("prefetch",)
    spam = enriched_row(properties={"referrer": "http://semalt.com/x"})
    assert spam.bot_reasons == ("referrer_spam",)


def test_bot_detection_of_api_events_uses_the_sent_user_agent():
    arrival = {"user_agent": "my-bot/1", "headers": {"purpose": "prefetch"}}
    assert not enriched_row(arrival=arrival).is_bot
    assert enriched_row(arrival=arrival, context={"user_agent": "Headless bot"}).bot_reasons == (
        "headless",
        "known_agent",
    )


def test_test_event_is_marked():
    assert enriched_row(properties={"test": True}).is_test
    assert not enriched_row(properties={"test": "no"}).is_test


def test_without_consent_no_id_of_click_browser_or_address_is_kept():
    sent = CAMPAIGN | {
        "consent": "denied", "fbp": "f", "fbc": "g", "ttp": "t", "clickId": "c", "clickIdType": "gclid",
        "url": LANDING, "referrer": "https://partner.net/?fbclid=1&a=2", "plan": "pro",
    }  # fmt: skip
    event = enriched_row(properties=sent, arrival={"address": "203.0.113.9"})
    kept = [event.click_id, event.click_id_type, event.gclid, event.fbp, event.fbc, event.ttp, event.ip]
    assert kept == [None] * 7
    assert event.page_url == "https://example.com/?utm_source=google&utm_medium=cpc"
    assert event.referrer == "https://partner.net/?a=2"
    assert "Cj0" not in json.dumps(event.event_data)
    assert event.event_data["plan"] == "pro"
    assert (event.channel, event.utm_source, event.country) == ("paid_search", "google", "DE")


def test_alias_keeps_the_previous_id_for_the_stores():
    event = enriched_row("$alias", {"previousId": "U1", "newUserId": "U2"}, user_id="U1")
    assert (event.strong_id, event.user_id, event.event_data["previous_id"]) == ("U2", "U2", "U1")


def test_nul_characters_never_reach_a_store():
    deep = {"a": 1}
    for _ in range(100):
        deep = {"d": deep}
    sent = {
        "nul": "a\0b",
        "half": "\ud800",
        "big": 2**70,
        "inf": float("inf"),
        "nan": float("nan"),
        "huge": 10**400,
    }
    event = enriched_row(
        properties={**sent, "deep": deep, "k\0": [True, None, 2**63 - 1]}, anonymous_id="A\0"
    )
    assert event.visitor_id == "A\ufffd"
    data = dict(event.event_data)
    assert data.pop("deep")
    assert data == {
        "nul": "a\ufffdb", "half": "\ufffd", "big": float(2**70), "inf": None, "nan": None, "huge": None,
        "k\ufffd": [True, None, 2**63 - 1],
    }  # fmt: skip
    json.dumps(event.event_data, allow_nan=False).encode()


def test_weak_ids_beside_a_strong_id_are_stored():
    event = enriched_row("login", user_id="U", visitor_id="V", distinct_id="D")
    assert (event.visitor_id, event.sent_visitor_id, event.weak_ids_joined_to_strong_id) == (
        "A1",
        "V",
        ("A1", "V", "D"),
    )
    assert enriched_row("login", user_id="U", distinct_id="U").weak_ids_joined_to_strong_id == ("A1",)
    assert enriched_row("view", visitor_id="V").weak_ids_joined_to_strong_id == ()


WEBHOOK = {"channel": IngestEndpoint.WEBHOOK, "user_agent": None, "headers": {PROVIDER_HEADER: "stripe"}}


def test_provider_event_has_a_source_without_device_location_or_bot_flag():
    sent = {"bot": True, "language": "de", "screen_width": 100, "test": True}
    context = {"userAgent": "Googlebot", "app": {"name": "Shop"}}
    event = enriched_row(
        "purchase", sent, arrival=WEBHOOK | {"address": "203.0.113.9"}, context=context, ip="203.0.113.9"
    )
    assert (event.source, event.is_bot, event.bot_reasons, event.is_test) == ("stripe", False, (), True)
    assert (event.device_type, event.browser, event.language, event.app_name) == (None,) * 4
    assert (event.country, event.screen_width, event.touchable) == (None, None, False)


def test_only_webhook_events_have_a_provider_source():
    sent = {"headers": {PROVIDER_HEADER: "stripe"}, "user_agent": None}
    assert [
        enriched_row(arrival=sent | {"channel": endpoint}).source
        for endpoint in (IngestEndpoint.TRACK, IngestEndpoint.BATCH)
    ] == [
        "api",
        "web",
    ]


@pytest.mark.parametrize("name", ["session_id", "sessionId", "checkout_session_id"])
def test_tracked_checkout_session_is_an_external_id(name):
    result = enriched_row("$shop_session", {name: "cs_1"}, external_ids={"klaviyo": "k"})
    assert result.external_ids == {"klaviyo": "k", "shop_session": "cs_1"}
    assert enriched_row("purchase", {name: "cs_1"}).external_ids is None
    assert enriched_row("$shop_session", {name: "null"}).external_ids is None
