"""Maps events of Plausible's script and of its events API."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import (
    ProtocolEvent,
    ProtocolRequest,
    UnreadableRequest,
    campaign_values_of_url,
    drop_none,
    json_object,
)

_SPELLINGS: Final = {
    "name": ("n", "name"),
    "url": ("u", "url"),
    "domain": ("d", "domain"),
    "referrer": ("r", "referrer"),
    "screen_width": ("w", "screen_width"),
    "props": ("p", "props", "m", "meta"),
    "revenue": ("$", "revenue"),
    "interactive": ("i", "interactive"),
    "scroll_depth": ("sd", "scroll_depth"),
    "engagement_time": ("e", "engagement_time"),
    "version": ("v", "version"),
}
_READ_FIELDS: Final = frozenset(name for names in _SPELLINGS.values() for name in names)
_ENGAGEMENT: Final = "engagement"
"""The event that the script sends when a page is left; it undoes no bounce."""


def parse_domains(document: Mapping[str, Any]) -> list[str]:
    """Returns the domains that an event names, separated by commas."""
    domains = _field(document, "domain")
    return [name for text in domains.split(",") if (name := text.strip())] if isinstance(domains, str) else []


def map_event(document: Mapping[str, Any], request: ProtocolRequest) -> ProtocolEvent:
    """Returns the event; fields have a short spelling of the script and a long one of the API."""
    name, version = _field(document, "name"), _field(document, "version")
    known = {
        "url": _field(document, "url"),
        "referrer": _field(document, "referrer"),
        "screen_width": _field(document, "screen_width"),
        "scroll_depth": _field(document, "scroll_depth"),
        "engagement_time_ms": _field(document, "engagement_time"),
        **_parse_revenue(_field(document, "revenue"), request),
    }
    if name == _ENGAGEMENT or _field(document, "interactive") is False:
        known["interactive"] = False
    props = json_object(_decode_if_text(_field(document, "props"), request))
    unread = [field for field in document if field not in _READ_FIELDS and document[field]]
    unread += ["domain"] if len(parse_domains(document)) > 1 else []
    body = {
        "event": name,
        "properties": {**props, **campaign_values_of_url(known["url"]), **drop_none(known)},
        "context": {"library": {"name": "plausible", "version": str(version or 0)}},
    }
    return ProtocolEvent(drop_none(body), unread)


def _parse_revenue(sent: object, request: ProtocolRequest) -> dict[str, Any]:
    revenue = json_object(_decode_if_text(sent, request))
    return {"value": revenue.get("amount"), "currency": revenue.get("currency")}


def _decode_if_text(value: object, request: ProtocolRequest) -> object:
    """Returns a value that older scripts send as JSON text; any other text is None."""
    if not isinstance(value, str):
        return value
    try:
        return request.parse_json(value.encode("utf-8", "replace"))
    except UnreadableRequest:
        return None


def _field(document: Mapping[str, Any], field: str) -> Any:
    return next((document[name] for name in _SPELLINGS[field] if document.get(name) is not None), None)
