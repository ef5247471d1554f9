"""Traits of a person, merged from `$identify` events."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

_RESERVED_KEYS: Final = frozenset(
    {
        "traits", "user_id", "userId", "anonymous_id", "anonymousId", "previous_id", "previousId",
        "distinct_id", "distinctId", "visitor_id", "visitorId", "url", "path", "title", "search", "referrer",
        "properties", "test", "bot", "interactive", "consent",
    }
)  # fmt: skip
_RESERVED_PREFIXES: Final = (
    "utm_",
    "first_touch_",
    "last_touch_",
    "session_",
    "screen_",
    "viewport_",
    "sdk_",
    "$",
)


def merge_traits_latest_non_null(
    identify_event_data_oldest_first: Iterable[Mapping[str, Any]],
) -> dict[str, Any]:
    """Returns the traits of a person.

    Args:
        identify_event_data_oldest_first: ``event_data`` of the person's `$identify` events, oldest first.

    Returns:
        Flat properties and those of ``properties.traits``, which have precedence. A later event overrides
        earlier ones; null removes nothing.
    """
    merged: dict[str, Any] = {}
    for event_data in identify_event_data_oldest_first:
        flat = {key: value for key, value in event_data.items() if not _is_reserved(key)}
        nested = event_data.get("traits")
        merged |= {
            key: value
            for key, value in (flat | (dict(nested) if isinstance(nested, Mapping) else {})).items()
            if value is not None
        }
    return merged


def get_text_trait(known: Mapping[str, Any], name: str) -> str | None:
    """Returns a trait shown as text (``email``, ``name``); None if absent, empty or not a text."""
    value = known.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _is_reserved(key: str) -> bool:
    return key in _RESERVED_KEYS or key.startswith(_RESERVED_PREFIXES)
