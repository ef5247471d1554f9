"""Reads the identity assertions of an event: aliases, e-mail matches and external ids."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from service_core.plugin import Event

ALIAS: Final = "$alias"
WEB_ATTRIBUTION_MATCHED: Final = "$web_attribution_matched"
IDENTITY_EVENTS: Final = frozenset({ALIAS, WEB_ATTRIBUTION_MATCHED})
"""Events that may assert an identity; others do by an external id only."""


class IdentityLinks(NamedTuple):
    """The identity assertions of an event; all are empty for a bot.

    Attributes:
        previous_id: the id that an alias ends.
        web_visitor_id: the visitor id that an e-mail match names.
        carries_external_id: whether the event has any external id, an e-mail match included.
    """

    previous_id: str | None = None
    web_visitor_id: str | None = None
    carries_external_id: bool = False


def read_alias_and_email_match_unless_bot(event: Event) -> IdentityLinks:
    """Returns the identity assertions of an event."""
    if event.is_bot:
        return IdentityLinks()
    data = event.event_data
    previous = _text_property(data, "previous_id") if event.event_name == ALIAS else None
    matches = event.event_name == WEB_ATTRIBUTION_MATCHED and data.get("match_method") == "email"
    web_visitor = _text_property(data, "web_visitor_id") if matches else None
    return IdentityLinks(previous, web_visitor, matches or bool(event.external_ids))


def _text_property(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None
