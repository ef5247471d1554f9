"""The paths that take the file of an import; their requests may take as long as the link works."""

import re
from typing import Final

UPLOAD_PATH: Final = re.compile(
    r"(/app)?/imports/upload/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)
"""Groups: the prefix of the web application, if any, and the id of the import."""


def is_upload_path(path: str) -> bool:
    """Returns whether a request to this path has no limit on the time its body takes as a whole."""
    return UPLOAD_PATH.fullmatch(path) is not None
