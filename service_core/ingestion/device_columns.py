"""Computes the device columns of an event from its user agent and from what an SDK reports."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from service_core.ingestion.campaign import campaign_text
from service_core.ingestion.ports import Device

_USER_AGENT_COLUMNS: Final = ("device_type", "browser", "browser_version", "os", "os_version")
_SDK_FIELDS: Final = MappingProxyType(
    {
        "device_type": ("device", "type"),
        "browser": ("browser", "name"),
        "browser_version": ("browser", "version"),
        "os": ("os", "name"),
        "os_version": ("os", "version"),
        "app_name": ("app", "name"),
        "app_version": ("app", "version"),
        "language": ("locale", None),
        "screen_width": ("screen", "width"),
        "screen_height": ("screen", "height"),
    }
)
"""Column -> path in ``context`` (group, field); a property or context field with the name of the column precedes it."""

_DEVICE_TYPES: Final = MappingProxyType(
    {name: name for name in ("desktop", "mobile", "tablet", "tv", "other")}
    | {"phone": "mobile", "smartphone": "mobile", "handset": "mobile"}
)
_OS_NAMES: Final = MappingProxyType(
    {
        "ios": "iOS",
        "ipados": "iOS",
        "android": "Android",
        "windows": "Windows",
        "macos": "macOS",
        "mac os": "macOS",
        "mac os x": "macOS",
        "linux": "Linux",
    }
)
_MAX_PIXEL_DIGITS: Final = 5
_MAX_LANGUAGE_LENGTH: Final = 35


def columns_known_from_user_agent(device: Device | None) -> dict[str, Any]:
    """Returns the device columns that a user agent determines."""
    if device is None:
        return {}
    return {name: value for name in _USER_AGENT_COLUMNS if (value := getattr(device, name)) is not None}


def sdk_reported_device_columns(properties: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the device columns of the properties, or else of the context, with normalized names.

    Values that cannot be normalized are left out.
    """
    columns = {}
    for column, path in _SDK_FIELDS.items():
        for sent in (properties.get(column), context.get(column), _context_value(context, *path)):
            if sent is not None and (value := _normalize_device_value(column, sent)) is not None:
                columns[column] = value
                break
    return columns


def first_accepted_language(header: str | None) -> str | None:
    """Returns the first language of an ``Accept-Language`` header."""
    first = campaign_text((header or "").partition(",")[0].partition(";")[0])
    return first[:_MAX_LANGUAGE_LENGTH] if first and first != "*" else None


def _context_value(context: Mapping[str, Any], group: str, leaf: str | None) -> object:
    value = context.get(group)
    return value.get(leaf) if leaf and isinstance(value, dict) else value


def _normalize_device_value(column: str, value: object) -> str | int | None:
    if column.startswith("screen_"):
        number = campaign_text(value) or ""
        return int(number) if number.isdecimal() and len(number) <= _MAX_PIXEL_DIGITS else None
    value = campaign_text(value)
    if value is None:
        return None
    if column == "device_type":
        return _DEVICE_TYPES.get(value.lower())
    return _OS_NAMES.get(value.lower(), value) if column == "os" else value
