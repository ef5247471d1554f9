"""Semantics 5 and 6.1: the device key, strong ids, placeholders, generated sessions."""

import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from service_core.intake.identity import Ids, generated_session, is_placeholder, read_ids


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
def test_the_device_key_and_the_strong_id(sent, visitor, strong):
    ids = read_ids("view", sent, {})
    assert (ids.visitor, ids.strong) == (visitor, strong)


@pytest.mark.parametrize(
    "text",
    ["null", "None", "NIL", "undefined", "n/a", "na", "anon", "Anonymous", "guest", "unknown", "test",
     "true", "false", "0", "000", "-", "00000000-0000-0000-0000-000000000000"],
)  # fmt: skip
def test_placeholders(text):
    assert is_placeholder(text)
    ids = read_ids("view", {"user_id": text, "anonymous_id": "A1"}, {})
    assert ids == Ids("A1", "A1", None, None, None)


def test_a_placeholder_alone_is_kept_and_never_strong():
    assert read_ids("view", {"user_id": "guest"}, {}) == Ids("guest", None, None, "guest", None)


def test_a_guest_on_two_devices_is_two_visitors_without_a_person():
    first = read_ids("view", {"user_id": "guest", "anonymous_id": "A1"}, {})
    second = read_ids("view", {"user_id": "guest", "anonymous_id": "A2"}, {})
    assert (first.visitor, second.visitor, first.strong, second.strong) == ("A1", "A2", None, None)


def test_identify_reads_ids_from_its_properties_after_the_top_level():
    ids = read_ids("$identify", {"distinct_id": "D"}, {"userId": "U", "anonymousId": "A"})
    assert ids == Ids("A", "A", "D", "U", "U")
    assert read_ids("$identify", {"user_id": "U"}, {"previousId": "A"}).visitor == "A"
    assert read_ids("$identify", {"user_id": "U"}, {"user_id": "V"}).strong == "U"


def test_a_visitor_id_beside_an_anonymous_id_is_kept_as_a_second_weak_id():
    ids = read_ids("login", {"anonymous_id": "A", "visitor_id": "V", "distinct_id": "D", "user_id": "U"}, {})
    assert (ids.visitor, ids.second, ids.distinct, ids.strong) == ("A", "V", "D", "U")
    for alone in ({"visitor_id": "V"}, {"anonymous_id": "V", "visitor_id": "V"}):
        assert read_ids("view", alone, {}).second is None
    assert read_ids("view", {"anonymous_id": "A", "visitor_id": "guest"}, {}).second is None


def test_other_events_never_read_ids_from_properties():
    assert read_ids("view", {"anonymous_id": "A"}, {"user_id": "U"}).strong is None


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
def test_alias_joins_the_previous_id_to_the_new_one(body, properties):
    ids = read_ids("$alias", body, properties)
    assert (ids.user, ids.strong, ids.previous) == ("U2", "U2", "U1")


@pytest.mark.parametrize("previous", [None, "", "guest", "U2"])
def test_alias_joins_nothing_to_nothing(previous):
    assert read_ids("$alias", {"user_id": "U2"}, {"previous_id": previous}).previous is None


def test_a_generated_session_rolls_each_hour_of_the_event():
    secret = b"k"
    late, next_hour = datetime(2026, 7, 1, 10, 59, 59, tzinfo=UTC), datetime(2026, 7, 1, 11, tzinfo=UTC)
    expected = hmac.new(secret, b"v1|2026070110", hashlib.sha256).hexdigest()[:16]
    assert generated_session(secret, "v1", late) == f"sess_{expected}"
    assert generated_session(secret, "v1", late) != generated_session(secret, "v1", next_hour)
    assert generated_session(secret, "v1", late) != generated_session(b"other", "v1", late)
