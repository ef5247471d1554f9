"""Maps Mixpanel's events and updates of profiles."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import ProtocolEvent, campaign_values_of_url, drop_none, json_object, text_field

_EVENT_NAMES: Final = {"$mp_web_page_view": "page_view", "$create_alias": "$alias"}
_DEVICE_PREFIX: Final = "$device:"
_NOT_KEPT: Final = frozenset(
    {
        *("token", "$token", "distinct_id", "time", "$insert_id", "ip", "$ip"),
        *("$current_url", "current_url_full", "current_page_title", "$referrer", "referrer"),
        *("$screen_width", "$screen_height"),
    }
)
"""Properties that stand elsewhere in the event: URLs without their secrets, the address as ``ip``."""
_TRANSPORT: Final = "$mp_metadata"
"""Field of the libraries for apps, for the vendor's own servers."""
_READ_FIELDS: Final = frozenset({"event", "properties", _TRANSPORT})
_READ_UPDATES: Final = frozenset(
    {
        *(
            "$token",
            "$distinct_id",
            "$set",
            "$set_once",
            "$ip",
            "$time",
            "$device_id",
            "$user_id",
            "$ignore_time",
        ),
        _TRANSPORT,
    }
)
_HIDDEN_IP: Final = "0"
"""The ``ip`` of an event whose address is not stored."""


def map_event(call: Mapping[str, Any], key: str | None, *, hides_ip: bool = False) -> ProtocolEvent:
    """Returns one event.

    Args:
        call: as sent.
        key: the token that it names.
        hides_ip: whether the client asks not to use the address of its connection.
    """
    sent = json_object(call.get("properties"))
    name = text_field(call, "event") or ""
    referrer = sent.get("$referrer") or sent.get("referrer")
    known = {
        "url": sent.get("$current_url") or sent.get("current_url_full"),
        "title": sent.get("current_page_title"),
        "referrer": None if referrer == "$direct" else referrer,
        "screen_width": sent.get("$screen_width"),
        "screen_height": sent.get("$screen_height"),
    }
    own = {field: value for field, value in sent.items() if field not in _NOT_KEPT}
    body = {
        "event": _EVENT_NAMES.get(name, name),
        "event_id": sent.get("$insert_id"),
        "timestamp": sent.get("time"),
        "ip": sent.get("ip") or sent.get("$ip") or (_HIDDEN_IP if hides_ip else None),
        **_map_ids(name, sent),
        "properties": campaign_values_of_url(known["url"]) | own | drop_none(known),
        "context": _map_context(sent),
    }
    unread = [field for field in call if field not in _READ_FIELDS]
    return ProtocolEvent(drop_none(body), unread, key)


def map_profile_update(call: Mapping[str, Any], key: str | None, *, hides_ip: bool = False) -> ProtocolEvent:
    """Returns the traits that an update sets as an event; what it adds, appends or removes is not read.

    Args:
        call: as sent.
        key: the token that it names.
        hides_ip: whether the client asks not to use the address of its connection.
    """
    person, device = _person_and_device(call.get("$distinct_id"))
    sent = {**json_object(call.get("$set_once")), **json_object(call.get("$set"))}
    ip = _HIDDEN_IP if hides_ip and not call.get("$ip") else call.get("$ip")
    body = {
        "event": "$identify",
        "timestamp": call.get("$time"),
        "user_id": person,
        "anonymous_id": call.get("$device_id") or device,
        "ip": _HIDDEN_IP if isinstance(ip, int) and not ip else ip,
        "properties": {"traits": {name.removeprefix("$"): value for name, value in sent.items()}},
        "context": {"library": {"name": "mixpanel", "version": "0"}},
    }
    return ProtocolEvent(drop_none(body), [field for field in call if field not in _READ_UPDATES], key)


def _map_ids(name: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    person, device = _person_and_device(sent.get("distinct_id"))
    if name == "$identify":
        person = sent.get("$identified_id") or person
        device = sent.get("$anon_distinct_id") or device
        device = _person_and_device(device)[1] or device
        return {"user_id": person, "anonymous_id": sent.get("$device_id") or device}
    if name == "$create_alias":
        return {"user_id": sent.get("alias"), "previous_id": sent.get("distinct_id")}
    return {
        "user_id": sent.get("$user_id"),
        "distinct_id": person,
        "anonymous_id": sent.get("$device_id") or device,
    }


def _person_and_device(distinct_id: object) -> tuple[object, str | None]:
    """Returns the id of a person, and the id of a device, which is marked by a prefix."""
    if isinstance(distinct_id, str) and distinct_id.startswith(_DEVICE_PREFIX):
        return None, distinct_id.removeprefix(_DEVICE_PREFIX)
    return distinct_id, None


def _map_context(sent: Mapping[str, Any]) -> dict[str, Any]:
    return drop_none(
        {
            "library": {"name": sent.get("mp_lib") or "mixpanel", "version": sent.get("$lib_version") or "0"},
            "os": drop_none({"name": sent.get("$os"), "version": sent.get("$os_version")}),
            "app": drop_none({"version": sent.get("$app_version_string")}),
        }
    )
