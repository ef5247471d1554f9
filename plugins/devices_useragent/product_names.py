"""Canonical names of browsers and operating systems."""

import re
from types import MappingProxyType
from typing import Final

_BROWSER_NAMES: Final = MappingProxyType(
    {
        "Mobile Safari UI/WKWebView": "Safari",
        "HeadlessChrome": "Chrome",
        "Chrome Mobile WebView": "Chrome",
        "IE": "Internet Explorer",
        "IE Mobile": "Internet Explorer",
        "Android": "Android Browser",
    }
)
_BROWSER_VARIANT: Final = re.compile(r"^Mobile | (?:Mobile|iOS|Desktop)(?= |$)")

_OS_NAMES: Final = MappingProxyType(
    {"Mac OS X": "macOS", "Mac OS": "macOS", "iPadOS": "iOS"}
    | dict.fromkeys(
        (
            "Arch Linux", "CentOS", "Debian", "Fedora", "Gentoo", "Kubuntu", "Linux Mint", "Mageia", "Mandriva",
            "Oracle", "PCLinuxOS", "Puppy", "Red Hat", "SUSE", "Slackware", "Ubuntu",
        ),
        "Linux",
    )
)  # fmt: skip


def normalize_browser_name(family: str) -> str:
    """``Chrome Mobile iOS`` -> ``Chrome``."""
    return _BROWSER_NAMES.get(family) or _BROWSER_VARIANT.sub("", family)


def normalize_os_name(family: str) -> str:
    """``Mac OS X`` -> ``macOS``; distributions of Linux are Linux."""
    return _OS_NAMES.get(family, family)
