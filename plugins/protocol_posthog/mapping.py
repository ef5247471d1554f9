"""Maps events of PostHog's libraries."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from service_core.plugin import (
    ProtocolEvent,
    campaign_values_of_url,
    drop_none,
    event_time_by_server_clock_or_as_sent,
    json_object,
    text_field,
)

_READ_FIELDS: Final = frozenset(
    {
        *("event", "properties", "timestamp", "uuid", "distinct_id", "offset", "$set", "$set_once"),
        *("api_key", "token", "sent_at", "message_id", "type", "library", "library_version", "messageId"),
    }
)
_IDENTIFY: Final = "$identify"
_EVENT_NAMES: Final = {
    "$create_alias": "$alias",
    "$groupidentify": "$group",
    "$screen": "screen_view",
    "$set": _IDENTIFY,
}
_TRAIT_EVENTS: Final = frozenset({_IDENTIFY, "$set"})
"""Events whose ``$set`` and ``$set_once`` are the traits of the person."""
_ALIAS: Final = "$create_alias"
_GROUP: Final = "$groupidentify"
_DIRECT: Final = "$direct"
_MAX_OFFSET_MILLISECONDS: Final = 10**12
_NOT_KEPT: Final = frozenset(
    {
        *("token", "api_key", "$current_url", "$pathname", "$referrer"),
        *("$screen_width", "$screen_height", "$ip"),
    }
)
"""Properties that are a key, or stand elsewhere in the event: URLs without their secrets, the address as ``ip``."""


def map_event(event: Mapping[str, Any], sent_at: object, received_at: datetime) -> ProtocolEvent:
    """Returns the event.

    Args:
        event: as sent.
        sent_at: when its batch was sent, by the client's clock.
        received_at: aware UTC.
    """
    sent = json_object(event.get("properties"))
    name = text_field(event, "event") or ""
    body = {
        "event": _EVENT_NAMES.get(name, name),
        "event_id": event.get("uuid") or sent.get("$insert_id") or event.get("messageId"),
        "timestamp": _event_time(event, sent, sent_at, received_at),
        "ip": sent.get("$ip"),
        **_map_ids(name, event.get("distinct_id") or sent.get("distinct_id"), sent),
        "properties": _map_properties(name, event, sent),
        "context": _map_context(sent),
    }
    key = text_field(event, "api_key", "token") or text_field(sent, "token", "api_key")
    return ProtocolEvent(drop_none(body), _list_unread_fields(name, event, sent), key)


def _map_ids(name: str, distinct_id: object, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the ids: of a browser the device id is the anonymous one, and another distinct id is that of the person."""
    device, anonymous = sent.get("$device_id"), sent.get("$anon_distinct_id")
    if name == _IDENTIFY:
        return {"user_id": distinct_id, "anonymous_id": device or anonymous, "visitor_id": anonymous}
    if name == _ALIAS:
        return {"user_id": distinct_id, "previous_id": sent.get("alias")}
    return {"distinct_id": distinct_id, "anonymous_id": device}


def _event_time(
    event: Mapping[str, Any], sent: Mapping[str, Any], sent_at: object, received_at: datetime
) -> object:
    offset = event.get("offset")
    if isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < _MAX_OFFSET_MILLISECONDS:
        return (received_at - timedelta(milliseconds=offset)).isoformat()
    happened = event.get("timestamp") or sent.get("$time")
    return event_time_by_server_clock_or_as_sent(happened, event.get("sent_at") or sent_at, received_at)


def _map_properties(name: str, event: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    referrer = sent.get("$referrer")
    known = {
        "url": sent.get("$current_url"),
        "path": sent.get("$pathname"),
        "referrer": None if referrer == _DIRECT else referrer,
        "screen_width": sent.get("$screen_width"),
        "screen_height": sent.get("$screen_height"),
    }
    own = {key: value for key, value in sent.items() if key not in _NOT_KEPT}
    if name in _TRAIT_EVENTS:
        own = {key: value for key, value in own.items() if key not in {"$set", "$set_once"}}
        known["traits"] = _own_and_sent_traits(event, sent)
    elif name == _GROUP:
        known |= {"group_id": sent.get("$group_key"), "traits": sent.get("$group_set")}
    return campaign_values_of_url(sent.get("$current_url")) | own | drop_none(known)


def _own_and_sent_traits(event: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the traits without those that the library adds by itself, such as ``$initial_referrer``."""
    return {
        **_own_traits(event, "$set_once"),
        **_own_traits(sent, "$set_once"),
        **_own_traits(event, "$set"),
        **_own_traits(sent, "$set"),
    }


def _own_traits(source: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Returns the traits of a field but those that the library adds."""
    traits = json_object(source.get(field))
    return {name: value for name, value in traits.items() if not name.startswith("$")}


def _map_context(sent: Mapping[str, Any]) -> dict[str, Any]:
    app = drop_none({"name": sent.get("$app_name"), "version": sent.get("$app_version")})
    system = drop_none({"name": sent.get("$os") or sent.get("$os_name"), "version": sent.get("$os_version")})
    return drop_none(
        {
            "library": {"name": sent.get("$lib") or "posthog", "version": sent.get("$lib_version") or "0"},
            "session_id": sent.get("$session_id"),
            "userAgent": sent.get("$raw_user_agent") or sent.get("$useragent"),
            "locale": sent.get("$browser_language") or sent.get("$locale"),
            "app": app,
            "os": system,
        }
    )


def _list_unread_fields(name: str, event: Mapping[str, Any], sent: Mapping[str, Any]) -> list[str]:
    unread = [field for field in event if field not in _READ_FIELDS]
    if name not in _TRAIT_EVENTS:
        unread += [
            field for field in ("$set", "$set_once") if _own_traits(event, field) or _own_traits(sent, field)
        ]
    return unread
