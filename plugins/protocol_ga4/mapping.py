"""Maps events of the Measurement Protocol."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import (
    ProtocolEvent,
    campaign_values_of_url,
    drop_none,
    json_object,
    screen_size_properties,
)

NOT_INTERACTIVE: Final = frozenset({"session_start", "first_visit", "user_engagement"})
"""Events that the product sends by itself; they undo no bounce."""

_READ_FIELDS: Final = frozenset(
    {
        *("client_id", "app_instance_id", "user_id", "timestamp_micros", "events", "consent", "ip_override"),
        *("user_properties", "user_agent", "non_personalized_ads"),
    }
)
_READ_EVENT_FIELDS: Final = frozenset({"name", "params", "timestamp_micros"})
_PAGE_PARAMETERS: Final = {"page_location": "url", "page_referrer": "referrer", "page_title": "title"}
_MICROSECONDS: Final = 1_000_000


def map_measurement_event(event: Mapping[str, Any], document: Mapping[str, Any]) -> ProtocolEvent:
    """Returns one event of a request.

    Args:
        event: name and parameters.
        document: the whole body, which names the client.
    """
    parameters = json_object(event.get("params"))
    shown = {name: value for name, value in parameters.items() if name not in _PAGE_PARAMETERS}
    known = {ours: parameters.get(theirs) for theirs, ours in _PAGE_PARAMETERS.items()}
    name = event.get("name")
    if isinstance(name, str) and name in NOT_INTERACTIVE:
        known["interactive"] = False
    body = {
        "event": name,
        "timestamp": _microseconds_to_seconds(
            event.get("timestamp_micros") or document.get("timestamp_micros")
        ),
        "user_id": document.get("user_id"),
        "anonymous_id": document.get("client_id") or document.get("app_instance_id"),
        "ip": document.get("ip_override"),
        "consent": document.get("consent"),
        "properties": {
            **shown,
            **campaign_values_of_url(parameters.get("page_location")),
            **_campaign(parameters),
            **screen_size_properties(parameters.get("screen_resolution")),
            **drop_none(known),
            **drop_none({"user_properties": _user_properties(document)}),
        },
        "context": drop_none(
            {
                "library": {"name": "measurement_protocol", "version": "2"},
                "session_id": parameters.get("session_id"),
                "locale": parameters.get("language"),
                "userAgent": document.get("user_agent"),
            }
        ),
    }
    unread = [field for field in document if field not in _READ_FIELDS]
    unread += [f"events.{field}" for field in event if field not in _READ_EVENT_FIELDS]
    return ProtocolEvent(drop_none(body), unread)


def _campaign(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the campaign that the event names by parameters."""
    named = ("source", "medium", "campaign", "term", "content")
    values = {f"utm_{name}": parameters.get(name) for name in named}
    return drop_none({name: value for name, value in values.items() if isinstance(value, str)})


def _user_properties(document: Mapping[str, Any]) -> dict[str, Any]:
    sent = json_object(document.get("user_properties"))
    return {name: json_object(value).get("value", value) for name, value in sent.items()}


def _microseconds_to_seconds(microseconds: object) -> object:
    """Returns seconds since 1970; a value that is no number stays, so that the ledger counts it."""
    try:
        return float(str(microseconds)) / _MICROSECONDS if microseconds is not None else None
    except ValueError:
        return microseconds
