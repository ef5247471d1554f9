"""The first and last touch that a client tells, classified like any visit (7)."""

import json

import pytest

from service_core.analytics.people.touches import list_client_reported_touches
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.parse_event import parse_event
from service_core.ingestion.reported_touches import link_tags_of_touches_without_utm
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.testing.ingestion_stubs import (
    StubDevices,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
    parse_and_enrich_body,
)

ENRICHER = Enricher(StubDevices(), None, TrafficClassifier(StubPublicSuffixes()))
AD = {"first_touch_timestamp": "2026-06-20T08:00:00Z", "first_touch_utm_source": "google"}


def event_with_touches(**properties):
    """What an event of 2026-07-01T10:00Z tells."""
    body = {
        "event": "purchase",
        "user_id": "U",
        "timestamp": "2026-07-01T10:00:00Z",
        "properties": properties,
    }
    return parse_and_enrich_body(ENRICHER, make_queued_event(), body, workspace=make_workspace())


def touches_of(**properties):
    return [visit.to_touch() for visit in list_client_reported_touches(event_with_touches(**properties))]


def test_both_touches_are_read_and_ordered_by_their_time():
    last = {"last_touch_timestamp": 1782810000000, "last_touch_referrer": "https://www.google.com/"}
    ad = {
        **AD,
        "first_touch_utm_medium": "cpc",
        "first_touch_utm_campaign": "spring",
        "first_touch_gclid": "g1",
    }
    first, second = touches_of(**last, **ad)
    assert (first.channel, first.source, first.medium, first.campaign) == (
        "paid_search", "google", "cpc", "spring",
    )  # fmt: skip
    assert (first.click_id, first.click_id_type, first.utm_source) == ("g1", "gclid", "google")
    assert f"{first.timestamp:%Y-%m-%d %H:%M}" == "2026-06-20 08:00"
    assert (second.channel, second.source, second.referrer) == (
        "organic_search", "google", "https://www.google.com/",
    )  # fmt: skip
    assert f"{second.timestamp:%Y-%m-%d %H:%M}" == "2026-06-30 09:00"


def test_touch_fields_have_alternative_names():
    named = {"source": "news", "medium": "email", "campaign": "march", "content": "top", "term": "x"}
    named |= {"click_id": "c1", "click_id_type": "msclkid", "lyr": "x9", "landing_page": "/sale"}
    (touch,) = touches_of(
        last_touch_timestamp="2026-06-30", **{f"last_touch_{name}": value for name, value in named.items()}
    )
    assert {name: getattr(touch, name) for name in named} == named
    assert touch.channel == "email"


@pytest.mark.parametrize(
    "when", [None, "", "yesterday", "2019-12-31T23:59:59Z", "2026-07-01T10:00:01Z", True, {}]
)
def test_touch_time_is_between_2020_and_its_event(when):
    assert touches_of(first_touch_utm_source="google", first_touch_timestamp=when) == []


@pytest.mark.parametrize(
    "said",
    [{}, {"first_touch_url": "https://example.com/?a=1"}, {"first_touch_referrer": "https://example.com/"}],
)
def test_time_without_values_is_no_touch(said):
    assert event_with_touches(first_touch_timestamp="2026-06-20", **said).reported_touches is None


def test_two_equal_touches_are_one():
    again = {name.replace("first", "last"): value for name, value in AD.items()}
    assert [touch.source for touch in touches_of(**AD, **again)] == ["google"]


def test_reported_direct_touch_is_direct():
    values = {"last_touch_source": "(direct)", "last_touch_medium": "(none)"}
    assert [touch.channel for touch in touches_of(last_touch_timestamp="2026-06-20", **values)] == ["direct"]


def test_without_consent_no_id_of_a_click_is_kept():
    values = {"first_touch_gclid": "Cj0", "first_touch_click_id": "Cj0", "first_touch_click_id_type": "gclid"}
    values |= {
        "first_touch_referrer": "https://p.example/?gclid=Cj0",
        "first_touch_landing_page": "/?gclid=Cj0",
    }
    event = event_with_touches(**AD, **values, consent="denied")
    assert "Cj0" not in json.dumps([event.reported_touches, event.event_data])
    assert event.reported_touches["first_utm_source"] == "google"


def test_reported_touches_do_not_classify_the_event():
    event = event_with_touches(**AD)
    assert (event.touchable, event.channel, event.utm_source, event.own_channel) == (
        False,
        "direct",
        None,
        None,
    )


def test_secrets_in_an_address_are_hidden():
    values = {"first_touch_referrer": "https://partner.example/?token=s3cret"}
    event = event_with_touches(**AD, **values)
    assert "s3cret" not in json.dumps([event.reported_touches, event.event_data])
    assert event.reported_touches["first_referrer"] == "https://partner.example/?token=redacted"


def test_touch_without_values_takes_those_of_its_link():
    values = {"first_touch_timestamp": "2026-06-20", "first_touch_lyr": "x9"}
    lent = {"x9": {"utm_source": "news", "utm_medium": "email"}}
    assert link_tags_of_touches_without_utm(values) == ["x9"]
    assert (
        link_tags_of_touches_without_utm(values | {"first_touch_source": "google"})
        == link_tags_of_touches_without_utm({"first_touch_lyr": "x9"})
        == []
    )
    shop, arrival = make_workspace(), make_queued_event()
    body = {"event": "purchase", "user_id": "U", "properties": values}
    event = ENRICHER.build_event_row(
        arrival, parse_event(arrival.arrival, body, shop), workspace=shop, session=None, utm_by_tag=lent
    )
    (touch,) = (visit.to_touch() for visit in list_client_reported_touches(event))
    assert (touch.channel, touch.utm_source, touch.lyr) == ("email", "news", "x9")
    assert [touch.channel for touch in touches_of(**values)] == ["link"]
