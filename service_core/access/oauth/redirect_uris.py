"""Rules for redirect URIs (RFC 8252, 9700)."""

import re
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit

MAX_URI_LENGTH: Final = 2000
LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_VISIBLE_ASCII_PATTERN: Final = re.compile(r"[!-~]+")
_UNSAFE_CHARACTERS: Final = frozenset('\\"<>^`{|}')
_REVERSED_DOMAIN_PATTERN: Final = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")
_APP_SCHEME_PATTERN: Final = re.compile(r"[a-z][a-z0-9+-]*")
_RESERVED_SCHEMES: Final = frozenset(
    {
        "about", "blob", "cap", "chrome", "content", "data", "dav", "dict", "dns", "facetime", "feed",
        "file", "filesystem", "ftp", "ftps", "geo", "git", "gopher", "http", "https", "imap", "intent",
        "irc", "jar", "javascript", "jdbc", "ldap", "livescript", "magnet", "mailto", "mhtml", "mms",
        "mocha", "news", "nfs", "nntp", "opera", "pop", "resource", "rtsp", "sftp", "sip", "sips", "skype",
        "sms", "smb", "ssh", "svn", "tel", "telnet", "tftp", "urn", "vbscript", "view-source", "ws", "wss",
        "wyciwyg", "xmpp",
    }
)  # fmt: skip
"""Schemes that do not belong to a person's app, or that execute their content."""


def is_https_loopback_or_app_uri(uri: str) -> bool:
    """Returns whether a client may register this URI: https, http on loopback, or a scheme of an app."""
    if (
        len(uri) > MAX_URI_LENGTH
        or not _VISIBLE_ASCII_PATTERN.fullmatch(uri)
        or _UNSAFE_CHARACTERS & set(uri)
        or "#" in uri
    ):
        return False
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return False
    if "@" in parts.netloc or "%" in parts.netloc or port == 0 or "," in parts.netloc:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in LOOPBACK_HOSTS
    return _has_unreserved_app_scheme(parts, uri)


def matches_registered_uri_ignoring_loopback_port(uri: str, registered_uris: tuple[str, ...]) -> bool:
    """Returns whether a URI equals a registered one exactly; on loopback the port may differ."""
    return is_https_loopback_or_app_uri(uri) and any(
        uri == candidate or _differ_only_in_loopback_port(uri, candidate) for candidate in registered_uris
    )


def add_query_parameters(uri: str, parameters: dict[str, str]) -> str:
    """Returns the URI with additional query parameters."""
    parts = urlsplit(uri)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return parts._replace(query=query).geturl() if parts.netloc else f"{uri.partition('?')[0]}?{query}"


def csp_origin_or_scheme(uri: str) -> str:
    """Returns the origin of the URI as a source of a content security policy; the scheme for an app or an IPv6 host."""
    parts = urlsplit(uri)
    if parts.scheme not in {"http", "https"} or ":" in (parts.hostname or ":"):
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def _has_unreserved_app_scheme(parts: SplitResult, uri: str) -> bool:
    """Returns whether the scheme belongs to an app: ``com.example.app:`` or ``app://``, not one known to browsers."""
    if parts.scheme in _RESERVED_SCHEMES:
        return False
    if _REVERSED_DOMAIN_PATTERN.fullmatch(parts.scheme):
        return True
    return bool(_APP_SCHEME_PATTERN.fullmatch(parts.scheme)) and uri[len(parts.scheme) :].startswith("://")


def _differ_only_in_loopback_port(uri: str, registered_uri: str) -> bool:
    sent_parts, known_parts = urlsplit(uri), urlsplit(registered_uri)
    if sent_parts.scheme != "http" or sent_parts.hostname not in LOOPBACK_HOSTS:
        return False
    return _remove_port(sent_parts) == _remove_port(known_parts)


def _remove_port(parts: SplitResult) -> str:
    host = parts.netloc.rpartition("]")[0] + "]" if "[" in parts.netloc else parts.netloc.partition(":")[0]
    return parts._replace(netloc=host).geturl()
