"""Reads the identity assertions of an event: aliases, e-mail matches and external ids."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import Event

ALIAS: Final = "$alias"
WEB_ATTRIBUTION_MATCHED: Final = "$web_attribution_matched"


def read_identity_links(event: Event) -> tuple[str | None, str | None, bool]:
    """Returns the id that an alias ends, the visitor that a match names, and whether the event carries any external id."""
    if event.is_bot:
        return None, None, False
    data = event.event_data
    previous = _text_property(data, "previous_id") if event.event_name == ALIAS else None
    matches = event.event_name == WEB_ATTRIBUTION_MATCHED and data.get("match_method") == "email"
    web_visitor = _text_property(data, "web_visitor_id") if matches else None
    return previous, web_visitor, matches or bool(event.external_ids)


def _text_property(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None
