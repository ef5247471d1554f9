"""Device columns of an event (semantics 2.1): what the user agent says, completed by what an SDK sends."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from service_core.intake.campaign import text
from service_core.intake.ports import Device

_FROM_AGENT: Final = ("device_type", "browser", "browser_version", "os", "os_version")
_FROM_SDK: Final = MappingProxyType(
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
"""Column -> its place in ``context`` (group, leaf); a value of the column's own name beats it."""

_DEVICE_TYPES: Final = MappingProxyType(
    {name: name for name in ("desktop", "mobile", "tablet", "tv", "other")}
    | {"phone": "mobile", "smartphone": "mobile", "handset": "mobile"}
)
_SYSTEMS: Final = MappingProxyType(
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
_PIXEL_DIGITS: Final = 5
_LANGUAGE: Final = 35


def agent_columns(device: Device | None) -> dict[str, Any]:
    """The columns a user agent gives."""
    if device is None:
        return {}
    return {name: value for name in _FROM_AGENT if (value := getattr(device, name)) is not None}


def sdk_columns(properties: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """The columns an SDK gives, in the spellings of the contract."""
    found = {}
    for column, place in _FROM_SDK.items():
        for sent in (properties.get(column), context.get(column), _at(context, *place)):
            if sent is not None and (value := _spelt(column, sent)) is not None:
                found[column] = value
                break
    return found


def accepted_language(header: str | None) -> str | None:
    """The first language of an ``Accept-Language`` header."""
    first = text((header or "").partition(",")[0].partition(";")[0])
    return first[:_LANGUAGE] if first and first != "*" else None


def _at(context: Mapping[str, Any], group: str, leaf: str | None) -> object:
    value = context.get(group)
    return value.get(leaf) if leaf and isinstance(value, dict) else value


def _spelt(column: str, sent: object) -> str | int | None:
    if column.startswith("screen_"):
        number = text(sent) or ""
        return int(number) if number.isdecimal() and len(number) <= _PIXEL_DIGITS else None
    value = text(sent)
    if value is None:
        return None
    if column == "device_type":
        return _DEVICE_TYPES.get(value.lower())
    return _SYSTEMS.get(value.lower(), value) if column == "os" else value
