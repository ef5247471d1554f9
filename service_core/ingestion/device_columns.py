"""Computes the device columns of an event from its user agent and from what an SDK reports."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from service_core.ingestion.campaign import campaign_text
from service_core.ingestion.ports import Device
from service_core.ingestion.text_cache import cache_by_text

_USER_AGENT_COLUMNS: Final = ("device_type", "browser", "browser_version", "os", "os_version")
_SDK_PATHS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = MappingProxyType(
    {
        "device_type": (("device", "type"),),
        "browser": (("browser", "name"),),
        "browser_version": (("browser", "version"),),
        "os": (
            ("os", "name"),
            ("os_name",),
            ("osName",),
            ("platform",),
            ("device", "platform"),
            ("device", "type"),
        ),
        "os_version": (
            *(("os", "version"), ("osVersion",), ("platform_version",), ("device", "osVersion")),
            *(("fingerprint", "deviceInfo", "osVersion"), ("deviceInfo", "osVersion")),
        ),
        "app_name": (("app", "name"), ("appName",), ("app", "namespace")),
        "app_version": (("app", "version"), ("appVersion",)),
        "language": (
            *(
                ("locale",),
                ("browser_language",),
                ("user_language",),
                ("userLanguage",),
                ("device", "locale"),
            ),
            *(("fingerprint", "deviceInfo", "locale"), ("deviceInfo", "locale")),
        ),
        "screen_width": (("screen", "width"), ("screenWidth",)),
        "screen_height": (("screen", "height"), ("screenHeight",)),
    }
)
"""Column -> paths of its value in ``properties`` and ``context``; a field with the name of the column precedes them."""

SDK_FIELDS: Final = frozenset(_SDK_PATHS) | {path[0] for paths in _SDK_PATHS.values() for path in paths}
"""The fields of ``properties`` and ``context`` that device columns are read from."""
_UNNAMED_PLATFORM_PATHS: Final = frozenset({("platform",), ("device", "platform"), ("device", "type")})
"""Paths that may also hold other than an operating system, such as ``web``: only known names count."""
_MOBILE_SYSTEMS: Final = frozenset({"iOS", "Android"})

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
        "iphone os": "iOS",
        "chrome os": "Chrome OS",
        "chromeos": "Chrome OS",
        "win32": "Windows",
        "macintel": "macOS",
        "iphone": "iOS",
        "ipad": "iOS",
        "darwin": "macOS",
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
    columns: dict[str, Any] = {}
    if SDK_FIELDS.isdisjoint(properties) and SDK_FIELDS.isdisjoint(context):
        return columns
    for column, paths in _SDK_PATHS.items():
        for source, path in [
            *((source, (column,)) for source in (properties, context)),
            *((source, path) for path in paths for source in (context, properties)),
        ]:
            value = _normalize_device_value(column, path, _value_at(source, path))
            if value is not None:
                columns[column] = value
                break
    return columns


def names_app(properties: Mapping[str, Any], context: Mapping[str, Any]) -> bool:
    """Returns whether an event names an application or a mobile operating system."""
    if context.get("app") or any(source.get("app_name") for source in (properties, context)):
        return True
    return sdk_reported_device_columns(properties, context).get("os") in _MOBILE_SYSTEMS


def first_accepted_language(header: str | None) -> str | None:
    """Returns the first language of an ``Accept-Language`` header."""
    return _first_language(header) if header else None


@cache_by_text(1024)
def _first_language(header: str) -> str | None:
    first = campaign_text(header.partition(",")[0].partition(";")[0])
    return first[:_MAX_LANGUAGE_LENGTH] if first and first != "*" else None


def _value_at(source: Mapping[str, Any], path: tuple[str, ...]) -> object:
    value: object = source
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _normalize_device_value(column: str, path: tuple[str, ...], sent: object) -> str | int | None:
    if sent is None:
        return None
    value = campaign_text(sent)
    if value is None:
        return None
    if column.startswith("screen_"):
        return int(value) if value.isdecimal() and len(value) <= _MAX_PIXEL_DIGITS else None
    if column == "device_type":
        return _DEVICE_TYPES.get(value.lower())
    if column == "os":
        return _OS_NAMES.get(value.lower(), None if path in _UNNAMED_PLATFORM_PATHS else value)
    return value
