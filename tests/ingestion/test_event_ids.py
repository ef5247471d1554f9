"""Semantics 5 and 6.1: the device key, strong ids, placeholders, generated sessions."""

import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from service_core.ingestion.event_ids import (
    EventIds,
    generate_hourly_session_id,
    is_placeholder_id,
    parse_event_ids,
)


@pytest.mark.parametrize(
    ("sent", "visitor", "strong"),
    [
        ({"anonymous_id": "A", "visitor_id": "V", "distinct_id": "D", "user_id": "U"}, "A", "U"),
        ({"visitor_id": "V", "distinct_id": "D", "user_id": "U"}, "V", "U"),
        ({"distinct_id": "D", "user_id": "U"}, "D", "U"),
        ({"userId": "U"}, "U", "U"),
        ({"distinct_id": "D"}, "D", None),
        ({"distinct_id": "D", "anonymousId": "A"}, "A", "D"),
        ({"distinct_id": "A", "anonymous_id": "A"}, "A", None),
        ({"distinctId": "D", "visitorId": "D"}, "D", None),
        ({"anonymous_id": "A"}, "A", None),
    ],
)
def test_device_key_and_the_strong_id(sent, visitor, strong):
    ids = parse_event_ids("view", sent, {})
    assert (ids.visitor_id, ids.strong_id) == (visitor, strong)


@pytest.mark.parametrize(
    "text",
    ["null", "None", "NIL", "undefined", "n/a", "na", "anon", "Anonymous", "guest", "unknown", "test",
     "true", "false", "0", "000", "-", "00000000-0000-0000-0000-000000000000"],
)  # fmt: skip
def test_placeholder_ids_are_dropped(text):
    assert is_placeholder_id(text)
    ids = parse_event_ids("view", {"user_id": text, "anonymous_id": "A1"}, {})
    assert ids == EventIds("A1", "A1", None, None, None)


def test_placeholder_alone_is_kept_and_never_strong():
    assert parse_event_ids("view", {"user_id": "guest"}, {}) == EventIds("guest", None, None, "guest", None)


def test_guest_on_two_devices_is_two_visitors_without_a_person():
    first = parse_event_ids("view", {"user_id": "guest", "anonymous_id": "A1"}, {})
    second = parse_event_ids("view", {"user_id": "guest", "anonymous_id": "A2"}, {})
    assert (first.visitor_id, second.visitor_id, first.strong_id, second.strong_id) == (
        "A1",
        "A2",
        None,
        None,
    )


def test_identify_reads_ids_from_its_properties_after_the_top_level():
    ids = parse_event_ids("$identify", {"distinct_id": "D"}, {"userId": "U", "anonymousId": "A"})
    assert ids == EventIds("A", "A", "D", "U", "U")
    assert parse_event_ids("$identify", {"user_id": "U"}, {"previousId": "A"}).visitor_id == "A"
    assert parse_event_ids("$identify", {"user_id": "U"}, {"user_id": "V"}).strong_id == "U"


def test_visitor_id_beside_an_anonymous_id_is_kept_as_a_second_weak_id():
    ids = parse_event_ids(
        "login", {"anonymous_id": "A", "visitor_id": "V", "distinct_id": "D", "user_id": "U"}, {}
    )
    assert (ids.visitor_id, ids.sent_visitor_id, ids.distinct_id, ids.strong_id) == ("A", "V", "D", "U")
    for alone in ({"visitor_id": "V"}, {"anonymous_id": "V", "visitor_id": "V"}):
        assert parse_event_ids("view", alone, {}).sent_visitor_id is None
    assert parse_event_ids("view", {"anonymous_id": "A", "visitor_id": "guest"}, {}).sent_visitor_id is None


def test_other_events_never_read_ids_from_properties():
    assert parse_event_ids("view", {"anonymous_id": "A"}, {"user_id": "U"}).strong_id is None


@pytest.mark.parametrize(
    ("body", "properties"),
    [
        ({"user_id": "U2", "previous_id": "U1"}, {}),
        ({"user_id": "U2"}, {"previousId": "U1"}),
        ({"distinct_id": "U1"}, {"previous_id": "U1", "newUserId": "U2"}),
        ({"user_id": "U1"}, {"previous_id": "U1", "new_user_id": "U2"}),
        ({"anonymous_id": "A"}, {"previous_id": "U1", "userId": "U2"}),
    ],
)
def test_alias_links_the_previous_id_to_the_new_one(body, properties):
    ids = parse_event_ids("$alias", body, properties)
    assert (ids.user_id, ids.strong_id, ids.aliased_id) == ("U2", "U2", "U1")


@pytest.mark.parametrize("previous", [None, "", "guest", "U2"])
def test_alias_without_ids_links_nothing(previous):
    assert parse_event_ids("$alias", {"user_id": "U2"}, {"previous_id": previous}).aliased_id is None


def test_generated_session_rolls_each_hour_of_the_event():
    secret = b"k"
    late, next_hour = datetime(2026, 7, 1, 10, 59, 59, tzinfo=UTC), datetime(2026, 7, 1, 11, tzinfo=UTC)
    expected = hmac.new(secret, b"v1|2026070110", hashlib.sha256).hexdigest()[:16]
    assert generate_hourly_session_id(secret, "v1", late) == f"sess_{expected}"
    assert generate_hourly_session_id(secret, "v1", late) != generate_hourly_session_id(
        secret, "v1", next_hour
    )
    assert generate_hourly_session_id(secret, "v1", late) != generate_hourly_session_id(b"other", "v1", late)
