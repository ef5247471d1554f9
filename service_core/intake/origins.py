"""Which pages may ask in a browser's name without a secret (contract 11.2, 11.3): one rule for every such route."""

from collections.abc import Mapping
from typing import Final

from service_core.access.model import Workspace

ALLOWED_HEADERS: Final = "Content-Type, X-Batch-Size, X-Container-Version"


def is_allowed(origin: str | None, workspace: Workspace) -> bool:
    """Whether a page of this origin may ask for the workspace; any may where none is listed."""
    if not workspace.allowed_origins:
        return True
    return origin is not None and _plain(origin) in map(_plain, workspace.allowed_origins)


def cors(origin: str | None) -> Mapping[str, str]:
    """Headers that let the page read the answer, its cookies included."""
    if origin is None:
        return {"access-control-allow-origin": "*"}
    return {
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        "vary": "Origin",
    }


def preflight(origin: str | None) -> Mapping[str, str]:
    """Headers of the answer to ``OPTIONS``."""
    return {
        **cors(origin),
        "access-control-allow-methods": "POST, OPTIONS",
        "access-control-allow-headers": ALLOWED_HEADERS,
        "access-control-max-age": "86400",
    }


def _plain(origin: str) -> str:
    return origin.strip().rstrip("/").lower()
