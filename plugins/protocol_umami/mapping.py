"""Maps events of Umami's script and of its Node client."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from service_core.plugin import (
    ProtocolEvent,
    campaign_values_of_url,
    drop_none,
    json_object,
    screen_size_properties,
    text_field,
)

_READ_FIELDS: Final = frozenset(
    {
        *(
            "website",
            "hostname",
            "screen",
            "language",
            "title",
            "url",
            "referrer",
            "name",
            "data",
            "tag",
            "id",
        ),
        *("ip", "userAgent", "timestamp"),
    }
)


def map_event(call: Mapping[str, Any], website: str | None, origin: str | None = None) -> ProtocolEvent:
    """Returns the event of one call; an event without a name is a page view.

    Args:
        call: as sent.
        website: the id of the website that it names.
        origin: of the page that sent it; None for a server.
    """
    payload = json_object(call.get("payload"))
    is_identify = call.get("type") == "identify"
    data = json_object(payload.get("data"))
    url = _absolute_url(payload.get("url"), text_field(payload, "hostname"), origin)
    title = payload.get("title")
    known = {
        "url": url,
        "title": unquote(title) if origin and isinstance(title, str) else title,
        "referrer": payload.get("referrer"),
        "tag": payload.get("tag"),
        "value": None if is_identify else data.get("revenue"),
        **screen_size_properties(payload.get("screen")),
    }
    body = {
        "event": "$identify" if is_identify else text_field(payload, "name") or "page_view",
        "timestamp": payload.get("timestamp"),
        "user_id": payload.get("id"),
        "ip": payload.get("ip"),
        "properties": {
            **({"traits": data} if is_identify else data),
            **campaign_values_of_url(url),
            **drop_none(known),
        },
        "context": drop_none(
            {
                "library": {"name": "umami", "version": "0"},
                "locale": payload.get("language"),
                "userAgent": payload.get("userAgent"),
            }
        ),
    }
    unread = [f"payload.{name}" for name in payload if name not in _READ_FIELDS]
    unread += [name for name in call if name not in {"type", "payload"}]
    return ProtocolEvent(drop_none(body), unread, website)


def _absolute_url(url: object, hostname: str | None, origin: str | None) -> object:
    """Returns a URL with its host; scripts may send only path and query, their page has the scheme."""
    is_path = isinstance(url, str) and url.startswith("/") and not url.startswith("//")
    scheme = "http" if (origin or "").startswith("http:") else "https"
    return f"{scheme}://{hostname}{url}" if is_path and hostname else url
