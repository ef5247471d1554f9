"""Access logs as entries: plain or gzip, one page view per line that is one."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from hosts.importing.entries import Entry
from service_core.intake.access_log import AccessLog, LoggedPage


def log_entries(path: Path, site: str) -> Iterator[Entry]:
    """The lines of a log in combined format.

    Args:
        path: the log; ``.gz`` is unpacked while it is read.
        site: scheme and host the paths belong to.
    """
    log = AccessLog(site)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            yield _entry(log, line)


def _entry(log: AccessLog, line: bytes) -> Entry:
    page = log.read(line.decode(errors="replace"))
    if not isinstance(page, LoggedPage):
        return Entry(None, page.value, size=len(line))
    return Entry(
        page.body, event_id=page.event_id, user_agent=page.user_agent, address=page.address, size=len(line)
    )
