"""Values that the wire formats of several products share."""

import base64
import re
from typing import Final

TRANSPARENT_GIF: Final = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
"""A GIF of one transparent pixel, which clients request as an image."""

_SIZE: Final = re.compile(r"\s*([0-9]{1,5})\s*[xX,]\s*([0-9]{1,5})\s*")


def screen_size_properties(size: object) -> dict[str, int]:
    """Returns ``screen_width`` and ``screen_height`` of a text such as ``1920x1080``; an empty object for any other value."""
    matched = _SIZE.fullmatch(size) if isinstance(size, str) else None
    return {"screen_width": int(matched[1]), "screen_height": int(matched[2])} if matched else {}
