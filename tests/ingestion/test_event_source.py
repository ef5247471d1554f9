"""Kind of sender and end user's address."""

import pytest

from service_core.ingestion.event_source import (
    SdkUserAgents,
    reported_or_connection_ip,
    was_sent_by_or_for_device,
)
from service_core.ingestion.models import IngestEndpoint
from service_core.testing.event_builder import EventBuilder


@pytest.mark.parametrize(
    ("agent", "source"),
    [
        ("Touchpoint-iOS/1.2 CFNetwork Safari", "mobile_app"),
        ("touchpoint-android/3 Mozilla/5.0", "mobile_app"),
        ("touchpoint-react-native/1", "mobile_app"),
        ("touchpoint-python/2 Mozilla", "api"),
        ("touchpoint-node/2", "api"),
        ("Mozilla/5.0 (X11)", "browser"),
        ("EDGE", "browser"),
        ("Opera/9", "browser"),
        ("curl/8.5.0", "api"),
        ("", "api"),
        (None, "api"),
    ],
)
def test_source_is_derived_from_the_user_agent(agent, source):
    assert SdkUserAgents().classify_event_source(IngestEndpoint.TRACK, agent) == source


def test_browser_batch_source_is_web_for_any_user_agent():
    assert SdkUserAgents().classify_event_source(IngestEndpoint.BATCH, "curl/8") == "web"


def test_user_agent_tokens_are_configurable():
    assert (
        SdkUserAgents(mobile=("Acme-App",)).classify_event_source(IngestEndpoint.TRACK, "Acme-App/1 Mozilla")
        == "mobile_app"
    )


@pytest.mark.parametrize(
    ("sent", "source", "address"),
    [
        (None, "browser", "198.51.100.1"),
        (None, "mobile_app", "198.51.100.1"),
        (None, "web", "198.51.100.1"),
        (None, "api", None),
        ("203.0.113.7", "api", "203.0.113.7"),
        (" 203.0.113.7 ", "browser", "203.0.113.7"),
        ("2001:DB8::1", "browser", "2001:db8::1"),
        ("::ffff:203.0.113.7", "browser", "203.0.113.7"),
        ("fe80::1%eth0", "browser", "fe80::1"),
        ("0", "browser", None),
        (0, "browser", None),
        ("nonsense", "browser", "198.51.100.1"),
        ("nonsense", "api", None),
        (False, "browser", "198.51.100.1"),
        ([], "browser", "198.51.100.1"),
    ],
)
def test_sent_ip_address_overrides_the_connection_and_zero_is_none(sent, source, address):
    assert reported_or_connection_ip(sent, "198.51.100.1", source) == address


def test_connection_without_an_address_gives_none():
    assert reported_or_connection_ip(None, None, "browser") is None
    assert reported_or_connection_ip(None, "unix", "browser") is None


SERVER = {"source": "api", "session_origin": "generated"}


@pytest.mark.parametrize(
    ("name", "columns", "from_device"),
    [
        ("purchase", {"user_id": "U1"}, False),
        ("purchase", {"distinct_id": "U1"}, False),
        ("$identify", {"distinct_id": "U1", "user_id": "U1"}, False),
        ("purchase", {"user_id": "U1", "anonymous_id": "A1"}, True),
        ("purchase", {"user_id": "U2"}, True),
        ("page_view", {"user_id": "U1"}, True),
        ("session_start", {"user_id": "U1"}, True),
        ("purchase", {"user_id": "U1", "session_origin": "client"}, True),
        ("purchase", {"user_id": "U1", "browser": "Firefox"}, True),
        ("purchase", {"user_id": "U1", "page_url": "https://example.com/thanks"}, True),
        ("purchase", {"user_id": "U1", "referrer": "https://example.org/"}, True),
        ("purchase", {"user_id": "U1", "utm_source": "google"}, True),
        ("purchase", {"user_id": "U1", "lyr": "k7m2q9xa"}, True),
        ("purchase", {"user_id": "U1", "source": "browser"}, True),
        ("purchase", {"user_id": "U1", "source": "mobile_app"}, True),
        ("purchase", {"user_id": "U1", "source": "web"}, True),
        ("page_view", {"user_id": "U1", "anonymous_id": "A1", "source": "stripe"}, False),
    ],
)
def test_event_of_a_server_is_from_a_device_if_it_names_one(name, columns, from_device):
    event = EventBuilder().add_event(name, at="2026-07-01", visitor="U1", **SERVER | columns)
    assert was_sent_by_or_for_device(event) is from_device
