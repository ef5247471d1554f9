"""Whatever JSON arrives: acceptance and enrichment never fail, and agree with each other."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from service_core.ingestion.campaign import CLICK_IDS, UTM_FIELDS
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import IngestEndpoint, RejectionReason
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.validation import (
    EVENT_ID_FIELDS,
    EVENT_NAME_FIELDS,
    IDENTITY_FIELDS,
    ValidatedEvent,
    validate_name_and_identity,
)
from service_core.testing.ingestion_stubs import (
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

TEXT = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    [
        "https://a.b/?utm_source=x&token=1",
        "[::1",
        "http://[",
        "0",
        "guest",
        "NaN",
        "1e400",
        "%",
        "lyr%3Da",
        "denied",
        "\0",
    ]
)
SCALAR = st.none() | st.booleans() | st.integers() | st.integers(-(10**400), 10**400) | st.floats() | TEXT
ANY = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
KNOWN_PROPERTIES = (
    *UTM_FIELDS, *CLICK_IDS, "lyr", "url", "referrer", "path", "title", "value", "revenue", "currency", "order_id",
    "clickId", "clickIdType", "install_referrer_url", "consent", "fbp", "previous_id", "userId", "bot", "test",
    "screen_width", "device_type", "os",
)  # fmt: skip
KNOWN_CONTEXT = ("library", "version", "session_id", "userAgent", "locale", "screen", "app", "os", "device")


def random_objects(*names):
    return st.dictionaries(st.sampled_from(names) | TEXT, ANY, max_size=6)


TOP_LEVEL = (
    *EVENT_NAME_FIELDS,
    *EVENT_ID_FIELDS,
    *(name for pair in IDENTITY_FIELDS for name in pair),
    "timestamp",
    "ip",
    "events",
)
LIKELY = st.fixed_dictionaries(
    {
        "event": st.sampled_from(["pageview", "purchase", "$alias", "$identify"]) | TEXT,
        "user_id": TEXT | SCALAR,
    },
    optional={
        "properties": random_objects(*KNOWN_PROPERTIES) | ANY,
        "context": random_objects(*KNOWN_CONTEXT) | ANY,
        "external_ids": random_objects("a") | ANY,
    },
)
BODIES = st.builds(
    lambda odd, likely: odd | likely, st.dictionaries(st.sampled_from(TOP_LEVEL), ANY, max_size=6), LIKELY
)
ARRIVALS = st.fixed_dictionaries(
    {
        "channel": st.sampled_from([IngestEndpoint.TRACK, IngestEndpoint.BATCH]),
        "user_agent": st.none() | TEXT | st.sampled_from(["Mozilla/5.0", "touchpoint-ios/1"]),
        "address": st.none() | TEXT | st.ip_addresses().map(str),
        "headers": st.dictionaries(st.sampled_from(["accept-language", "purpose"]), TEXT, max_size=2),
    }
)


@given(ANY)
def test_validation_never_raises_for_random_bodies(body):
    assert isinstance(validate_name_and_identity(body), ValidatedEvent | RejectionReason)


@settings(max_examples=400)
@given(BODIES, ARRIVALS)
def test_accepted_random_bodies_can_be_enriched_and_stored(body, arrival):
    verdict = validate_name_and_identity(body)
    if not isinstance(verdict, ValidatedEvent):
        return
    event = parse_and_enrich_body(ENRICHER, make_queued_event(**arrival), body, workspace=SHOP)
    assert event.event_name == verdict.name
    assert event.visitor_id
    assert event.session_id
    assert datetime(2020, 1, 1, tzinfo=UTC) <= event.timestamp <= NOON
    assert event.channel
    assert event == parse_and_enrich_body(ENRICHER, make_queued_event(**arrival), body, workspace=SHOP)
    stored = json.dumps(asdict(event), allow_nan=False, ensure_ascii=False, default=str)
    assert "\0" not in stored
    assert "\\u0000" not in stored
    stored.encode()
