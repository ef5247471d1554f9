"""Canonical names of browsers and operating systems."""

from types import MappingProxyType
from typing import Final

_BROWSER_NAMES: Final = MappingProxyType(
    {
        "Chrome Mobile": "Chrome",
        "Chrome Mobile iOS": "Chrome",
        "Chrome Webview": "Chrome",
        "DuckDuckGo Privacy Browser": "DuckDuckGo",
        "Edge WebView": "Edge",
        "Firefox Mobile": "Firefox",
        "Firefox Mobile iOS": "Firefox",
        "Headless Chrome": "Chrome",
        "Huawei Browser Mobile": "Huawei Browser",
        "IE Mobile": "Internet Explorer",
        "Microsoft Edge": "Edge",
        "Mobile Safari": "Safari",
        "Mobile Silk": "Amazon Silk",
        "Opera Mini iOS": "Opera Mini",
        "Opera Mobile": "Opera",
        "Samsung Browser": "Samsung Internet",
        "Vivaldi Mobile Browser": "Vivaldi",
    }
)
_OS_NAMES: Final = MappingProxyType({"Mac": "macOS", "iPadOS": "iOS"})
_LINUX_APPLIANCES: Final = frozenset(
    {
        *("BrightSignOS", "Coolita OS", "FortiOS", "FRITZ!OS", "Freebox", "Fuchsia", "KoboOS", "KreaTV"),
        *(
            "Motorola EZX",
            "OpenWrt",
            "Opera TV",
            "Qtopia",
            "Roku OS",
            "RouterOS",
            "Sailfish OS",
            "SerenityOS",
        ),
        *("TiVo OS", "VIDAA", "ViziOS", "WoPhone"),
    }
)
"""Systems of televisions and other appliances that are built on Linux and have a name of their own."""


def normalize_browser_name(name: str) -> str:
    """``Chrome Mobile iOS`` -> ``Chrome``."""
    return _BROWSER_NAMES.get(name, name)


def normalize_os_name(name: str, family: str) -> str:
    """``Mac`` -> ``macOS``; distributions of Linux are Linux."""
    if family == "GNU/Linux" and name not in _LINUX_APPLIANCES:
        return "Linux"
    return _OS_NAMES.get(name, name)
