"""Reads access logs, plain or gzip: one page view for each line that is one."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from service_core.ingestion.access_log import AccessLogParser, LoggedPageView
from service_core.ingestion.import_sources.lines import iterate_lines_and_cut_long_ones
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.kernel.errors import StartupError


def read_access_log_with_skipped_lines(path: Path, site: str) -> Iterator[ImportEntry]:
    """Yields the entries of a log in combined format.

    Args:
        path: the log; ``.gz`` is unpacked while it is read.
        site: scheme and host the paths belong to.

    Raises:
        StartupError: the gzip data are damaged or cut off.
    """
    log = AccessLogParser(site)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        try:
            for line in iterate_lines_and_cut_long_ones(lines):
                yield _parse_line_as_event_or_skipped(log, line)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise StartupError(
                f"The gzip data of {path.name} are damaged or cut off. Copy the log again."
            ) from None


def _parse_line_as_event_or_skipped(parser: AccessLogParser, line: bytes) -> ImportEntry:
    page = parser.parse_line(line.decode(errors="replace"))
    if not isinstance(page, LoggedPageView):
        return ImportEntry(None, page.value, byte_count=len(line))
    return ImportEntry(
        page.body,
        event_id=page.event_id,
        user_agent=page.user_agent,
        address=page.client_ip,
        byte_count=len(line),
    )
