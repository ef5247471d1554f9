"""Splits page URLs and removes secrets from their query parameters.

URLs come from browsers, apps and log files, so no function rejects one; a URL that cannot be parsed has no host.
"""

import re
from collections.abc import Collection
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from service_core.ingestion.text_cache import cache_by_text

MAX_URL_LENGTH: Final = 4096
REDACTED_VALUE: Final = "redacted"

APP_SCHEMES: Final = frozenset({"android-app", "ios-app"})
"""Schemes of a referrer that is an app; the host is its package or id."""
_WEB_SCHEMES: Final = frozenset({"http", "https"})

_SECRET_WORDS: Final = frozenset({"token", "password", "secret", "code", "key", "email"})
_SECRET_PATTERN: Final = re.compile(r"token|password|secret|code|key|email", re.IGNORECASE)
_CAMEL_CASE_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BARE_HOST: Final = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}(?=[:/?#]|$)")
_QUERY_PARAMETER: Final = re.compile(r"([?&#;])([^=&#;?]*)=([^&#;]*)")


class SplitUrl(NamedTuple):
    """Host in lower case without port and ``www.``, path, and query without ``?``."""

    host: str | None
    path: str
    query: str


@cache_by_text(2048)
def split_url(url: str) -> SplitUrl:
    """Splits an absolute URL or a bare path."""
    rest, _, _ = url.partition("#")
    rest, _, query = rest.partition("?")
    scheme, separator, after = rest.partition("://")
    if not separator:
        return SplitUrl(None, rest if rest.startswith("/") else "/" + rest, query)
    authority, slash, path = after.partition("/")
    host = _normalize_host(authority) if scheme.lower() in _WEB_SCHEMES | APP_SCHEMES else None
    return SplitUrl(host, slash + path or "/", query)


@cache_by_text(2048)
def parse_referrer_host(referrer: str) -> str | None:
    """Returns the host of a referrer, with or without a scheme; None if it names no host."""
    if "://" in referrer:
        return split_url(referrer).host
    bare = _BARE_HOST.match(referrer.removeprefix("//"))
    return _normalize_host(bare[0]) if bare else None


def is_app_referrer(referrer: str) -> bool:
    """Returns whether a referrer is an app, such as ``android-app://com.example.reader/``."""
    return referrer.partition("://")[0].lower() in APP_SCHEMES


def _normalize_host(authority: str) -> str | None:
    host = authority.rpartition("@")[2].lower()
    host = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return host.rstrip(".").removeprefix("www.") or None


def parse_first_query_values(query: str) -> dict[str, str]:
    """Returns the decoded query parameters; the first value of a repeated name wins."""
    values: dict[str, str] = {}
    for name, value in parse_qsl(query, errors="replace", max_num_fields=None):
        values.setdefault(name, value)
    return values


@cache_by_text(1024)
def stripped_query_values(query: str) -> frozenset[str]:
    """Returns the decoded values of a query, the first one of each name, without spaces around them."""
    return frozenset(value.strip() for value in parse_first_query_values(query).values())


@cache_by_text(2048)
def redact_secret_query_values(url: str) -> str:
    """Returns the URL with the values of secret-like parameters replaced by `REDACTED_VALUE`."""
    if not _SECRET_PATTERN.search(url):
        return url
    return _QUERY_PARAMETER.sub(_redact_if_secret_name, url)


def _redact_if_secret_name(parameter: re.Match[str]) -> str:
    mark, name, _ = parameter.groups()
    words = {word.lower() for word in _CAMEL_CASE_WORD.findall(name)}
    return f"{mark}{name}={REDACTED_VALUE}" if words & _SECRET_WORDS else parameter[0]


def remove_query_parameters(url: str, parameter_names: Collection[str]) -> str:
    """Returns the URL without the query parameters of these names."""
    start, mark, rest = url.partition("?")
    if not mark:
        return url
    query, hash_, fragment = rest.partition("#")
    remaining = "&".join(pair for pair in query.split("&") if pair.partition("=")[0] not in parameter_names)
    return start + ("?" + remaining if remaining else "") + hash_ + fragment
