"""Decides which web origins may send requests without a secret, and the CORS headers of the responses."""

import re
from collections.abc import Mapping
from typing import Final

from service_core.access.models import Workspace
from service_core.kernel.errors import Unprocessable

MAX_ORIGINS: Final = 50
_ORIGIN: Final = re.compile(r"https?://([a-z0-9-]+\.)*[a-z0-9-]+(:\d{1,5})?")

ALLOWED_HEADERS: Final = "Content-Type, X-Batch-Size, X-Container-Version"


def parse_and_validate_origins(lines: str) -> tuple[str, ...]:
    """Returns the origins of a text, separated by white space, in lower case and without duplicates.

    Raises:
        Unprocessable: ``invalid_field``, a text that is not an origin, or more than 50 origins.
    """
    origins = tuple(dict.fromkeys(map(_normalize_origin, lines.split())))
    invalid = next((origin for origin in origins if not _ORIGIN.fullmatch(origin)), None)
    if invalid is not None:
        raise Unprocessable(
            f"{invalid} is no origin; write it as https://shop.example", "invalid_field", field="origins"
        )
    if len(origins) > MAX_ORIGINS:
        raise Unprocessable(f"There may be {MAX_ORIGINS} origins", "invalid_field", field="origins")
    return origins


def is_origin_listed_or_none_listed(origin: str | None, workspace: Workspace) -> bool:
    """Returns whether a page of this origin may send requests; any may if the workspace lists none."""
    if not workspace.allowed_origins:
        return True
    return origin is not None and _normalize_origin(origin) in map(
        _normalize_origin, workspace.allowed_origins
    )


def cors_headers(origin: str | None) -> Mapping[str, str]:
    """Returns the headers that let the page read the response and send cookies."""
    if origin is None:
        return {"access-control-allow-origin": "*"}
    return {
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        "vary": "Origin",
    }


def preflight_headers(origin: str | None) -> Mapping[str, str]:
    """Returns the headers of the response to ``OPTIONS``."""
    return {
        **cors_headers(origin),
        "access-control-allow-methods": "POST, OPTIONS",
        "access-control-allow-headers": ALLOWED_HEADERS,
        "access-control-max-age": "86400",
    }


def _normalize_origin(origin: str) -> str:
    return origin.strip().rstrip("/").lower()
