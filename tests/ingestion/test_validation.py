"""Contract 10.1 (checks 8 to 10) and 10.2: which bodies become events."""

import hashlib

import pytest

from service_core.ingestion.models import RejectionReason
from service_core.ingestion.validation import REJECTION_MESSAGES, ValidatedEvent, validate_name_and_identity


@pytest.mark.parametrize("body", [None, [], "text", 3, True, [{"event": "a", "user_id": "u"}]])
def test_body_that_is_no_object_is_invalid_json(body):
    assert validate_name_and_identity(body) is RejectionReason.INVALID_JSON
    assert REJECTION_MESSAGES[RejectionReason.INVALID_JSON] == "Invalid JSON in request body"


@pytest.mark.parametrize(
    "body",
    [
        {"user_id": "u"},
        {"event": "", "user_id": "u"},
        {"event": " \t", "event_name": None, "user_id": "u"},
        {"event": 5, "user_id": "u"},
        {"event": "a", "user_id": "u", "events": []},
        {"events": [{"event": "a", "user_id": "u"}]},
    ],
)
def test_event_needs_a_name_and_is_a_single_object(body):
    assert validate_name_and_identity(body) is RejectionReason.NO_EVENT_NAME
    assert (
        REJECTION_MESSAGES[RejectionReason.NO_EVENT_NAME]
        == "Event name is required (event or event_name field)"
    )


@pytest.mark.parametrize(
    "ids", [{}, {"user_id": ""}, {"user_id": "  "}, {"user_id": None}, {"userId": True}, {"user_id": {}}]
)
def test_event_needs_an_identity(ids):
    assert validate_name_and_identity({"event": "a", **ids}) is RejectionReason.NO_IDENTITY
    assert (
        REJECTION_MESSAGES[RejectionReason.NO_IDENTITY]
        == "Identity required: provide distinct_id, user_id, anonymous_id, or visitor_id"
    )


@pytest.mark.parametrize(
    "field",
    [
        "distinct_id", "distinctId", "user_id", "userId",
        "anonymous_id", "anonymousId", "visitor_id", "visitorId",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", ["u", 7, 7.5, 0, "guest"])
def test_every_identity_field_counts_in_both_spellings(field, value):
    assert validate_name_and_identity({"event": "a", field: value}) == ValidatedEvent("a", None)


def test_first_name_that_is_not_empty_wins_trimmed_and_cut():
    assert validate_name_and_identity({"event": " ", "event_name": " b ", "user_id": 1}).name == "b"
    assert validate_name_and_identity({"event": "a", "event_name": "b", "user_id": 1}).name == "a"
    assert validate_name_and_identity({"event": "x" * 300, "user_id": 1}).name == "x" * 255


@pytest.mark.parametrize("field", ["event_id", "eventId", "messageId", "message_id"])
def test_idempotency_key_has_four_spellings(field):
    assert validate_name_and_identity({"event": "a", "user_id": 1, field: " id-1 "}).event_id == "id-1"
    assert validate_name_and_identity({"event": "a", "user_id": 1, field: 12}).event_id == "12"


def test_first_idempotency_key_that_is_not_empty_wins():
    body = {"event": "a", "user_id": 1, "event_id": "", "messageId": "m", "message_id": "n"}
    assert validate_name_and_identity(body).event_id == "m"


def test_key_over_256_characters_is_replaced_by_its_digest():
    assert (
        validate_name_and_identity({"event": "a", "user_id": 1, "event_id": "k" * 256}).event_id == "k" * 256
    )
    digest = hashlib.sha256(b"k" * 257).hexdigest()
    assert (
        validate_name_and_identity({"event": "a", "user_id": 1, "event_id": "k" * 257}).event_id
        == f"sha256:{digest}"
    )


def test_nul_characters_in_names_and_ids_are_replaced():
    accepted = validate_name_and_identity({"event": "a\0b\ud800", "user_id": "u", "event_id": "\0"})
    assert accepted == ValidatedEvent("a\ufffdb\ufffd", "\ufffd")
    assert validate_name_and_identity({"event": "a", "user_id": float("nan")}) is RejectionReason.NO_IDENTITY
    assert validate_name_and_identity({"event": "a", "user_id": 10**400}) is RejectionReason.NO_IDENTITY
