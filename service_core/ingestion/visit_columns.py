"""Columns that are computed from others of an event: the host of its page and the class of its screen."""

import re
from string import ascii_lowercase, ascii_uppercase
from typing import Final

HOSTNAME_PATTERN: Final = "^[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?(?:www[.])?([^/?#:@[]+)"
"""The host in an address whose ASCII letters are small, as the first group; without ``www.`` and port.

It has no backslashes, so every engine reads it alike.
"""

SCREEN_CLASSES: Final = (("small", 576), ("medium", 992), ("large", 1440), ("wide", None))
"""Classes of screens, each with the width in pixels it lies below; the last has no bound."""

_HOSTNAME: Final = re.compile(HOSTNAME_PATTERN)
_TO_LOWER_CASE: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


def hostname_of_url(url: str | None) -> str | None:
    """Returns the host of an address in lower case without ``www.``; None without one."""
    match = _HOSTNAME.match(url.translate(_TO_LOWER_CASE)) if url else None
    return match[1] if match else None


def screen_class_of_width(width: int | None) -> str | None:
    """Returns the class of a screen by its width in pixels; None for an unknown or impossible width."""
    if width is None or width < 1:
        return None
    return next(name for name, below in SCREEN_CLASSES if below is None or width < below)
