"""Validation of URLs and slugs of links."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from service_core.kernel.errors import Unprocessable

MAX_URL_LENGTH: Final = 2048
WEB_SCHEMES: Final = frozenset({"http", "https"})
APP_STORE_SCHEMES: Final = WEB_SCHEMES | {"itms-apps", "market"}
"""Schemes of `ios_url` and `android_url`."""

RESERVED_SLUGS: Final = frozenset({"share", "approve", "v1", "health", "track", "t.js", ".well-known"})
_SLUG: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNSAFE_CHARACTERS: Final = re.compile(r"[\s\\\x00-\x1f\x7f<>\"`{|}^]")
_PRIVATE_SUFFIXES: Final = ("localhost", "local", "internal", "home.arpa")
_NUMERIC_LABEL: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
"""Last label of a host that browsers parse as an IPv4 address."""


def validate_public_url(
    field: str,
    text: str,
    schemes: frozenset[str] = WEB_SCHEMES,
    *,
    parent_field: str = "link",
    allow_private_hosts: bool = False,
) -> None:
    """Refuses a URL that a link must not lead to.

    Args:
        field: name of the field.
        text: its value.
        schemes: those that are allowed.
        parent_field: name of the object that has the field.
        allow_private_hosts: whether it may lead to a private host.

    Raises:
        Unprocessable: ``invalid_url``.
    """
    reason = _url_rejection_reason(text, schemes, allow_private_hosts=allow_private_hosts)
    if reason is not None:
        raise Unprocessable(f"{field} {reason}", "invalid_url", field=f"{parent_field}.{field}")


def validate_slug(slug: str) -> None:
    """Refuses a slug that is malformed or reserved.

    Raises:
        Unprocessable: ``invalid_slug``.
    """
    if not _SLUG.fullmatch(slug) or slug.lower() in RESERVED_SLUGS:
        raise Unprocessable(
            "A slug has 1 to 64 letters, digits, - or _ and is not reserved",
            "invalid_slug",
            field="link.slug",
        )


def _url_rejection_reason(text: str, schemes: frozenset[str], *, allow_private_hosts: bool) -> str | None:
    if len(text) > MAX_URL_LENGTH or _UNSAFE_CHARACTERS.search(text):
        return f"has more than {MAX_URL_LENGTH} characters, or one that has to be encoded"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme not in schemes or not host:
        return f"must start with {' or '.join(f'{scheme}://' for scheme in sorted(schemes))} and a host"
    if "@" in parts.netloc:
        return "must not hold a user name"
    return (
        "must not lead to a private host"
        if parts.scheme in WEB_SCHEMES and not allow_private_hosts and is_private_or_numeric_host(host)
        else None
    )


def is_private_or_numeric_host(host: str) -> bool:
    """Returns whether a host is a private address or a name that is not public.

    A host whose last label is a number counts as private: browsers parse it as an IPv4 address.
    """
    name = host.rstrip(".").lower()
    try:
        return not ip_address(name.partition("%")[0]).is_global
    except ValueError:
        pass
    labels = name.split(".")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        return True
    return len(labels) == 1 or any(name == end or name.endswith(f".{end}") for end in _PRIVATE_SUFFIXES)
