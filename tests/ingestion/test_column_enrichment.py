"""A batch that is enriched as columns has the rows that the row-wise function makes of each event."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service_core.ingestion.column_enrichment import BatchEnricher
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.event_columns import EVENT_COLUMN_NAMES, EventColumns
from service_core.ingestion.imported_rows import IMPORTED_COLUMNS_HEADER
from service_core.ingestion.models import PROVIDER_HEADER, Event, IngestEndpoint
from service_core.ingestion.parse_event import parse_event
from service_core.ingestion.ports import SessionState
from service_core.ingestion.sanitize_json import is_storable_json, sanitize_json_value
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.validation import ValidatedEvent, validate_name_and_identity
from service_core.testing.ingestion_stubs import (
    FIREFOX,
    NOON,
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
)
from tests.ingestion.test_random_bodies import ANY, ARRIVALS, BODIES

ENRICHER = Enricher(StubDevices(), StubGeo(), TrafficClassifier(StubPublicSuffixes()))
SHOP = make_workspace()
LINKS = {"a": {"utm_source": "link", "utm_campaign": "spring"}}

ALIKE = st.sampled_from(["1", 1, 1.0, True, "", None, [1], ["1"], {"a": 1}, -0.0, 0.0])
"""Values that are equal in Python, or as text, and are not enriched alike."""
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(["https://example.com/a?utm_source=x", "/b", "https://other.example/?gclid=1"]),
        "referrer": st.sampled_from(["https://www.google.com/", "android-app://com.example/", "https://example.com"]),
        "title": ALIKE,
        "utm_source": st.sampled_from(["x", "news"]) | ALIKE,
        "lyr": st.sampled_from(["a", "b"]),
        "ScCid": st.sampled_from(["1", "2"]),
        "sclid": st.sampled_from(["1", "2"]),
        "clickId": ALIKE,
        "clickIdType": st.sampled_from(["gclid", "none"]),
        "value": ALIKE,
        "currency": st.sampled_from(["usd", "xx", 5]),
        "order_id": ALIKE,
        "payment_id": ALIKE,
        "consent": st.sampled_from(["denied", True, {"ads": False}]),
        "fbp": ALIKE,
        "bot": ALIKE,
        "test": ALIKE,
        "interactive": ALIKE,
        "screen_width": ALIKE,
        "os": st.sampled_from(["ios", {"name": "Android"}]),
        "sdk_name": ALIKE,
        "first_touch_timestamp": st.sampled_from([NOON.isoformat(), 1]),
        "first_touch_utm_source": st.sampled_from(["x", 1]),
    },
)  # fmt: skip
CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "userAgent": st.sampled_from([FIREFOX, "somebot", 1]),
        "session_id": st.sampled_from(["s", "t"]),
        "library": ALIKE | st.just({"name": "lib", "version": 2}),
        "version": ALIKE,
        "app": ALIKE | st.just({"name": "App", "version": 1}),
        "locale": st.sampled_from(["de", "en", 1]),
    },
)
SIMILAR_BODIES = st.fixed_dictionaries(
    {"event": st.sampled_from(["pageview", "purchase", "$identify"]), "user_id": st.sampled_from(["u", "v"])},
    optional={
        "anonymous_id": st.sampled_from(["a", "u"]),
        "properties": PROPERTIES,
        "context": CONTEXTS,
        "ip": st.sampled_from(["203.0.113.7", "0", 0, 1.5, False]),
        "external_ids": st.sampled_from([{"stripe": "cus_1"}, {"fbp": "x"}]),
        "timestamp": st.sampled_from([None, "2026-07-01T11:00:00Z", "x"]),
    },
)
SIMILAR_ARRIVALS = st.fixed_dictionaries(
    {
        "channel": st.sampled_from([IngestEndpoint.TRACK, IngestEndpoint.BATCH]),
        "user_agent": st.sampled_from([None, FIREFOX, "okhttp/4", "python-requests/2"]),
        "address": st.sampled_from([None, "203.0.113.9", "198.51.100.1"]),
        "headers": st.sampled_from([{}, {"accept-language": "de"}, {"purpose": "prefetch"}]),
        "claimed": st.booleans(),
    }
)
SESSIONS = st.sampled_from(
    [
        None,
        SessionState(NOON, "/landing", "google", "cpc", "paid_search"),
        SessionState(None, last_campaign=("x", *[None] * 8), last_campaign_at=NOON),
        SessionState(NOON, last_campaign=(*[None] * 6, "1", "gclid", None), last_campaign_at=NOON),
    ]
)
EVENTS = st.tuples(SIMILAR_BODIES | BODIES, SIMILAR_ARRIVALS | ARRIVALS, SESSIONS, st.booleans())


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=8))
def test_batch_enriched_as_columns_equals_its_events_enriched_as_rows(batch):
    rows = BatchEnricher(ENRICHER, {SHOP.id: LINKS})
    expected = []
    for seq, (body, arrival, session, high_rate) in enumerate(batch):
        if not isinstance(validate_name_and_identity(body), ValidatedEvent):
            continue
        queued = make_queued_event(seq=seq, **arrival)
        parsed = parse_event(queued.arrival, body, SHOP)
        known = {"workspace": SHOP, "session": session, "high_rate": high_rate}
        expected.append(ENRICHER.build_event_row(queued, parsed, **known, utm_by_tag=LINKS))
        part = rows.add_event(queued, parsed, SHOP, session, high_rate=high_rate)
        assert [getattr(expected[-1], name) for name in part._fields] == list(part)
        assert part.campaign_values == expected[-1].campaign_values
    columns = rows.columns()
    assert list(columns) == expected
    assert [repr(event) for event in columns] == [repr(event) for event in expected]


@pytest.mark.parametrize(
    "overrides",
    [
        {"channel": IngestEndpoint.WEBHOOK, "headers": {PROVIDER_HEADER: "stripe"}},
        {"headers": {IMPORTED_COLUMNS_HEADER: json.dumps({"browser": "Opera", "bot_reasons": ["rate"]})}},
    ],
)
def test_rows_of_providers_and_imports_stand_between_enriched_columns(overrides):
    body = {"event": "purchase", "user_id": "u", "properties": {"value": 5, "url": "/a", "tax": 1}}
    rows, expected = BatchEnricher(ENRICHER, {}), []
    for seq, arrival in enumerate([{}, overrides, {"user_agent": FIREFOX}]):
        queued = make_queued_event(seq=seq, **arrival)
        parsed = parse_event(queued.arrival, body, SHOP)
        expected.append(ENRICHER.build_event_row(queued, parsed, workspace=SHOP, session=None))
        rows.add_event(queued, parsed, SHOP, None, high_rate=False)
    assert list(rows.columns()) == expected


def test_equal_pages_clients_and_addresses_of_a_batch_are_looked_up_once():
    looked_up = []

    class Devices(StubDevices):
        def parse(self, user_agent):
            looked_up.append(user_agent)
            return super().parse(user_agent)

    class Geo(StubGeo):
        def locate(self, ip):
            looked_up.append(ip)
            return super().locate(ip)

    enricher = Enricher(Devices(), Geo(), TrafficClassifier(StubPublicSuffixes()))
    rows = BatchEnricher(enricher, {})
    for seq in range(50):
        queued = make_queued_event(seq=seq, user_agent=FIREFOX, address="203.0.113.9")
        body = {"event": "pageview", "user_id": f"u{seq}", "properties": {"url": f"/{seq % 2}"}}
        rows.add_event(queued, parse_event(queued.arrival, body, SHOP), SHOP, None, high_rate=False)
    assert sorted(set(looked_up)) == ["203.0.113.9", FIREFOX]
    assert looked_up.count("203.0.113.9") == 1
    assert [len(group.rows) for group in rows.columns().groups[1:]] == [2, 1, 1, 1]
    assert [list(group.rows) for group in rows.columns().select([]).groups] == [[]] * 5


def test_event_that_raises_leaves_no_part_in_the_columns():
    class Broken(StubDevices):
        def parse(self, user_agent):
            raise ValueError(user_agent)

    rows = BatchEnricher(Enricher(Broken(), None, TrafficClassifier(StubPublicSuffixes())), {})
    body = {"event": "pageview", "user_id": "u"}
    for user_agent in (None, FIREFOX, None):
        queued = make_queued_event(user_agent=user_agent)
        parsed = parse_event(queued.arrival, body, SHOP)
        if user_agent is None:
            rows.add_event(queued, parsed, SHOP, None, high_rate=False)
        else:
            with pytest.raises(ValueError, match="Firefox"):
                rows.add_event(queued, parsed, SHOP, None, high_rate=False)
    columns = rows.columns()
    assert len(columns) == len(list(columns)) == 2


def test_each_column_of_an_event_is_in_one_group():
    groups = BatchEnricher(ENRICHER, {}).columns().groups
    names = [name for group in groups for name in group.names]
    assert sorted(names) == sorted(EVENT_COLUMN_NAMES) == sorted(field.name for field in fields(Event))


def test_columns_of_events_are_the_events():
    event = ENRICHER.build_event_row(
        make_queued_event(),
        parse_event(make_queued_event().arrival, {"event": "a", "user_id": "b"}, SHOP),
        workspace=SHOP,
        session=None,
    )
    events = [replace(event, seq=seq) for seq in range(4)]
    columns = EventColumns.of_events(events)
    assert list(columns) == events
    assert (columns[1], columns[-1], len(columns)) == (events[1], events[3], 4)
    assert list(columns[1:3]) == list(columns.select([1, 2])) == events[1:3]
    assert columns.column("seq") == [0, 1, 2, 3]
    assert EventColumns.of_events(columns) is columns
    with pytest.raises(IndexError):
        columns[4]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=3), ANY, max_size=4), st.booleans())
def test_storable_json_is_not_changed_by_sanitizing(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    if b"\xed" in text:
        return  # a lone surrogate, which is no UTF-8
    if is_storable_json(text):
        decoded = json.loads(text)
        assert repr(sanitize_json_value(decoded)) == repr(decoded)


@pytest.mark.parametrize(
    ("text", "is_storable"),
    [
        (b'{"id": "0e3a1e12-7e444-123456789012345678", "at": 1767225600000, "x": 1.5e-7}', True),
        (b'{"a": 9223372036854775808}', False),
        (b'{"a": 1e400}', False),
        (b'{"a":[-1.5E+308]}', False),
        (rb'{"a": "\u0000"}', False),
        (b'{"a": NaN}', False),
        (b'{"a": -Infinity}', False),
        (b"[" * 33 + b"]" * 33, False),
    ],
)
def test_storable_json_by_its_bytes(text, is_storable):
    assert is_storable_json(text) is is_storable
