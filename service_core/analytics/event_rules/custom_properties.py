"""Decides which keys of ``event_data`` are custom properties."""

from typing import Any, Final

from service_core.ingestion.campaign import CLICK_IDS
from service_core.ingestion.models import IMPORT_PROPERTY, WIRE_COLUMNS

RESERVED_KEYS: Final = frozenset(
    {
        *WIRE_COLUMNS, *CLICK_IDS, IMPORT_PROPERTY, "ScCid", "sccid", "clickId", "clickIdType", "url", "path", "title",
        "search", "value", "amount", "orderId", "transaction_id", "sessionId", "touchpoint_count",
        "performance", "device_fingerprint", "fingerprint", "consent", "schema_version",
        "install_referrer_url",
    }
)  # fmt: skip
"""Property names with a meaning to the service; they are not custom properties."""
RESERVED_PREFIXES: Final = (
    "utm_", "referrer", "session_", "first_touch_", "last_touch_", "screen_", "viewport_", "sdk_",
)  # fmt: skip
"""Prefixes of property names with a meaning to the service."""


def is_custom_property(key: str) -> bool:
    """Whether `/events/properties` shows a key."""
    return key not in RESERVED_KEYS and not key.startswith(RESERVED_PREFIXES)


def json_type_name(value: Any) -> str:
    """Returns the type of a JSON value as answers name it."""
    if value is None:
        return "null"
    for name, kinds in (("boolean", bool), ("number", int | float), ("string", str), ("array", list | tuple)):
        if isinstance(value, kinds):
            return name
    return "object"
