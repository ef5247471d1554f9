"""Validates how the public page of a share link may be used: ranges, embedding hosts and password."""

import re
from collections.abc import Sequence
from typing import Final

from service_core.kernel.date_presets import PRESET_NAMES
from service_core.kernel.errors import Unprocessable

MAX_EMBED_HOSTS: Final = 10
MIN_PASSWORD_LENGTH: Final = 8
MAX_PASSWORD_LENGTH: Final = 256

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")
"""A host as a content security policy takes it: letters of ASCII, perhaps one wildcard in front, perhaps a port."""
_MAX_HOST_LENGTH: Final = 253


def validate_allowed_ranges(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the presets in the order of the documentation, each once.

    Raises:
        Unprocessable: ``invalid_field`` for an unknown name.
    """
    unknown = next((name for name in names if name not in PRESET_NAMES), None)
    if unknown is not None:
        raise invalid_field(
            "allowed_ranges", f"has no preset {unknown!r}; choose from {', '.join(PRESET_NAMES)}"
        )
    return tuple(name for name in PRESET_NAMES if name in names)


def validate_embed_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Returns the hosts in lower case, each once.

    Raises:
        Unprocessable: ``invalid_field`` for too many hosts, or for one that is no host.
    """
    normalized = tuple(dict.fromkeys(host.strip().lower() for host in hosts))
    if len(normalized) > MAX_EMBED_HOSTS:
        raise invalid_field("embed_hosts", f"has at most {MAX_EMBED_HOSTS} hosts")
    for host in normalized:
        if len(host) > _MAX_HOST_LENGTH or not _HOST.fullmatch(host):
            raise invalid_field(
                "embed_hosts", "must be host names without scheme or path, such as blog.example.com"
            )
    return normalized


def require_password_length(password: str) -> None:
    """Returns if a password has a length that is accepted.

    Raises:
        Unprocessable: ``invalid_field``.
    """
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise invalid_field("password", f"has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters")


def invalid_field(field: str, rule: str) -> Unprocessable:
    """Returns the error for a field of a share link."""
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"share_link.{field}")
