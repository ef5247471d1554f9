"""The device type of a user agent: ``desktop``, ``mobile``, ``tablet``, ``tv`` or ``other``."""

import re
from typing import Final

_TV: Final = re.compile(
    r"smart-?tv|hbbtv|apple ?tv|google ?tv|android tv|netcast|web0s|bravia|viera|roku|crkey|\baft[a-z]{1,3}\b|dlnadoc",
    re.IGNORECASE,
)
_TABLET: Final = re.compile(r"ipad|tablet(?! pc)|playbook|kindle|silk(?!.*mobile)", re.IGNORECASE)
_MOBILE: Final = re.compile(
    r"mobi|iphone|ipod|phone|blackberry|bb10|opera mini|symbian|midp|maui|series ?60", re.IGNORECASE
)
_DESKTOPS: Final = frozenset(
    {"Windows", "macOS", "Linux", "Chrome OS", "Solaris", "FreeBSD", "OpenBSD", "NetBSD"}
)


def classify_device_type(user_agent: str, os_name: str | None, *, recognized: bool) -> str | None:
    """Returns the device type.

    Args:
        user_agent: the whole agent.
        os_name: its operating system in the contract's spelling.
        recognized: whether anything of the agent was recognised; without it the type is unknown.
    """
    if _TV.search(user_agent):
        return "tv"
    if _TABLET.search(user_agent):
        return "tablet"
    if _MOBILE.search(user_agent):
        return "mobile"
    if os_name == "Android":
        return "tablet"
    if os_name in _DESKTOPS:
        return "desktop"
    return "other" if recognized else None
