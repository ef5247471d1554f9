"""The paths that take the file of an import; their requests may take as long as the link works."""

import re
from collections.abc import Mapping
from typing import Any, Final

UPLOAD_PATH: Final = re.compile(
    r"(/app)?/imports/upload/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)
"""Groups: the prefix of the web application, if any, and the id of the import."""

_METHODS: Final = frozenset({"PUT", "POST"})


def is_upload(scope: Mapping[str, Any]) -> bool:
    """Returns whether the request may carry a file, which has no limit on the time it takes as a whole."""
    return scope.get("method") in _METHODS and UPLOAD_PATH.fullmatch(scope.get("path", "")) is not None
