"""A web server's access log as page views (combined log format).

One line becomes the body ``/track`` would have received and the facts of its arrival, or a reason
why it is no page view. Crawlers are kept: the verdict on them is made by enrichment.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any, Final

from service_core.intake.addresses import pairs, parts
from service_core.intake.campaign import ON_ADDRESSES
from service_core.intake.recent import Recent

VIEWER: Final = "Mozilla/5.0 (access log)"
"""Header of every arrival: who reads pages is a browser; who it says it is stands in the context."""

_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_LINE: Final = re.compile(
    rf"(\S+) \S+ .*?\[([^\]]{{20,30}})\] {_QUOTED} (\d{{3}}) \S+(?: {_QUOTED} {_QUOTED})?"
)
_TIME: Final = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PAGE_SUFFIXES: Final = frozenset({"html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi", "md"})
_SUFFIX: Final = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,5})$")
_FEED: Final = re.compile(r"/(?:rss|atom|feeds?|sitemap[^/]*|[^/]+\.(?:rss|atom|rdf|xml))/?$", re.IGNORECASE)
_FIRST_ERROR: Final = 400
_ALIKE: Final = 10_000


class Skipped(StrEnum):
    """Why a line is no page view.

    A request for a page counts also when a redirect answered it: the answer may be in another log.
    """

    MALFORMED = "malformed"
    METHOD = "method"
    ERROR = "error"
    FEED = "feed"
    ASSET = "asset"


@dataclass(frozen=True, slots=True)
class LoggedPage:
    """A page view of a log.

    Attributes:
        body: the JSON object of the event.
        event_id: the same for the same line, so that reading a log twice adds nothing.
        user_agent, address: header and connection of the arrival.
    """

    body: Mapping[str, Any]
    event_id: str
    user_agent: str
    address: str


class AccessLog:
    """Reads the lines of one log, in order.

    Args:
        site: scheme and host of the site, e.g. ``https://example.com``; logs do not name it.
    """

    def __init__(self, site: str) -> None:
        self._site = site.rstrip("/")
        self._alike: Recent[str, int] = Recent(_ALIKE)

    def read(self, line: str) -> LoggedPage | Skipped:
        """The page view of a line, or why it is none."""
        found = _LINE.match(line)
        timestamp = _timestamp(found[2]) if found else None
        if found is None or timestamp is None:
            return Skipped.MALFORMED
        address, _, request, status, referrer, agent = found.groups()
        method, _, target = request.partition(" ")
        target = target.rpartition(" HTTP/")[0] or target
        if skipped := _skipped(method, target, int(status)):
            return skipped
        event_id = self._event_id(line.strip())
        agent = agent if agent and agent != "-" else None
        body = {
            "event": "pageview",
            "event_id": event_id,
            "anonymous_id": "log_" + _digest(f"{address}|{agent}")[:16],
            "timestamp": timestamp.isoformat(),
            "properties": self._properties(target, referrer),
            "context": {"library": "access_log", "version": "1"} | ({"userAgent": agent} if agent else {}),
        }
        return LoggedPage(body, event_id, VIEWER, address)

    def _properties(self, target: str, referrer: str | None) -> dict[str, str]:
        url = target if "://" in target else self._site + target
        properties = {name: value for name, value in pairs(parts(url).query).items() if name in ON_ADDRESSES}
        properties["url"] = url
        if referrer and referrer != "-":
            properties["referrer"] = referrer
        return properties

    def _event_id(self, line: str) -> str:
        """Digest of the line; lines that are alike are counted, as they are different requests."""
        digest = _digest(line)[:32]
        before = self._alike.get(digest) or 0
        self._alike.put(digest, before + 1)
        return f"log_{digest}_{before + 1}" if before else f"log_{digest}"


def _skipped(method: str, target: str, status: int) -> Skipped | None:
    if not target:
        return Skipped.MALFORMED
    path = parts(target).path
    suffix = _SUFFIX.search(path)
    reasons = {
        Skipped.METHOD: method != "GET",
        Skipped.ERROR: status >= _FIRST_ERROR,
        Skipped.FEED: _FEED.search(path) is not None,
        Skipped.ASSET: suffix is not None and suffix[1].lower() not in _PAGE_SUFFIXES,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _timestamp(text: str) -> datetime | None:
    found = _TIME.fullmatch(text)
    if found is None or found[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(found[i]) for i in (1, 3, 4, 5, 6))
    offset = timedelta(hours=int(found[8]), minutes=int(found[9]))
    try:
        zone = timezone(-offset if found[7] == "-" else offset)
        return datetime(year, _MONTHS.index(found[2]) + 1, day, hour, minute, second, tzinfo=zone).astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
