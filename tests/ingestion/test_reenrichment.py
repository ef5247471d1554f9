"""Stored events that are enriched again by the present rules."""

import json
from dataclasses import replace

from hypothesis import given

from service_core.access.analytics_settings import AnalyticsSettings, CustomChannel
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import REENRICHED_COLUMNS
from service_core.ingestion.pipeline import IngestPipeline
from service_core.ingestion.reenrichment import EventReenricher
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.validation import ValidatedEvent, validate_name_and_identity
from service_core.testing.ingestion_stubs import (
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
    parse_and_enrich_body,
)
from tests.fixtures.stub_event_stores import StubEventWriter
from tests.fixtures.stub_queues import StubIngestQueue
from tests.ingestion.test_random_bodies import ARRIVALS, BODIES

CLASSIFIER = TrafficClassifier(StubPublicSuffixes())
ENRICHER = Enricher(StubDevices(), StubGeo(), CLASSIFIER)
SHOP = make_workspace()


def reenrich(events, workspace=SHOP):
    return EventReenricher(workspace, CLASSIFIER, StubGeo()).reenriched_events_that_differ(events)


def shop_with_channel(*channels):
    return replace(SHOP, rules=AnalyticsSettings(channels=channels))


async def store_bodies(*bodies):
    """Events as the pipeline stores them, in the order of the bodies, a minute apart."""
    queued = [
        make_queued_event(
            json.dumps({"user_id": "u1", "context": {"session_id": "s1"}, **body}).encode(), seq=n
        )
        for n, body in enumerate(bodies)
    ]
    store = StubEventWriter()

    async def find_shop(_):
        return SHOP

    await IngestPipeline(StubIngestQueue(*queued), store, find_shop, ENRICHER, json.loads).process_batch()
    return list(store.events.values())


def page_view(**properties):
    return {"event": "page_view", "properties": properties}


@given(BODIES, ARRIVALS)
def test_under_unchanged_rules_no_event_changes(body, arrival):
    if isinstance(validate_name_and_identity(body), ValidatedEvent):
        event = parse_and_enrich_body(ENRICHER, make_queued_event(**arrival), body, workspace=SHOP)
        assert reenrich([event]) == []


async def test_sessions_inherit_again_and_later_pages_take_the_new_channel():
    events = await store_bodies(
        page_view(
            url="https://shop.example/?utm_source=newsletter&utm_medium=crm",
            utm_source="newsletter",
            utm_medium="crm",
        ),
        page_view(url="https://shop.example/b"),
        {"event": "purchase", "properties": {"value": 10, "currency": "EUR"}},
    )
    assert reenrich(events) == []
    shop = shop_with_channel(CustomChannel("custom:crm", medium="crm"))
    again = reenrich(events, shop)
    assert [event.channel for event in again] == ["custom:crm"] * 3
    assert [event.own_channel for event in again] == ["custom:crm", None, None]
    kept = dict.fromkeys(REENRICHED_COLUMNS)
    for event, before in zip(again, events, strict=True):
        assert replace(event, **kept) == replace(before, **kept)
    assert reenrich(again, shop) == []


async def test_present_lists_decide_on_referrer_spam_and_location():
    (event,) = await store_bodies(page_view(url="https://shop.example/", referrer="https://news.example/a"))
    stale = replace(
        event, bot_reasons=("rate", "referrer_spam"), is_bot=True, touchable=False, referrer_host=None,
        ip="203.0.113.9", source="browser", country="ZZ", own_source=None, attribution_source="(direct)",
    )  # fmt: skip
    (again,) = reenrich([stale])
    assert (again.is_bot, again.bot_reasons, again.touchable) == (False, ("rate",), True)
    assert (again.referrer_host, again.own_source) == ("news.example", "news.example")
    assert again.country == StubGeo().locate("203.0.113.9").country
    (cut,) = reenrich([replace(stale, ip="203.0.113.0/24")])
    assert cut.country == "ZZ"


async def test_event_without_consent_and_the_utm_values_of_a_link_stay():
    denied, linked = await store_bodies(
        page_view(url="https://shop.example/?gclid=x", gclid="x", consent="denied"), page_view(lyr="k7m2q9xa")
    )
    shop = shop_with_channel(CustomChannel("custom:spring", campaign="spring"))
    linked = replace(linked, session_id="s2", utm_source="instagram", utm_campaign="spring")
    (again,) = reenrich([denied, linked], shop)
    assert (again.event_id, again.own_source, again.channel) == (
        linked.event_id,
        "instagram",
        "custom:spring",
    )
    assert (again.utm_source, again.utm_campaign, again.lyr) == ("instagram", "spring", "k7m2q9xa")
