"""What is looked up once for each distinct value equals what is worked out for each event."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.ingestion import amounts, device_columns, event_source, page_urls
from service_core.ingestion.bot_detection import classify_bot
from service_core.ingestion.campaign import CLICK_IDS, Campaign
from service_core.ingestion.event_names import is_system_event
from service_core.ingestion.event_source import SdkUserAgents
from service_core.ingestion.models import CAMPAIGN_COLUMNS, IngestEndpoint
from service_core.ingestion.ports import Device, SessionState
from service_core.ingestion.text_cache import MAX_CACHED_TEXT_LENGTH, cache_by_text
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.traffic_source_columns import (
    campaign_of_event,
    campaign_of_state,
    latest_campaign,
    session_state_after_event,
)
from service_core.testing.event_builder import EventBuilder, utc_instant
from service_core.testing.ingestion_stubs import StubPublicSuffixes

CACHED = [
    page_urls.split_url,
    page_urls.parse_referrer_host,
    page_urls.stripped_query_values,
    page_urls.redact_secret_query_values,
    event_source._normalized_ip_or_none,
    device_columns._first_language,
    amounts._parse_decimal,
]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        *(
            "https://www.a.b/p?utm_source=x&token=1#h",
            "android-app://c.d/",
            "//a.b",
            "[::1",
            "http://[",
            "a.b/c",
        ),
        *(
            "::ffff:10.0.0.1",
            "fe80::1%eth0",
            " 203.0.113.7 ",
            "1,234.50",
            "$9",
            "1e400",
            "de-DE,de;q=0.9",
            "*",
            "",
        ),
        *("a=%20x&a=y&b=%zz", "x" * (MAX_CACHED_TEXT_LENGTH + 1)),
    ]
)
WORDS = st.sampled_from(["", "google", "(direct)", "(none)", "cpc", "email", "spring", "a.example"])


@pytest.mark.parametrize("function", CACHED, ids=lambda function: function.__name__)
@given(TEXTS)
def test_cached_result_equals_the_computed_one(function, text):
    assert function(text) == function(text) == function.__wrapped__(text)


def test_long_texts_are_not_kept():
    computed = []

    @cache_by_text(2)
    def length(text):
        computed.append(text)
        return len(text)

    for text in ("a", "a", "b" * MAX_CACHED_TEXT_LENGTH, "b" * MAX_CACHED_TEXT_LENGTH):
        length(text)
    assert len(computed) == 2
    too_long = "c" * (MAX_CACHED_TEXT_LENGTH + 1)
    assert length(too_long) == length(too_long) == len(too_long)
    assert len(computed) == 4


CLASSIFIER = TrafficClassifier(StubPublicSuffixes())


@given(
    st.dictionaries(
        st.sampled_from(["utm_source", "utm_medium", "utm_campaign", "utm_term"]), WORDS.filter(bool)
    ),
    st.lists(st.sampled_from(CLICK_IDS), max_size=2),
    st.none() | st.just("tag"),
    st.none() | st.sampled_from(["google.com", "news.example", "com.google.android.gm"]),
    st.booleans(),
)
def test_visits_of_equal_keys_are_classified_alike(utm, click_ids, lyr, host, is_app):
    campaign = Campaign(utm, dict.fromkeys(click_ids, "id"), lyr)
    alone = TrafficClassifier(StubPublicSuffixes()).classify_visit(campaign, host, is_app=is_app)
    assert CLASSIFIER.classify_visit(campaign, host, is_app=is_app) == alone
    assert CLASSIFIER.classify_visit(campaign, host, is_app=is_app) == alone


@given(
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "prefetch", "PreView", "x"]),
    st.booleans(),
    st.booleans(),
)
def test_bot_reasons_are_sorted_and_notes_alone_are_no_bot(crawler, headless, purpose, spam, rate):
    device = Device(crawler=crawler, headless=headless)
    is_bot, reasons = classify_bot(
        device, {"purpose": purpose}, spam_referrer=spam, high_rate_as_note_only=rate
    )
    signs = {
        "known_agent": crawler,
        "headless": headless,
        "prefetch": purpose in {"prefetch", "PreView"},
        "referrer_spam": spam,
        "rate": rate,
    }
    assert reasons == tuple(sorted(name for name, holds in signs.items() if holds))
    assert is_bot == any(holds for name, holds in signs.items() if name != "rate")


@pytest.mark.parametrize("names_app", [False, True])
def test_http_library_of_android_is_an_app_when_the_event_names_one(names_app):
    for _ in range(2):
        found = SdkUserAgents().classify_event_source(IngestEndpoint.TRACK, "okhttp/4.9", lambda: names_app)
        assert found == ("mobile_app" if names_app else "api")


def state_changed_step_by_step(event, session):
    """The session state after an event, one rule after the other."""
    state = session or SessionState(None)
    if campaign := latest_campaign(campaign_of_state(state), campaign_of_event(event)):
        state = replace(state, last_campaign=campaign.values, last_campaign_at=campaign.at)
    page = None if is_system_event(event.event_name) else event.landing_page
    if state.first_at is not None and event.timestamp < state.first_at:
        return replace(state, first_at=event.timestamp, landing_page=page or state.landing_page)
    state = replace(
        state, first_at=state.first_at or event.timestamp, landing_page=state.landing_page or page
    )
    names = ("attribution_source", "attribution_medium", "channel")
    return replace(state, **{name: getattr(event, name) for name in names}) if event.touchable else state


NOON = utc_instant("2026-03-02T12:00")
TIMES = st.integers(-2, 2).map(lambda hours: NOON + timedelta(hours=hours))
OPTIONAL = st.none() | st.sampled_from(["a", "b"])
EVENTS = st.builds(
    lambda values: replace(EVENT, **values),
    st.fixed_dictionaries(
        {
            "event_name": st.sampled_from(["page_view", "$identify"]),
            "timestamp": TIMES,
            "touchable": st.booleans(),
            **dict.fromkeys(
                ("landing_page", "attribution_source", "attribution_medium", "channel"), OPTIONAL
            ),
            **dict.fromkeys(CAMPAIGN_COLUMNS[:2], OPTIONAL),
        }
    ),
)
BUILDER = EventBuilder()
BUILDER.add_event("page_view", at="2026-03-02T12:00", visitor="A")
EVENT = BUILDER.events[0]


@given(st.lists(EVENTS, max_size=5))
def test_session_state_equals_the_one_changed_step_by_step(events):
    state = expected = None
    for event in events:
        state, expected = session_state_after_event(event, state), state_changed_step_by_step(event, expected)
        assert state == expected
