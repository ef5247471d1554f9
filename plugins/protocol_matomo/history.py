"""History of Matomo: the tracking requests in the access log of its server, by the mapping of its protocol."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from plugins.protocol_matomo.mapping import map_request
from service_core.plugin import (
    FileLine,
    ImportEntry,
    ImportFile,
    ImportSourceInfo,
    UnreadableRequest,
    parse_form,
    parse_logged_request,
)

_TRACKERS: Final = ("/matomo.php", "/piwik.php")
NOT_TRACKING: Final = "no_tracking_request"
"""Difference of a request that is none of the tracking API."""


class MatomoHistory:
    """Reads access logs in common or combined format of the server on which Matomo ran."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="matomo",
            label="Matomo",
            homepage="https://matomo.org/faq/log-analytics-tool/",
            files="Access log of Matomo's server, whose tracking requests are replayed",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Yields an entry for each line."""
        yield from map(_map_line, file.lines())


def _map_line(line: FileLine) -> ImportEntry:
    """Returns the entry of a line. The visitor's address and user agent are those of the logged request."""
    request = parse_logged_request(line.text) if line.problem is None else None
    if request is None:
        problem = line.problem or ("malformed" if line.text.strip() else "empty line")
        return ImportEntry(None, problem, byte_count=line.byte_count)
    day = request.at.isoformat()
    try:
        path, query = urlsplit(request.target)[2:4]
        fields = parse_form(query)
    except (UnreadableRequest, ValueError):
        return ImportEntry(None, "malformed", byte_count=line.byte_count, day=day)
    if not path.endswith(_TRACKERS) or fields.get("rec") != "1":
        return ImportEntry(None, NOT_TRACKING, byte_count=line.byte_count, day=day)
    body = {"timestamp": day, **map_request(fields, has_token=False, key=None).body}
    return ImportEntry(
        body, user_agent=request.user_agent, address=request.client_ip, byte_count=line.byte_count
    )
