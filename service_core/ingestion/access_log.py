"""Converts lines of a web server's access log (combined log format) to page views.

One line becomes the body of a ``/track`` request with user agent and IP address, or the reason why it is
skipped. Crawlers are kept, because enrichment classifies them.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any, Final, NamedTuple

from service_core.ingestion.campaign import URL_CAMPAIGN_PARAMETERS
from service_core.ingestion.lru_cache import LruCache
from service_core.ingestion.page_urls import parse_first_query_values, split_url

BROWSER_USER_AGENT: Final = "Mozilla/5.0 (access log)"
"""``User-Agent`` of every request, so that the source is a browser. The logged user agent is in the context."""

_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_LINE: Final = re.compile(
    rf"(\S+) \S+ .*?\[([^\]]{{20,30}})\] {_QUOTED} (\d{{3}}) \S+(?: {_QUOTED} {_QUOTED})?"
)
_TIME: Final = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PAGE_SUFFIXES: Final = frozenset({"html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi", "md"})
_SUFFIX: Final = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,5})$")
_FEED: Final = re.compile(r"/(?:rss|atom|feeds?|sitemap[^/]*|[^/]+\.(?:rss|atom|rdf|xml))/?$", re.IGNORECASE)
_MIN_ERROR_STATUS: Final = 400
_MAX_REMEMBERED_LINES: Final = 10_000


class LineSkipReason(StrEnum):
    """Why a line of the log is not a page view.

    A request for a page that was answered by a redirect is a page view.
    """

    MALFORMED = "malformed"
    METHOD = "method"
    ERROR = "error"
    FEED = "feed"
    ASSET = "asset"


@dataclass(frozen=True, slots=True)
class LoggedPageView:
    """A page view read from a log line.

    Attributes:
        body: the JSON object of the event.
        event_id: the same for the same line, so that importing a log twice adds nothing.
        user_agent, client_ip: of the request.
    """

    body: Mapping[str, Any]
    event_id: str
    user_agent: str
    client_ip: str


class LoggedRequest(NamedTuple):
    """A line of an access log; ``referrer`` and ``user_agent`` are None where the log has none."""

    client_ip: str
    at: datetime
    method: str
    target: str
    status: int
    referrer: str | None
    user_agent: str | None


def parse_logged_request(line: str) -> LoggedRequest | None:
    """Returns the request of a line in common or combined log format; None for any other line."""
    match = _LINE.match(line)
    timestamp = _parse_log_timestamp_as_utc(match[2]) if match else None
    if match is None or timestamp is None:
        return None
    address, _, request, status, referrer, agent = match.groups()
    method, _, target = request.partition(" ")
    target = target.rpartition(" HTTP/")[0] or target
    known = (None if text in {None, "-", ""} else text for text in (referrer, agent))
    return LoggedRequest(address, timestamp, method, target, int(status), *known)


class AccessLogParser:
    """Parses the lines of one access log, in order.

    Args:
        site: scheme and host of the site, e.g. ``https://example.com``; logs do not contain it.
    """

    def __init__(self, site: str) -> None:
        self._site = site.rstrip("/")
        self._line_counts: LruCache[str, int] = LruCache(_MAX_REMEMBERED_LINES)

    def parse_line(self, line: str) -> LoggedPageView | LineSkipReason:
        """Returns the page view of a line, or the reason why it is skipped."""
        request = parse_logged_request(line)
        if request is None:
            return LineSkipReason.MALFORMED
        if skipped := _line_skip_reason(request.method, request.target, request.status):
            return skipped
        event_id = self._count_line_and_derive_event_id(line.strip())
        agent, address = request.user_agent, request.client_ip
        body = {
            "event": "pageview",
            "event_id": event_id,
            "anonymous_id": "log_" + _sha256_hex(f"{address}|{agent}")[:16],
            "timestamp": request.at.isoformat(),
            "properties": self._url_campaign_and_referrer_properties(request.target, request.referrer),
            "context": {"library": "access_log", "version": "1"} | ({"userAgent": agent} if agent else {}),
        }
        return LoggedPageView(body, event_id, BROWSER_USER_AGENT, address)

    def _url_campaign_and_referrer_properties(
        self, request_target: str, referrer: str | None
    ) -> dict[str, str]:
        url = request_target if "://" in request_target else self._site + request_target
        properties = {
            name: value
            for name, value in parse_first_query_values(split_url(url).query).items()
            if name in URL_CAMPAIGN_PARAMETERS
        }
        properties["url"] = url
        if referrer:
            properties["referrer"] = referrer
        return properties

    def _count_line_and_derive_event_id(self, line: str) -> str:
        """Returns an event id derived from the line. Counts the line: a repeated one gets a number, as it is a request, too."""
        digest = _sha256_hex(line)[:32]
        earlier_count = self._line_counts.get(digest) or 0
        self._line_counts.put(digest, earlier_count + 1)
        return f"log_{digest}_{earlier_count + 1}" if earlier_count else f"log_{digest}"


def _line_skip_reason(method: str, request_target: str, status: int) -> LineSkipReason | None:
    if not request_target:
        return LineSkipReason.MALFORMED
    path = split_url(request_target).path
    suffix = _SUFFIX.search(path)
    reasons = {
        LineSkipReason.METHOD: method != "GET",
        LineSkipReason.ERROR: status >= _MIN_ERROR_STATUS,
        LineSkipReason.FEED: _FEED.search(path) is not None,
        LineSkipReason.ASSET: suffix is not None and suffix[1].lower() not in _PAGE_SUFFIXES,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _parse_log_timestamp_as_utc(text: str) -> datetime | None:
    match = _TIME.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(match[i]) for i in (1, 3, 4, 5, 6))
    offset = timedelta(hours=int(match[8]), minutes=int(match[9]))
    try:
        zone = timezone(-offset if match[7] == "-" else offset)
        return datetime(year, _MONTHS.index(match[2]) + 1, day, hour, minute, second, tzinfo=zone).astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        return None


def _sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
